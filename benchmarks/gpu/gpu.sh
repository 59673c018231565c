#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures on a GPU and writes what it finds, with what was predicted, into docs/evidence: `./run gpu` is this. Needs no
# network; what the machine lacks beside nvcc, a C++ compiler and a device is said in the results, and the rest is done.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
export PYTHONDONTWRITEBYTECODE=1  # a new file among the sources would have the program built again

usage() {
  cat <<'END'
usage: ./run gpu [facts|tables|tests|peers]... [--seconds N] [--out FOLDER] [--commit HASH] [--catch FOLDER] [--dry PROGRAM]
  facts   copies, pinning, launches: what nothing on the device can beat
  tables  loops over states of 64 MiB and 1 GiB, and small states in graphs, against what is predicted
  tests   small sweeps of every kind, the tests that need a device (CTest's label `device`), then the sweeps under compute-sanitizer
  peers   PyTorch, JAX and diffrax, where they are installed, beside cairn in as much memory
Without a part: all of them. Each part takes at most N seconds (540), what is built for it included, so that one part is one call of ten minutes;
what does not fit into that is left out and said. The code is compiled for the devices that are there (-arch=native).
FOLDER (docs/evidence) gets gpu-DEVICE-DATE.json, to which lines are added as soon as they are known, and the log of what was printed.
HASH is the commit, where there is no git. --dry: without a device, on a PROGRAM made from dry_plan.cpp; --out must be given.
Without Catch2 the tests that are written in it are left out, by name; --catch takes the folder that it was carried to along with the sources. On
Debian `cp -r --parents /usr/include/catch2 /usr/lib/cmake/Catch2 /usr/lib/libCatch2* TO` makes it, TO/usr.
Ends with 77 where there is no device, 1 where a gradient or a test is wrong. Times that miss their prediction are only marked.
END
}

now() { date +%s; }
part_began=$(now)  # of the first part, to which what is built belongs

parts='' seconds=540 out='' commit='' catch='' dry=''
while [ $# -gt 0 ]; do
  case $1 in
    facts | tables | tests | peers) parts="$parts $1" ;;
    --seconds | --out | --commit | --catch | --dry)
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
case $seconds in
  '' | *[!0-9]*)
    echo "gpu: --seconds takes a whole number, not '$seconds'" >&2
    exit 2
    ;;
esac
if [ -n "$dry" ] && [ -z "$out" ]; then
  echo "gpu: a dry run is no evidence: give --out FOLDER" >&2
  exit 2
fi
if [ -n "$catch" ]; then
  catch=$(cd "$catch" 2>/dev/null && pwd) || catch=''
  if [ ! -d "$catch/include/catch2" ]; then
    echo "gpu: --catch takes the folder that holds include/catch2" >&2
    exit 2
  fi
fi
parts=${parts:-" facts tables tests peers"}
out=${out:-docs/evidence}

# tool NAME: where a command of the CUDA toolkit is; nothing where it is not.
tool() { command -v "$1" || ls "${CUDA_HOME:-/usr/local/cuda}/bin/$1" 2>/dev/null || true; }
no_device() {
  echo "gpu: $1" >&2
  echo "gpu: with a device this would do:$parts, for at most $seconds s each, and write $out/gpu-DEVICE-DATE.json" >&2
  exit 77
}

if [ -n "$dry" ]; then
  program=$dry
else
  nvcc=$(tool nvcc)
  if [ -z "$nvcc" ]; then no_device "there is no nvcc (in the PATH, in CUDA_HOME or in /usr/local/cuda)"; fi
  # Before anything is built: a build takes a minute.
  if ! nvidia-smi -L >/dev/null 2>&1 && [ ! -e /dev/nvidia0 ]; then no_device "there is no NVIDIA device (no /dev/nvidia0, and nvidia-smi lists none)"; fi
  program=build/gpu/gpu_plan
  mkdir -p build/gpu
  if [ ! -x $program ] || [ -n "$(find benchmarks/gpu include examples/support -newer $program -print | head -n 1)" ]; then
    echo "gpu: building $program"
    "$nvcc" -std=c++20 -O3 -arch=native -Xcompiler -pthread --expt-relaxed-constexpr --extended-lambda -Iinclude -Iexamples benchmarks/gpu/gpu_plan.cu -o $program
  fi
fi
if [ -z "$commit" ]; then
  commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
  if [ "$commit" != unknown ] && [ -n "$(git status --porcelain --untracked-files=no 2>/dev/null)" ]; then commit=$commit-changed; fi
fi
status=0
head=$("$program" head --commit "$commit") || status=$?
if [ $status = 77 ]; then no_device "the CUDA runtime finds no device"; fi
if [ $status != 0 ]; then exit $status; fi

