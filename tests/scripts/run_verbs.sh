#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_verbs.sh CHECKOUT: what ./run does on other machines, each a folder of stand-ins for commands.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/checkout"  # with a build folder of its own
cp "$1/run" "$scratch/checkout/run"
ln -s "$1/benchmarks" "$1/docs" "$1/tests" "$scratch/checkout/"
mkdir -p "$scratch/checkout/build/docs-packages"  # where `docs` has been before
cp "$1/docs/site/requirements.txt" "$scratch/checkout/build/docs-packages/complete"
run=$scratch/checkout/run

fail() {
  printf 'run_verbs: %s\n' "$1" >&2
  cat "$scratch/out" "$scratch/err" >&2
  exit 1
}
# on MACHINE EXPECTED_STATUS ARGS...: runs ./run with MACHINE's commands alone, what they were told is in `told`.
on() {
  machine=$scratch/$1 expected=$2
  shift 2
  : >"$scratch/told"
  status=0
  PATH=$machine "$machine/sh" "$run" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  [ "$status" = "$expected" ] || fail "./run $* ended with $status, not $expected"
}
# machine NAME COMMAND...: the commands that any machine has, and stand-ins that write down their names and arguments
# and call themselves version $version.
machine() {
  folder=$scratch/$1
  shift
  mkdir "$folder"
  for tool in sh env dirname cat mkdir grep head sort tr id getconf rm tail cut date cmp sed awk; do ln -s "$(command -v $tool)" "$folder/$tool"; done
  for tool; do
    printf '#!/bin/sh\necho "%s $*" >>"%s/told"\necho version %s\n' "$tool" "$scratch" "$version" >"$folder/$tool"
    chmod +x "$folder/$tool"
  done
}
# stand_in MACHINE COMMAND: what it does instead, from stdin; it may use $scratch and $folder.
stand_in() {
  { printf '#!/bin/sh\nscratch=%s folder=%s\n' "$scratch" "$scratch/$1" && cat; } >"$scratch/$1/$2"
  chmod +x "$scratch/$1/$2"
}
says() { grep -q -- "$2" "$scratch/$1" || fail "no '$2' in $1"; }

version=3.25.1
machine debian apt-get dpkg-query
machine other_bare
machine other_ready g++ cmake ninja ctest python3 pkg-config

on debian 2 no-such-verb
says err '^usage: '
[ ! -s "$scratch/out" ] || fail "the usage of a wrong verb belongs on stderr"
on debian 2
says err '^usage: '
on debian 0 help
says out '^usage: '

on debian 0 gpu --help
says out '^usage: ./run gpu'
on other_bare 1 demo
says err "by Debian's names: g++ cmake ninja-build libeigen3-dev"
says err 'these commands are missing: g++ cmake ninja$'
# Of the programs only those are built that the chosen checks run, and no build is asked for where there are none.
mkdir -p "$scratch/checkout/build/test/tests"
printf 'run.one one\nrun.two two shared\nrun.two late\ndocs.text\n' >"$scratch/checkout/build/test/tests/needs.txt"
stand_in other_ready ctest <<'END'
echo "ctest $*" >>"$scratch/told"
case "$*" in *-N*two*) echo '  Test  #2: run.two' ;; *-N*text*) echo '  Test  #3: docs.text' ;; *-N*) printf '  Test #1: run.one\n  Test #2: run.two\n' ;; esac
END
on other_ready 0 test
says err "by Debian's names: catch2$"
says told '^cmake --preset test$'
says told '^cmake --build build/test --target all$'
says told '^ctest --preset test --progress$'
says out '^run: 2 checks, which run 4 programs'
says out '^  soak   '
on other_ready 0 test -R two
says told '^cmake --build build/test --target late shared two$'
says told '^ctest --preset test --progress -R two$'
[ "$(tail -n 1 "$scratch/told")" = 'python3 tests/scripts/skipped.py build/test' ] || fail "what is skipped is not said at the end"
# What passed with the same program and data is not run again, unless it is asked for; what failed is.
for tool in sha256sum ldd xargs uname find; do ln -s "$(command -v $tool)" "$scratch/other_ready/$tool"; done
cd "$scratch/checkout/build/test/tests"
mkdir -p ../Testing/Temporary
for program in one two; do cp "$(command -v sleep)" $program; done
printf 'run.one one\nrun.two two\n' >kept.txt
: >CTestTestfile.cmake
on other_ready 0 test
says told '^ctest --preset test --progress -E ^(no_check)\$$'
on other_ready 0 test
says out '^run: 2 of them passed before'
says told '^ctest --preset test --progress -E ^(run.one|run.two|no_check)\$$'
on other_ready 0 test -R one
says told '^ctest --preset test --progress -R one$'
echo >>two
on other_ready 0 test
says told '^ctest --preset test --progress -E ^(run.one|no_check)\$$'
echo >>CTestTestfile.cmake
on other_ready 0 test
says told '^ctest --preset test --progress -E ^(no_check)\$$'
echo >>one
echo '1:run.one' >../Testing/Temporary/LastTestsFailed.log
cp "$scratch/other_ready/ctest" "$scratch/ctest"
echo 'case "$*" in *progress*) exit 8 ;; esac' >>"$scratch/other_ready/ctest"
on other_ready 8 test
cp "$scratch/ctest" "$scratch/other_ready/ctest"
on other_ready 0 test
says told '^ctest --preset test --progress -E ^(run.two|no_check)\$$'
cd "$scratch"
on other_ready 0 test -R text
if grep -q 'cmake --build' "$scratch/told"; then fail "builds what no check needs"; fi
on other_bare 1 portability
says err "by Debian's names: g++ cmake ninja-build catch2 python3$"
on other_ready 0 portability --all s390x
says told '^python3 tests/portability/portability.py --needs s390x$'
[ "$(tail -n 1 "$scratch/told")" = 'python3 tests/portability/portability.py --all s390x' ] || fail "a target that lacks something ends the verb"
on other_ready 0 torch
says told '^python3 tests/scripts/skipped.py build/test$'

