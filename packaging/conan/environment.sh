#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# environment.sh FOLDER: a Python environment with Conan, FOLDER/bin/conan, made once. PyPI has Conan as source, so
# that pip builds it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
if cmp -s "$here/requirements.txt" "$folder/complete"; then exit; fi
rm -rf "$folder"
python3 -m venv "$folder"
echo "packages: installing Conan in $folder"
"$folder/bin/pip" install --quiet --no-input --disable-pip-version-check --no-deps -r "$here/requirements.txt"
cp "$here/requirements.txt" "$folder/complete"
