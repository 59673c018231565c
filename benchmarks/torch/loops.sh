#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# loops.sh FOLDER PROGRAM: makes PROGRAM from loops.cpp, with the wheel in FOLDER, unless nothing has changed since.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "$1" && pwd)
if [ -x "$2" ]; then
  changed=$(find "$here" "$here/../../include" "$folder/complete" -newer "$2" \( -name '*.[chi]pp' -o -name complete \))
  if [ -z "$changed" ]; then exit; fi
fi
# shellcheck source=flags.sh
. "$here/flags.sh"
# shellcheck disable=SC2086  # words
"${CXX:-g++}" -std=c++20 -O2 '-DCAIRN_BENCHMARK_FLAGS="-O2"' $flags "$here/loops.cpp" -o "$2" -Wl,--no-as-needed $links
