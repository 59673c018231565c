#!/bin/sh
# cppad.sh FOLDER: CppAD of PyPI, which Debian does not have, in FOLDER/packages, made once.
set -eu
folder=$1
wanted='cmeel-cppad==20250000.2'
if [ "$(cat "$folder/complete" 2>/dev/null)" = "$wanted" ]; then exit; fi
rm -rf "$folder"
python3 -m venv "$folder"
echo "adoption: installing $wanted in $folder"
"$folder/bin/pip" install --quiet --no-input --disable-pip-version-check --only-binary :all: --no-deps --target "$folder/packages" "$wanted"
echo "$wanted" >"$folder/complete"
