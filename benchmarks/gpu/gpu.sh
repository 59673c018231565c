#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures on a GPU and writes what it finds, with what was predicted, into docs/evidence: `./run gpu` is this. Needs no
# network; what the machine lacks beside a device is said in the results, and the rest is done.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
export PYTHONDONTWRITEBYTECODE=1

usage() {
  cat <<'END'
usage: ./run gpu [all|PART...] [--seconds N] [--out FOLDER] [--commit HASH] [--host-bytes B] [--catch FOLDER]
                 [--dry PROGRAM]
       ./run gpu prepare [--out FOLDER]
  all        every part, in this order, within N seconds (560); what does not fit is left out, from the end, by name
  tests      small sweeps of every kind, and the tests that need a device (CTest's label `device`)
  facts      copies, pinning, launches: what nothing on the device can beat
  tables     loops over states of 1 GiB and 64 MiB against what is predicted, E7 first
  graphs     small states in graphs, and from which step on these no longer pay off
  sanitizer  the small sweeps under compute-sanitizer
  torch      the LibTorch adapter on the device, built against the PyTorch that python3 has
  peers      PyTorch, JAX and diffrax, where they are installed, beside cairn in as much memory
  prepare    makes build/carry, for a machine without nvcc: the program, the tests, Catch2; says how to use it there
Without a part: all. A part by itself has N seconds (540), what is built for it included.
FOLDER (docs/evidence) gets gpu-DEVICE-DATE.json, to which lines are added as soon as they are known, and the log of
what was printed; where it is given also build.log, ctest.log, memcheck.log, racecheck.log and torch.log, which are else
in build/gpu. HASH is the commit, where there is no git. B bytes of the host may be pinned; else 80 % of what is
available. --catch: the folder that Catch2 was carried to (Debian: with include/catch2 in it), if not with build/carry.
--dry: without a device, on a PROGRAM made from dry_plan.cpp; FOLDER must be given.
The program is build/carry/gpu_plan, if there is one, else build/gpu/gpu_plan. A carried one is used as it is, and a
line says if it was made from other sources than those here. The other one is then built again, if there is nvcc, for
the devices that are there (-arch=native).
Ends with 77 where there is no device, 1 where a gradient or a test is wrong. Times that miss their prediction are only
marked.
END
}

# Seconds; in a dry run those of its own clock.
now() {
  if [ -n "${DRY_CLOCK:-}" ]; then sed 's/\..*//' "$DRY_CLOCK"; else date +%s; fi
}
began=$(now)

parts='' seconds='' out='' commit='' catch='' dry='' host_bytes='' all=''
while [ $# -gt 0 ]; do
  case $1 in
    all) all=1 ;;
    facts | tables | tests | graphs | sanitizer | torch | peers | prepare) parts="$parts $1" ;;
    --seconds | --out | --commit | --catch | --dry | --host-bytes)
      if [ $# -lt 2 ]; then
        usage >&2
        exit 2
      fi
      case $1 in
        --seconds) seconds=$2 ;;
        --out) out=$2 ;;
        --commit) commit=$2 ;;
        --catch) catch=$2 ;;
        --dry) dry=$2 ;;
        --host-bytes) host_bytes=$2 ;;
      esac
      shift
      ;;
    -h | --help)
      usage
      exit
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  shift
done
if [ -z "$parts" ]; then all=1; fi
if [ -n "$all" ]; then parts=" tests facts tables graphs sanitizer torch peers"; fi
seconds=${seconds:-$([ -n "$all" ] && echo 560 || echo 540)}
case $seconds$host_bytes in
  *[!0-9]*)
    echo "gpu: --seconds and --host-bytes take whole numbers, not '$seconds' and '$host_bytes'" >&2
    exit 2
    ;;
esac
if [ -n "$dry" ] && [ -z "$out" ]; then
  echo "gpu: a dry run is no evidence: give --out FOLDER" >&2
  exit 2
fi
carry=build/carry
if [ -z "$catch" ] && [ -d $carry/usr/include/catch2 ]; then catch=$carry/usr; fi
if [ -n "$catch" ]; then
  catch=$(cd "$catch" 2>/dev/null && pwd) || catch=''
  if [ ! -d "$catch/include/catch2" ]; then
    echo "gpu: --catch takes the folder that holds include/catch2" >&2
    exit 2
  fi
fi

