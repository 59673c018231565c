#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# versus.sh FOLDER PROGRAMS [ARGS...]: cairn and others on the same step; `./run versus` is this. Python packages go
# into FOLDER, PyPI's LibTorch into FOLDER/../torch-packages, as `./run torch --bench` has it. PROGRAMS is the folder of
# what CMake has built. ARGS go to versus.py.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd) programs=$2
shift 2
torch=$(dirname "$folder")/torch-packages
"$here/../peers/environment.sh" "$folder" numpy jax jaxlib ml_dtypes opt_einsum scipy equinox diffrax jaxtyping lineax \
  optimistix wadler_lindig typing_extensions pyrevolve==2.2.8 contexttimer==0.3.3
if "$here/../../tests/adapt/torch/wheel.sh" "$torch" && "$here/../torch/environment.sh" "$torch"; then
  "$here/../torch/loops.sh" "$torch" "$folder/loops"
else
  echo "versus: no LibTorch of PyPI, so it and torch.utils.checkpoint are left out" >&2
fi
exec python3 "$here/versus.py" --programs "$programs" --environment "$folder" --torch "$torch" \
  --loops "$folder/loops" "$@"