# What needs packages of PyPI makes their folders first, and runs its part of the checks.
mkdir -p "$scratch/checkout/packaging/conan" "$scratch/checkout/examples/adoption"
for place in packaging/conan/environment.sh examples/adoption/cppad.sh; do
  printf '#!/bin/sh\necho "%s $*" >>"%s/told"\n' "${place##*/}" "$scratch" >"$scratch/checkout/$place"
  chmod +x "$scratch/checkout/$place"
done
machine other_packager g++ clang++ cmake ninja ctest python3 pkg-config git lintian dpkg-shlibdeps file doxygen valgrind
on other_packager 0 packages -R conan
says told '^environment.sh build/conan$'
says told '^cppad.sh build/adoption-packages$'
says told '^cmake --preset check$'
says told '^ctest --preset packages --progress -R conan$'

# Checks that fail still end with what was skipped, and with their status.
machine other_failing g++ ninja python3 pkg-config
stand_in other_failing cmake <<'END'
if [ "$1" = --version ]; then echo 'cmake version 3.25.1'; exit; fi
echo "cmake $*" >>"$scratch/told"
exit 8
END
on other_failing 8 torch
says told '^python3 tests/scripts/skipped.py build/test$'
on other_failing 1 test -R revolve
if grep -q 'cmake --build' "$scratch/told"; then fail "builds what could not be configured"; fi

# A build says how far it is.
machine other_slow g++ ninja doxygen python3
ln -s "$(command -v sleep)" "$scratch/other_slow/sleep"
stand_in other_slow cmake <<'END'
if [ "$1" = --version ]; then echo 'cmake version 3.25.1'; exit; fi
echo '[1/2] Building x.o'
sleep 5
END
on other_slow 0 docs
says err 'run: building the pages, 3 s: \[1/2\] Building x.o'
if grep -q 'Building' "$scratch/out"; then fail "progress belongs on stderr"; fi
says told '^python3 tests/scripts/site.py . build/docs$'
[ "$(tail -n 1 "$scratch/out")" = 'run: build/docs/html/index.html' ] || fail "where the site lies is not said at the end"

version=3.22.9
machine other_old g++ cmake ninja python3 pkg-config
on other_old 1 test
says err 'CMake 3.22.9 is too old'

# apt-get on machines without anything: stand-ins that are locked for a while, that fail, that install; and a sudo for
# who is not root.
apt_machine() {
  machine "$1" dpkg-query
  stand_in "$1" sudo <<'END'
[ "$1" = -v ] || exec "$@"
END
  stand_in "$1" sleep <<'END'
echo "sleep $*" >>"$scratch/told"
END
  stand_in "$1" apt-get
}
asked="apt-get -q install -y --no-install-recommends g++ cmake ninja-build catch2 python3"
apt_machine idle <<'END'
echo "apt-get $*" >>"$scratch/told"
END
on idle 1 test  # it installs nothing, so there is no cmake after it
says told "^$asked -o DPkg::Lock::Timeout=0\$"

# dpkg's lock is held, the lists are missing, their lock is held; then all is well.
apt_machine locked <<'END'
echo "apt-get $*" >>"$scratch/told"
echo >>"$scratch/calls"
case $(grep -c '' "$scratch/calls") in
  1) echo 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (unattended-upgr)' && exit 100 ;;
  2) echo 'E: Unable to locate package ninja-build' && exit 100 ;;
  3) echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)' && exit 100 ;;
  4) ;;
  *) for tool in g++ ninja doxygen python3 cmake; do printf '#!/bin/sh\necho version 3.25.1\n' >"$folder/$tool"; chmod +x "$folder/$tool"; done ;;
esac
END
ln -s "$(command -v chmod)" "$scratch/locked/chmod"
on locked 0 docs
says err 'another program uses apt, waiting for it, at most 600 s (E: Could not get lock /var/lib/dpkg/lock-frontend'
says err 'waiting for it, at most 600 s (E: Could not get lock /var/lib/apt/lists/lock'
says told '^apt-get -q update -o DPkg::Lock::Timeout=[1-9]'
says told '^sleep 5$'
[ "$(grep -c '^apt-get' "$scratch/told")" = 5 ] || fail "apt-get was not asked again as often as it was locked"

# The lock is never given up: an end, with apt-get's own words.
apt_machine locked_for_good <<'END'
echo 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (unattended-upgr)'
exit 100
END
export CAIRN_APT_WAIT=0
on locked_for_good 1 docs
unset CAIRN_APT_WAIT
says err 'installation failed, apt-get says'
says err '^E: Could not get lock /var/lib/dpkg/lock-frontend'

apt_machine offline <<'END'
echo "apt-get $*" >>"$scratch/told"
echo 'E: Unable to fetch some archives'
exit 100
END
on offline 1 docs
says err '^E: Unable to fetch some archives'
if grep -q '^sleep 5' "$scratch/told"; then fail "waits for a lock that nobody holds"; fi
