#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench.sh FOLDER [ARGS...]: the figures of the LibTorch adapter, with the wheel that tests/adapt/torch/wheel.sh has put into FOLDER: what it adds to a
# compilation, then its loops against plain ones and torch.utils.checkpoint. ARGS go to loops.py, e.g. --cases wave --rounds 3.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
"$here/environment.sh" "$folder"
# shellcheck source=flags.sh
. "$here/flags.sh"
"$here/loops.sh" "$folder" "$folder/loops"
status=0
# shellcheck disable=SC2086
python3 "$here/build_cost.py" "${CXX:-g++}" $flags || status=1
"$folder/bin/python" "$here/loops.py" --program "$folder/loops" --environment "$folder" --out "$folder/loops.json" "$@" || status=1
exit $status
