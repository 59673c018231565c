#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pypi.sh NAME FOLDER PACKAGE==VERSION...: packages of PyPI in FOLDER/packages, without what they depend on, made once.
# NAME is who says so.
set -eu
name=$1 folder=$2
shift 2
if [ "$(cat "$folder/complete" 2>/dev/null)" = "$*" ]; then exit; fi
rm -rf "$folder"
python3 -m venv "$folder"
echo "$name: installing $* in $folder"
"$folder/bin/pip" install --quiet --no-input --disable-pip-version-check --only-binary :all: --no-deps --target "$folder/packages" "$@"
echo "$*" >"$folder/complete"