# tool NAME: where a command of the CUDA toolkit is; nothing where it is not.
tool() { command -v "$1" || ls "${CUDA_HOME:-/usr/local/cuda}/bin/$1" 2>/dev/null || true; }
no_device() {
  echo "gpu: $1" >&2
  echo "gpu: with a device this would do:$parts, for at most $seconds s; see $0 --help" >&2
  exit 77
}
# The sum of what the program is made of; nothing where that cannot be told.
sources() {
  if ! command -v sha256sum >/dev/null; then return; fi
  find benchmarks/gpu include examples/support -path include/cairn/adapt/torch -prune \
    -o \( -name '*.hpp' -o -name '*.ipp' -o -name '*.cu*' \) -print | LC_ALL=C sort | xargs cat | sha256sum | cut -c1-12
}
# compile TO FLAGS...: the program.
compile() {
  made=$1
  shift
  echo "gpu: building $made"
  "$nvcc" -std=c++20 -O3 "$@" -Xcompiler -pthread --expt-relaxed-constexpr --extended-lambda \
    "-DGPU_SOURCES=\"$here\"" -Iinclude -Iexamples benchmarks/gpu/gpu_plan.cu -o "$made"
}
build_environment() {
  if command -v ninja >/dev/null; then export CMAKE_GENERATOR="${CMAKE_GENERATOR:-Ninja}"; fi
  export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(getconf _NPROCESSORS_ONLN)}"
  export CUDACXX="$nvcc"
}
# Sets `spent`, whole seconds of the processor that commands of this script took. Not in a subshell, which has its own.
count_spent() {
  times >build/gpu/times
  spent=$(($(sed -n '2s/^\([0-9]*\)m\([0-9]*\).*/\1 * 60 + \2/p' build/gpu/times)))
}
megabytes() { echo $((($(du -skc "$@" 2>/dev/null | sed -n '$s/[^0-9].*//p') + 1023) / 1024)); }

