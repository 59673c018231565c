#!/bin/sh
# environment.sh FOLDER: a Python environment with the peers, made once. What cannot be had is left out and said.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
if cmp -s "$here/requirements.txt" "$folder/complete"; then exit; fi
if [ ! -x "$folder/bin/pip" ] && ! python3 -m venv "$folder"; then
  echo "peers: python3 has no venv, so the peers in Python are left out" >&2
  exit
fi
complete=yes
install="$folder/bin/pip install --quiet --no-input --disable-pip-version-check --only-binary :all: --no-deps"
echo "peers: installing checkpoint_schedules, torch, jax, equinox and diffrax in $folder"
# shellcheck disable=SC2086  # words
if ! $install -r "$here/requirements.txt"; then
  grep -v '^#' "$here/requirements.txt" | while read -r package; do
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
if [ $complete = yes ]; then cp "$here/requirements.txt" "$folder/complete"; fi
