#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cppad.sh FOLDER: CppAD of PyPI, which Debian does not have, in FOLDER/packages, made once.
set -eu
exec "$(dirname "$0")/../../tests/support/pypi.sh" adoption "$1" cmeel-cppad==20250000.2
