#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The fuzzers for long: with libFuzzer where clang++ has it, else the tests' own driver with many more texts.
#     tests/fuzz/soak.sh [SECONDS]      for each parser; 600 where not given
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-600}
build=build/fuzz
empty=$(mktemp --suffix=.cpp)
trap 'rm -f "$empty"' EXIT
echo 'extern "C" int LLVMFuzzerTestOneInput(unsigned char const*, unsigned long) { return 0; }' >"$empty"
libfuzzer=OFF compiler=g++
if clang++ -fsanitize=fuzzer,address,undefined "$empty" -o /dev/null 2>/dev/null; then libfuzzer=ON compiler=clang++; fi
echo "fuzz: $compiler, libFuzzer $libfuzzer"
cmake -S . -B $build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=$compiler -DCAIRN_LIBFUZZER=$libfuzzer "-DCAIRN_TESTS=TEST;CHECK" \
  -DCAIRN_BUILD_TOOLS=ON -DCAIRN_BUILD_EXAMPLES=OFF -DCAIRN_WITH_CUDA=OFF -DCAIRN_WITH_TORCH=OFF >/dev/null
cmake --build $build --target cairn_parser_fuzzers
for program in $build/fuzz/fuzz_*; do
  parser=${program##*fuzz_}
  echo "fuzz: $parser"
  if [ $libfuzzer = ON ]; then
    mkdir -p $build/found/$parser
    "$program" -max_total_time="$seconds" -max_len=4096 -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 $build/found/$parser tests/fuzz/corpus/$parser 2>&1 | tail -n 8
  else
    end=$(($(date +%s) + seconds)) seed=2
    while [ "$(date +%s)" -lt $end ]; do "$program" --runs 20000 --seed $seed tests/fuzz/corpus/$parser && seed=$((seed + 1)); done
  fi
done