# What a machine with a device and without a toolkit needs: for the devices of 2022 and, by PTX, those after; with as
# little as possible of this machine's libraries.
prepare() {
  if [ -z "$nvcc" ]; then
    echo "gpu: there is no nvcc (in the PATH, in CUDA_HOME or in /usr/local/cuda)" >&2
    exit 77
  fi
  rm -rf $carry
  mkdir -p $carry/tests build/gpu
  compile $carry/gpu_plan -gencode 'arch=compute_90,code=[sm_90,compute_90]' -gencode arch=compute_80,code=sm_80 \
    -Xcompiler -static-libstdc++,-static-libgcc -Xlinker -s
  if command -v cmake >/dev/null; then
    echo "gpu: building the tests that need a device"
    build_environment
    count_spent
    before=$spent
    runtime=$(find -L "${nvcc%/bin/nvcc}" -name libcudart_static.a 2>/dev/null | head -n 1)
    { cmake --preset gpu -B build/gpu-carry '-DCMAKE_CUDA_ARCHITECTURES=90-real;90-virtual' \
      ${runtime:+-DCUDA_CUDART="$runtime" -DCUDA_cudart_LIBRARY="$runtime" -DCMAKE_CUDA_RUNTIME_LIBRARY=Static} \
      '-DCMAKE_EXE_LINKER_FLAGS=-static-libstdc++ -static-libgcc -s' &&
      cmake --build build/gpu-carry --target cairn_device_programs; } >build/gpu/prepare.log 2>&1 || {
      tail -n 30 build/gpu/prepare.log
      exit 1
    }
    sed -n 's/^-- cairn: no Catch2, \(.*\) is left out$/gpu: no Catch2, \1 is left out/p' build/gpu/prepare.log
    count_spent
    echo "gpu: user time to build them: $((spent - before)) s"
    find build/gpu-carry/tests build/gpu-carry/examples -maxdepth 1 -type f -perm -u+x -exec cp {} $carry/tests \;
    if [ "$(megabytes $carry/tests)" -gt 40 ]; then
      echo "gpu: the tests are left out: $(megabytes $carry/tests) MiB; they are built there"
      rm -rf $carry/tests
    fi
  else echo "gpu: there is no CMake: tests are not prepared"
  fi
  for one in /usr/include/catch2 /usr/lib/cmake/Catch2 /usr/share/cmake/Catch2 /usr/lib/libCatch2*; do
    if [ -e "$one" ]; then cp -r --parents "$one" $carry; fi
  done
  for one in "$carry"/*; do echo "gpu: $(megabytes "$one") MiB $one"; done
  tree=$(git ls-files -co --exclude-standard -z 2>/dev/null | du -skc --files0-from=- 2>/dev/null | sed -n '$s/\t.*//p')
  sum=$(($(megabytes $carry) + (${tree:-0} + 1023) / 1024))
  command="./run gpu all --seconds 560 --out ${out:-results} --commit $commit"
  echo "gpu: $sum MiB with the working tree; carry that and $carry, and run there (${#command} characters):"
  echo "$command"
  if [ $sum -gt 60 ] || [ ${#command} -ge 2000 ]; then
    echo "gpu: that is more than 60 MiB or 2,000 characters" >&2
    exit 1
  fi
}

if [ -z "$commit" ]; then
  commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
  if [ -n "$(git status --porcelain --untracked-files=no 2>/dev/null)" ]; then commit=$commit-changed; fi
fi
nvcc=$(tool nvcc)
here=$(sources)
case $parts in
  *prepare*)
    prepare
    exit
    ;;
esac

# The program that will be used, if there is one.
program='' made_from=''
for one in $carry/gpu_plan build/gpu/gpu_plan; do
  if [ -n "$dry" ]; then one=$dry; fi
  if [ -z "$program" ] && [ -x "$one" ] && made_from=$("$one" sources 2>/dev/null); then program=$one; fi
done
if [ -n "$dry" ] && [ -z "$program" ]; then
  echo "gpu: $dry does not run" >&2
  exit 2
fi
needs_build() {
  if [ -z "$program" ]; then return; fi
  if [ -n "$dry" ] || [ -z "$nvcc" ]; then return 1; fi
  # A program that was carried may need another driver than the one here.
  if [ "$program" = $carry/gpu_plan ]; then [ $status = 77 ] && nvidia-smi -L >/dev/null 2>&1
  else [ "$made_from" != "$here" ]
  fi
}
status=0
if [ -n "$program" ]; then head=$("$program" head --commit "$commit") || status=$?; fi
if needs_build; then
  # Before anything is built: a build takes a minute.
  if ! nvidia-smi -L >/dev/null 2>&1 && [ ! -e /dev/nvidia0 ]; then
    no_device "there is no device (no /dev/nvidia0, and nvidia-smi lists none)"
  fi
  if [ -z "$nvcc" ]; then
    no_device "there is a device, but neither nvcc nor $carry/gpu_plan, which ./run gpu prepare makes elsewhere"
  fi
  if [ -n "$program" ]; then echo "gpu: $program was made from other sources, or does not run here"; fi
  mkdir -p build/gpu
  program=build/gpu/gpu_plan made_from=$here status=0
  compile $program -arch=native
  head=$("$program" head --commit "$commit") || status=$?
fi
if [ $status = 77 ]; then no_device "there is no device that the CUDA runtime finds"; fi
if [ $status != 0 ]; then exit $status; fi

# of KEY: what the head of every line says.
of() { printf '%s\n' "$head" | sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p"; }
logs=${out:-build/gpu}
out=${out:-docs/evidence}
mkdir -p "$out" build/gpu
name=$out/gpu-$(of device | tr -cs 'A-Za-z0-9\n' '-')-$(of date)
wrong=0

# plan PART [ARGS...]: the program, whose lines go to the file. It keeps to its time, unless the device does not answer.
plan() {
  ended=0
  limited "$program" "$@" --out "$name.json" --commit "$commit" || ended=$?
  if [ $ended = 124 ] || [ $ended = 137 ]; then echo "gpu: $1 was ended: its time was up and it did not end"; fi
  return $ended
}
note() { plan note --bench "$1" --ok "$2" --text "$3"; }
# left [OF]: seconds of this part, of all but OF.
left() { echo $((part_ends - $(now) - ${1:-0})); }
# limited COMMAND...: for as long, and some seconds to end in.
limited() {
  limit=$((${part_ends:-0} - $(now) + 3))
  timeout -k 2 $((limit < 5 ? 5 : limit)) "$@"
}
# begin PART ABOUT MOST LEAST: says what is predicted. False where less than LEAST seconds are left.
begin() {
  if [ -z "$all" ]; then end=$(($(now) + seconds)); fi
  remains=$((end - $(now)))
  most=$3
  if [ -z "$all" ] || [ "$most" -gt $remains ]; then most=$remains; fi
  if [ "$most" -lt "$4" ]; then
    note "$1" null "skipped: no time left"
    return 1
  fi
  part_ends=$(($(now) + most))
  echo "== $1: about $2 s, at most $most s of the $remains s that are left"
}

sanitized() {
  checker=$(tool compute-sanitizer)
  if [ -z "$checker" ]; then
    note "sanitizer" null "skipped: there is no compute-sanitizer"
    return
  fi
  for kind in memcheck racecheck; do
    if [ "$(left)" -lt 10 ]; then
      note "sanitizer $kind" null "skipped: no time left"
      continue
    fi
    report=$logs/$kind.log
    status=0
    limited "$checker" --tool $kind --error-exitcode 9 "$program" check --longest 3 >"$report" 2>&1 || status=$?
    summary=$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$report" | tail -n 1 | sed 's/^=* *//')
    if [ $status = 0 ] && [ -n "$summary" ]; then note "sanitizer $kind" true "$summary"
    elif [ $status = 9 ] || { [ -n "$summary" ] && [ $status != 124 ]; }; then
      note "sanitizer $kind" false "ended with $status: $summary"
      tail -n 60 "$report"
      wrong=1
    else note "sanitizer $kind" null "skipped: it ended with $status: $(tail -n 1 "$report")"
    fi
  done
}

# Programs that were carried: a line for each. False where they do not run here.
carried_tests() {
  : >"$logs/ctest.log"
  for one in "$carry"/tests/*; do
    test=${one##*/} arguments=''
    case $test in adapt_*) arguments='-w NoTests' ;; esac  # those of Catch2
    if [ "$(left)" -lt 2 ]; then
      note "test $test" null "skipped: no time left"
      continue
    fi
    status=0
    echo "== $test" >>"$logs/ctest.log"
    # shellcheck disable=SC2086  # words
    limited "$one" $arguments >build/gpu/test.log 2>&1 || status=$?
    cat build/gpu/test.log >>"$logs/ctest.log"
    said=$(grep -v '^ *$' build/gpu/test.log | tail -n 1)
    case $status in
      124) note "test $test" null "skipped: no time left within it" ;;
      126 | 127) return 1 ;;
      0) if grep -qE 'cairn: skipped: no GPU|^no GPU, nothing is run' build/gpu/test.log; then
          note "test $test" false "it found no device"
          wrong=1
        else note "test $test" true "$said"
        fi ;;
      *)
        # A loader that misses a library, or one of that version, says so and ends with 1.
        if grep -qE 'error while loading shared libraries|version .* not found' build/gpu/test.log; then return 1; fi
        note "test $test" false "ended with $status: $said"
        wrong=1
        ;;
    esac
  done
}

