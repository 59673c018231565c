#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# environment.sh FOLDER: a Python environment with Conan, FOLDER/bin/conan, made once. PyPI has Conan as source, so
# that pip builds it.
set -eu
here=$(dirname "$0")
exec "$here/../../tests/support/pypi.sh" packages "$1" -r "$here/requirements.txt"
