#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# environment.sh FOLDER: a Python environment with what builds the pages, made once.
set -eu
here=$(dirname "$0")
exec "$here/../../tests/support/pypi.sh" docs "$1" -r "$here/requirements.txt"
