#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# environment.sh FOLDER: a Python environment with what builds the pages, made once.
set -eu
needed=$(dirname "$0")/requirements.txt
if cmp -s "$needed" "$1/complete"; then exit; fi
rm -rf "$1"
python3 -m venv "$1"
echo "docs: installing Sphinx, MyST and Furo in $1"
"$1/bin/pip" install --quiet --no-input --disable-pip-version-check --only-binary :all: --no-deps -r "$needed"
cat "$needed" >"$1/complete"