# What ctest says, in one line of the results.
tested() {
  if [ "$(left)" -lt 10 ]; then
    note "tests" null "skipped: no time left"
    return
  fi
  status=0
  limited ctest --preset gpu >"$logs/ctest.log" 2>&1 || status=$?
  summary=$(grep -E 'tests passed|No tests were found' "$logs/ctest.log" | tail -n 1)
  without=$(grep -cE 'cairn: skipped: no GPU|^no GPU, nothing is run' build/gpu/Testing/Temporary/LastTest.log || true)
  if [ $status = 124 ]; then note "tests" null "skipped: no time left within ctest"
  elif [ $status = 0 ] && [ "$without" = 0 ]; then note "tests" true "$summary"
  else
    note "tests" false "ctest ended with $status, and $without tests found no device: $summary"
    tail -n 60 "$logs/ctest.log"
    wrong=1
  fi
}

device_tests() {
  if [ -d $carry/tests ] && carried_tests; then return; fi
  if ! command -v cmake >/dev/null || ! command -v ctest >/dev/null; then
    note "tests" null "skipped: there is no CMake"
    return
  fi
  version=$(cmake --version | head -n 1 | tr -dc '0-9.')
  if [ "$(printf '%s\n' 3.25 "$version" | sort -V | head -n 1)" != 3.25 ]; then
    note "tests" null "skipped: CMake $version is too old, 3.25 or later is needed"
    return
  fi
  if [ -z "$nvcc" ]; then
    note "tests" null "skipped: there is no nvcc"
    return
  fi
  if [ "$(left)" -lt 60 ]; then
    note "tests" null "skipped: no time left to build them"
    return
  fi
  build_environment
  status=0
  { cmake --preset gpu ${catch:+"-DCMAKE_PREFIX_PATH=$catch"} &&
    limited cmake --build --preset gpu; } >"$logs/build.log" 2>&1 || status=$?
  if [ $status = 124 ]; then
    note "tests" null "skipped: no time left within the build"
    return
  elif [ $status != 0 ]; then
    note "tests" false "the build ended with $status"
    tail -n 60 "$logs/build.log"
    wrong=1
    return
  fi
  sed -n 's/^-- cairn: no Catch2, \(.*\) is left out$/\1/p' "$logs/build.log" | while read -r program_left_out; do
    note "test $program_left_out" null "skipped: there is no Catch2"
  done
  tested
}

