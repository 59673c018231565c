#!/bin/sh
# wheel.sh FOLDER: LibTorch of PyPI and the two libraries that its processor part needs, in FOLDER/packages, made once.
set -eu
folder=$1
wanted='torch==2.11.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85'
if [ "$(cat "$folder/complete" 2>/dev/null)" = "$wanted" ]; then exit; fi
rm -rf "$folder"
python3 -m venv "$folder"
echo "torch: installing $wanted in $folder"
# shellcheck disable=SC2086  # words
"$folder/bin/pip" install --quiet --no-input --disable-pip-version-check --only-binary :all: --no-deps --target "$folder/packages" $wanted
echo "$wanted" >"$folder/complete"
