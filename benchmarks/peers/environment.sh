#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# environment.sh FOLDER [NAME... NAME==VERSION...]: a Python environment with the peers of requirements.txt, or only
# those with these names and what else is named with a version, made once. What cannot be had is left out and said.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
shift
wanted=$(grep -v '^#' "$here/requirements.txt")
if [ $# -gt 0 ]; then
  wanted=$(for name; do case $name in *==*) echo "$name" ;; *) echo "$wanted" | grep "^$name==" ;; esac; done)
fi
if [ "$(cat "$folder/complete" 2>/dev/null)" = "$wanted" ]; then exit; fi
if [ ! -x "$folder/bin/pip" ] && ! python3 -m venv "$folder"; then
  echo "peers: python3 has no venv, so the peers in Python are left out" >&2
  exit
fi
complete=yes
install="$folder/bin/pip install --quiet --no-input --disable-pip-version-check --no-deps --only-binary :all:"
install="$install --no-binary pyrevolve,contexttimer"  # which come as sources
echo "peers: installing $(echo "$wanted" | sed 's/==.*//' | tr '\n' ' ')in $folder"
# shellcheck disable=SC2086  # words
if ! $install $wanted; then
  for package in $wanted; do
    $install "$package" || echo "peers: no $package" >&2
  done
  complete=no
fi
libraries=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/torch
if [ -d "$libraries" ]; then
  "$folder/bin/python" "$here/torch_without_cuda.py" "${CXX:-g++}" "$libraries/lib"
  "${CXX:-g++}" -std=c++20 -O2 -shared -fPIC "-I$libraries/include" "$here/torch_bytes.cpp" -o "$folder/torch_bytes.so" "-L$libraries/lib" -lc10 ||
    { echo "peers: the bytes of torch's tensors are not counted" >&2; complete=no; }
fi
if [ $complete = yes ]; then echo "$wanted" >"$folder/complete"; fi