# The adapter, compiled against the wheel of the PyTorch that python3 has; the device's part is loaded by the program.
torch_claims() {
  why=''
  folder=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' \
    2>/dev/null) || folder=''
  if [ -z "$folder" ]; then why="no PyTorch that a python3 here knows"
  elif [ ! -e "$folder/include/torch/csrc/api/include/torch/torch.h" ]; then why="no C++ headers in $folder"
  elif ! command -v "${CXX:-g++}" >/dev/null; then why="no ${CXX:-g++}"
  fi
  if [ -n "$why" ]; then
    note "torch" null "skipped: there is $why"
    return
  fi
  abi=$(sed -n 's/.*\(-D_GLIBCXX_USE_CXX11_ABI=[01]\).*/\1/p' "$folder/share/cmake/Torch/TorchConfig.cmake" | head -n 1)
  set -- -std=c++20 -O1 ${abi:+"$abi"} -Iinclude -Iexamples -isystem "$folder/include" \
    -isystem "$folder/include/torch/csrc/api/include" benchmarks/gpu/torch_claims.cpp -o build/gpu/torch_claims \
    -Wl,--no-as-needed "$folder/lib/libtorch_cpu.so" "$folder/lib/libc10.so" -ldl
  for libraries in "$folder/lib" "${folder%/*}"/nvidia/*/lib; do
    set -- "$@" "-Wl,-rpath,$libraries" "-Wl,-rpath-link,$libraries"
  done
  status=0
  limited "${CXX:-g++}" "$@" >"$logs/torch.log" 2>&1 || status=$?
  if [ $status = 124 ]; then note "torch" null "skipped: no time left within its build"
  elif [ $status != 0 ]; then
    note "torch" false "the build ended with $status: $(grep -m 1 error "$logs/torch.log")"
    wrong=1
  else
    limited build/gpu/torch_claims "$folder/lib" "$name.json" "$(of device)" "$(of driver)" "$(of cuda)" \
      "$(of date)" "$(of commit)" 2>&1 | tee -a "$logs/torch.log"
    if [ "$(left)" -lt 2 ]; then note "torch" null "stopped: no time left within it"
    elif ! grep -q '^torch: done' "$logs/torch.log"; then
      note "torch" false "did not come to its end: $(tail -n 1 "$logs/torch.log")"
      wrong=1
    elif grep -q 'WRONG$' "$logs/torch.log"; then wrong=1
    fi
  fi
}

# In `all` a part has so much that what follows is not starved: the rows of tables leave out of it what graphs, the
# sanitizer and LibTorch are predicted to take. E7 does not.
part() {
  case $1 in
    tests)
      about=$([ -d $carry/tests ] && echo 40 || echo 120)
      begin tests "$about" 150 5 || return 0
      plan check --seconds "$(left)" || wrong=1
      if [ -z "$dry" ]; then device_tests; fi
      ;;
    facts) begin facts 15 35 1 && { plan facts --seconds "$(left)" || wrong=1; } ;;
    tables)
      begin tables 430 "$seconds" 0 || return 0
      plan tables --seconds "$(left "${all:+165}")" --headline-seconds "$(left)" \
        ${host_bytes:+--host-bytes "$host_bytes"} || wrong=1
      ;;
    graphs) begin graphs 15 60 2 && { plan graphs --seconds "$(left)" || wrong=1; } ;;
    sanitizer) begin sanitizer 60 90 10 && if [ -z "$dry" ]; then sanitized; fi ;;
    torch) begin torch 90 200 30 && torch_claims ;;
    peers)
      begin peers 300 "$seconds" 5 || return 0
      if ! command -v python3 >/dev/null; then
        note "peers" null "skipped: there is no python3"
        return
      fi
      limited python3 benchmarks/gpu/peers.py --program "$program" --out "$name.json" --commit "$commit" \
        --seconds "$(left 3)" ${dry:+--small} || [ $? = 124 ] || wrong=1
      ;;
  esac
}

rm -f build/gpu/wrong
{
  echo "$head"
  if [ -n "$here" ] && [ -z "$dry" ] && [ "$made_from" != "$here" ]; then
    note "sources" null "made from sources with the sum $made_from, those here have $here: used as it is"
  fi
  end=$((began + seconds - 5))  # some seconds to end in
  for one in $parts; do part "$one" || :; done
  echo "$wrong" >build/gpu/wrong
} 2>&1 | tee -a "$name.log"
wrong=$(cat build/gpu/wrong 2>/dev/null || echo 1)
echo "gpu: $name.json"
exit "$wrong"