# of KEY: what the head of every line says.
of() { printf '%s\n' "$head" | sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p"; }
mkdir -p "$out"
name=$out/gpu-$(of device | tr -cs 'A-Za-z0-9\n' '-')-$(of date)
log=$name.log
wrong=0

# plan PART [ARGS...]: the program, whose lines go to the file.
plan() { "$program" "$@" --out "$name.json" --commit "$commit"; }
note() { plan note --bench "$1" --ok "$2" --text "$3"; }
left() { echo $((seconds - $(now) + part_began)); }

sanitized() {
  checker=$(tool compute-sanitizer)
  if [ -z "$checker" ]; then
    note "sanitizer" null "skipped: there is no compute-sanitizer"
    return
  fi
  for kind in memcheck racecheck; do
    if [ "$(left)" -lt 30 ]; then
      note "sanitizer $kind" null "skipped: no time left"
      continue
    fi
    report=build/gpu/$kind.log
    status=0
    timeout "$(left)" "$checker" --tool $kind --error-exitcode 9 "$program" check --longest 3 >$report 2>&1 || status=$?
    summary=$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' $report | tail -n 1 | sed 's/^=* *//')
    if [ $status = 0 ] && [ -n "$summary" ]; then note "sanitizer $kind" true "$summary"
    elif [ $status = 9 ] || { [ -n "$summary" ] && [ $status != 124 ]; }; then
      note "sanitizer $kind" false "ended with $status: $summary"
      cat $report
      wrong=1
    else note "sanitizer $kind" null "skipped: it ended with $status: $(tail -n 1 $report)"
    fi
  done
}

# What ctest says, in one line of the results.
tested() {
  if [ "$(left)" -lt 10 ]; then
    note "tests" null "skipped: no time left"
    return
  fi
  status=0
  timeout "$(left)" ctest --preset gpu >build/gpu/ctest.log 2>&1 || status=$?
  summary=$(grep -E 'tests passed|No tests were found' build/gpu/ctest.log | tail -n 1)
  without=$(grep -cE 'cairn: skipped: no GPU|^no GPU, nothing is run' build/gpu/Testing/Temporary/LastTest.log || true)
  if [ $status = 124 ]; then note "tests" null "skipped: no time left within ctest"
  elif [ $status = 0 ] && [ "$without" = 0 ]; then note "tests" true "$summary"
  else
    note "tests" false "ctest ended with $status, and $without tests found no device: $summary"
    cat build/gpu/ctest.log
    wrong=1
  fi
}

device_tests() {
  if ! command -v cmake >/dev/null || ! command -v ctest >/dev/null; then
    note "tests" null "skipped: there is no CMake"
    return
  fi
  version=$(cmake --version | head -n 1 | tr -dc '0-9.')
  if [ "$(printf '%s\n' 3.25 "$version" | sort -V | head -n 1)" != 3.25 ]; then
    note "tests" null "skipped: CMake $version is too old, 3.25 or later is needed"
    return
  fi
  if [ "$(left)" -lt 60 ]; then
    note "tests" null "skipped: no time left to build them"
    return
  fi
  if command -v ninja >/dev/null; then export CMAKE_GENERATOR="${CMAKE_GENERATOR:-Ninja}"; fi
  export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(getconf _NPROCESSORS_ONLN)}"
  export CUDACXX="$nvcc"
  status=0
  { cmake --preset gpu ${catch:+"-DCMAKE_PREFIX_PATH=$catch"} && timeout "$(left)" cmake --build --preset gpu; } >build/gpu/build.log 2>&1 || status=$?
  if [ $status = 124 ]; then
    note "tests" null "skipped: no time left within the build"
    return
  elif [ $status != 0 ]; then
    note "tests" false "the build ended with $status"
    tail -n 60 build/gpu/build.log
    wrong=1
    return
  fi
  sed -n 's/^-- cairn: no Catch2, \(.*\) is left out$/\1/p' build/gpu/build.log | while read -r program_left_out; do
    note "test $program_left_out" null "skipped: there is no Catch2"
  done
  tested
}

part() {
  echo "== $1, at most $seconds s"
  case $1 in
    facts) plan facts --seconds "$(left)" || wrong=1 ;;
    tables)
      plan graphs --seconds $(($(left) / 6)) || wrong=1
      plan tables --seconds "$(left)" || wrong=1
      ;;
    tests)
      plan check || wrong=1
      if [ -n "$dry" ]; then return; fi
      device_tests
      sanitized
      ;;
    peers)
      if ! command -v python3 >/dev/null; then
        note "peers" null "skipped: there is no python3"
        return
      fi
      python3 benchmarks/gpu/peers.py --program "$program" --out "$name.json" --commit "$commit" --seconds "$(left)" ${dry:+--small} || wrong=1
      ;;
  esac
}

{
  echo "$head"
  for one in $parts; do
    part "$one"
    part_began=$(now)
  done
  echo "$wrong" >"$name.wrong"
} 2>&1 | tee -a "$log"
wrong=$(cat "$name.wrong" 2>/dev/null || echo 1)
rm -f "$name.wrong"
echo "gpu: $name.json"
exit "$wrong"
