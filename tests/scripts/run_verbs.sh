#!/bin/sh
# run_verbs.sh CHECKOUT: what ./run does on other machines, each a folder of stand-ins for commands.
set -eu
run=$1/run
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

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
  for tool in sh env dirname cat mkdir grep head sort tr id getconf; do ln -s "$(command -v $tool)" "$folder/$tool"; done
  for tool; do
    printf '#!/bin/sh\necho "%s $*" >>"%s/told"\necho version %s\n' "$tool" "$scratch" "$version" >"$folder/$tool"
    chmod +x "$folder/$tool"
  done
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
on other_ready 0 test
says err "by Debian's names: catch2 libeigen3-dev"
says told '^cmake --workflow --preset test$'
on other_ready 0 test -R revolve
says told '^ctest --preset test -R revolve$'

version=3.22.9
machine other_old g++ cmake ninja python3 pkg-config
on other_old 1 test
says err 'CMake 3.22.9 is too old'

if [ "$(id -u)" = 0 ]; then
  on debian 1 test  # the stand-in installs nothing, so there is no cmake after it
  says told '^apt-get -q install -y --no-install-recommends g++ cmake ninja-build catch2 libeigen3-dev python3 pkg-config doxygen libthrust-dev libtbb-dev libcli11-dev nlohmann-json3-dev$'
fi
