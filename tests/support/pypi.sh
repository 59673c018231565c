#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pypi.sh NAME FOLDER PACKAGE==VERSION...: packages of PyPI in FOLDER/packages, without what they depend on, made once.
# pypi.sh NAME FOLDER -r FILE: those that FILE lists, with their commands in FOLDER/bin.
# NAME is who says so.
set -eu
name=$1 folder=$2
shift 2
wanted=$*
if [ "$1" = -r ]; then wanted=$(cat "$2"); fi
if [ "$(cat "$folder/complete" 2>/dev/null)" = "$wanted" ]; then exit; fi
rm -rf "$folder"
python3 -m venv "$folder"
echo "$name: installing $* in $folder"
if [ "$1" != -r ]; then set -- --only-binary :all: --target "$folder/packages" "$@"; fi
"$folder/bin/pip" install --quiet --no-input --disable-pip-version-check --no-deps "$@"
echo "$wanted" >"$folder/complete"
