#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What goes wrong below a run on disk.
#     tests/soak/faults.sh [CAMPAIGN...]     of those below; all where none is given
#   files     every bit, every length, other files in the place of files
#   places    links, pipes, folders, modes and owners
#   errors    every call of the system fails, by a shim and, all kinds of errors at all calls, by strace
#   owners    1,000 races of 16 processes, 5,000 times three owners by force
#   fuzz      a million changes of files
#   controls  the tests with one protection left out of a copy of the library: they must fail
set -eu
cd "$(dirname "$0")/../.."
build=build/faults
compiler=${CXX:-g++}
mkdir -p $build
[ -e $build/catch_main.o ] || "$compiler" -std=c++20 -Itests -c tests/support/catch_main.cpp -o $build/catch_main.o

# compiled INCLUDE FILE PROGRAM
compiled() {
  "$compiler" -std=c++20 -O1 -w -I"$1" -Itests "tests/adapt/disk/$2_test.cpp" $build/catch_main.o -o "$3" -lxxhash -ldl
}
campaign() {
  compiled include "$1" $build/"$1"
  echo "faults: $1"
  $build/"$1" '~[.]'
  case $1 in errors | owners | fuzz) $build/"$1" '[.soak]' ;; esac
}

# control WHAT FILE TEST SED: the test finds that WHAT is left out of a file.
left_out=0 unnoticed=0
control() {
  rm -rf $build/include
  cp -R include $build/include
  file=$build/include/cairn/adapt/disk/detail/$2.hpp
  sed -i "$4" "$file"
  if cmp -s "$file" "include/cairn/adapt/disk/detail/$2.hpp"; then
    echo "faults: '$1' is not there any more: mend this script" >&2
    exit 1
  fi
  compiled $build/include "$3" $build/control
  left_out=$((left_out + 1))
  if timeout 300 $build/control '~[.]' >$build/control.log 2>&1; then
    echo "faults: nobody notices that $1 is left out" >&2
    unnoticed=$((unnoticed + 1))
  fi
}
controls() {
  control 'the hash of the content' state_file files \
    's/if (memory_.hash.value() != head_.stored_hash)/if (false)/; s/ \&\& memory_.hash.value() == head_.raw_hash//'
  control 'the hash of the head' file_head files 's/ \&\& self == XXH64(.*;/;/'
  control 'the run in the head' state_file files 's/head.run == run \&\& //'
  control 'what a run found when it began' run_folder files 's/ \&\& !found//'
  control 'links are not followed' descriptor places 's/how | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK/how | O_CLOEXEC/'
  control 'files have one name' descriptor places 's/once = now.st_nlink <= 1/once = true/'
  control 'modes do not depend on the umask' descriptor places 's/(void)::fchmod(/(void)sizeof(/'
  control 'short writes go on' descriptor errors 's/    size -= std::size_t(done);/    size = 0;/'
  control 'interrupted calls go on' descriptor errors 's/errno == EINTR/false/'
  control 'a record is tried again' run_folder errors \
    's/      if (!try_commit(k, next/      if (true || !try_commit(k, next/'
  control 'a record that does not open is an error' run_folder errors 's/if (!file \&\& !none)/if (false)/'
  control 'a failed save is told' checkpoint_files errors 's/if (error != 0) return false;//'
  control 'the lock' run_folder owners 's/::flock(lock_.get(), LOCK_EX | LOCK_NB)/0/'
  control "other owners' records" run_folder owners 's/if (head.sound() \&\& head.owner != owner_/if (false/'
  echo "faults: $left_out protections left out, $unnoticed unnoticed"
  [ $unnoticed = 0 ]
}

[ $# -gt 0 ] || set -- files places errors owners fuzz controls
for wanted; do
  case $wanted in
    files | places | errors | owners | fuzz) campaign "$wanted" ;;
    controls) controls ;;
    *)
      sed -n 's/^#   //p; s/^#     /usage: /p' "$0" >&2
      exit 2
      ;;
  esac
done
