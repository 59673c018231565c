#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mem_vs_time.sh FOLDER [ARGS...]: memory against time of training steps, with the wheel that tests/adapt/torch/wheel.sh has put
# into FOLDER. ARGS go to mem_vs_time.py, e.g. --model gpt --trials 9.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
"$here/environment.sh" "$folder"
# shellcheck source=flags.sh
. "$here/flags.sh"
# shellcheck disable=SC2086  # words
"${CXX:-g++}" -std=c++20 -O2 '-DCAIRN_BENCHMARK_FLAGS="-O2"' $flags "$here/mem_vs_time.cpp" -o "$folder/mem_vs_time" -Wl,--no-as-needed $links
# shellcheck disable=SC2086
"${CXX:-g++}" -std=c++20 -O2 -shared -fPIC $flags "$here/allocation_log.cpp" -o "$folder/allocation_log.so" "$torch/lib/libc10.so"
exec "$folder/bin/python" "$here/mem_vs_time.py" --program "$folder/mem_vs_time" --environment "$folder" "$@"
