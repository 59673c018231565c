#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# environment.sh FOLDER: makes Python's torch of FOLDER/packages (tests/adapt/torch/wheel.sh) run, in the environment
# FOLDER that is there already: what it imports, stand-ins for the CUDA libraries in FOLDER/stand_ins, and
# FOLDER/torch_bytes.so, which counts. Made once.
set -eu
peers=$(cd "$(dirname "$0")/../peers" && pwd)
folder=$1
if cmp -s "$peers/requirements.txt" "$folder/python_complete"; then exit; fi
echo "torch: making its Python side in $folder"
# shellcheck disable=SC2046  # words
"$folder/bin/pip" install --quiet --no-input --disable-pip-version-check --only-binary :all: --no-deps \
  $(grep -E '^(numpy|typing_extensions|filelock|fsspec|Jinja2|MarkupSafe|mpmath|networkx|sympy)==' "$peers/requirements.txt")
# The stand-ins appear beside the libraries that want them: links here, of which only the stand-ins stay.
rm -rf "$folder/stand_ins"
mkdir "$folder/stand_ins"
ln -s "$(cd "$folder/packages/torch/lib" && pwd)"/lib*.so* "$folder/stand_ins"
"$folder/bin/python" "$peers/torch_without_cuda.py" "${CXX:-g++}" "$folder/stand_ins"
find "$folder/stand_ins" -type l -delete
"${CXX:-g++}" -std=c++20 -O2 -shared -fPIC "-I$folder/packages/torch/include" "$peers/torch_bytes.cpp" -o "$folder/torch_bytes.so" \
  "-L$folder/packages/torch/lib" -lc10
cp "$peers/requirements.txt" "$folder/python_complete"
