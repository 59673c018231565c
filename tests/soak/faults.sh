#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What goes wrong below a run on disk.
#     tests/soak/faults.sh [CAMPAIGN...]     of those below; all where none is given; OPTIMISED=-O0 compiles sooner
#   files     every bit, every length, other files in the place of files
#   places    links, pipes, folders, modes and owners
#   errors    every call of the system fails, by a shim and, all kinds of errors at all calls, by strace
#   owners    1,000 races of 16 processes, 5,000 times three owners by force
#   fuzz      a million changes of files
#   zstd      compressed states: 300,000 changes of them
#   power     cuts of power: 10^5 states of files, and, by root, 100 copies of a file system that a run writes to
#   controls  the tests with one protection left out of a copy of the library: they must fail
#   there     only whether the controls find what they leave out, in a second
set -eu
cd "$(dirname "$0")/../.."
build=build/faults
compiler=${CXX:-g++}
optimised=${OPTIMISED:--O1}

# compiled INCLUDE FILE PROGRAM
compiled() {
  mkdir -p $build
  [ -e $build/catch_main.o ] || "$compiler" -std=c++20 -Itests -c tests/support/catch_main.cpp -o $build/catch_main.o
  "$compiler" -std=c++20 $optimised -w -I"$1" -Itests tests/adapt/disk/"$2"_test*.cpp $build/catch_main.o -o "$3" -lxxhash -lzstd -ldl
}
campaign() {
  compiled include "$1" $build/"$1"
  echo "faults: $1"
  $build/"$1" '~[.]'
  case $1 in errors | owners | fuzz | zstd | power) $build/"$1" '[.soak]' ;; esac
}

# cuts COUNT: an ext4 is copied at any moment while a run writes to it; the run goes on in the copy.
cuts() {
  if [ "$(id -u)" != 0 ]; then
    echo "faults: only root may mount: file systems that are cut are left out"
    return
  fi
  "$compiler" -std=c++20 -O1 -w -Iinclude tests/soak/power_cut.cpp -o $build/power_cut -lxxhash -lzstd
  here=$(mktemp -d /dev/shm/cairn_cuts_XXXXXX)
  trap 'umount "$here/at" 2>/dev/null; rm -rf "$here"' EXIT INT TERM
  mkdir "$here/at"
  truncate -s 16M "$here/clean"
  mkfs.ext4 -q -F "$here/clean"
  cp "$here/clean" "$here/disk"
  mount -o loop "$here/disk" "$here/at"
  began=$(date +%s%N)
  $build/power_cut "$here/at/run.d" none
  takes=$((($(date +%s%N) - began) / 1000000))
  umount "$here/at"
  cut=0 wrong=0
  : >$build/cuts.log
  while [ $cut -lt "$1" ]; do
    cut=$((cut + 1))
    packs=$([ $((cut % 3)) = 0 ] && echo zstd || echo none)
    cp "$here/clean" "$here/disk"
    mount -o loop "$here/disk" "$here/at"
    $build/power_cut "$here/at/run.d" "$packs" &
    running=$!
    sleep "$(awk -v k="$(od -An -N2 -tu2 /dev/urandom)" -v ms=$takes 'BEGIN { print k / 65536 * ms / 1000 }')"
    [ $((cut % 2)) = 0 ] || sync -d "$here"/at/run.d/*/s0* 2>/dev/null || :  # else nothing of them is on the disk
    cp "$here/disk" "$here/copy"
    until cmp -s "$here/disk" "$here/copy"; do  # a copy of one moment
      kill -STOP $running 2>/dev/null || :
      cp "$here/disk" "$here/copy"
    done
    kill -KILL $running 2>/dev/null || :
    wait $running 2>/dev/null || :
    umount "$here/at"
    mount -o loop "$here/copy" "$here/at"
    timeout 60 $build/power_cut "$here/at/run.d" "$packs" check >>$build/cuts.log || wrong=$((wrong + 1))
    umount "$here/at"
  done
  rm -rf "$here"
  trap - EXIT INT TERM
  echo "faults: $cut cuts of an ext4, $wrong wrong; went on from"
  sed 's/.*from //; s/ -*[0-9]*$//' $build/cuts.log | sort | uniq -c
  [ $wrong = 0 ]
}

# control WHAT FILE TEST SED: the test finds that WHAT is left out of a file.
left_out=0 unnoticed=0
control() {
  file=cairn/adapt/disk/detail/$2.hpp
  if sed "$4" include/"$file" | cmp -s - include/"$file"; then
    echo "faults: '$1' is not there any more: mend this script" >&2
    exit 1
  fi
  left_out=$((left_out + 1))
  [ "$wanted" != there ] || return 0
  echo "faults: $left_out, $1"
  mkdir -p $build
  rm -rf $build/include
  cp -R include $build/include
  sed -i "$4" $build/include/"$file"
  compiled $build/include "$3" $build/control
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
  control 'a second name is not written through' descriptor places 's/if (now.st_nlink > 1)/if (false)/'
  control 'nor that of a lock' run_lock places 's/if (has_second_name() \&\& !renew(folder)) return/if (false) return/'
  control 'states have a folder of their own' run_folder places 's/outer_.scratch \&\& slot != final_slot \&\& slot != live_slot ? scratch_ : folder_/folder_/'
  control 'removal covers both folders' finished_runs places 's/if (remove(folders.runs, name, is_same) \&\& folders.scratch)/if (remove(folders.runs, name, is_same) \&\& false)/'
  control 'modes do not depend on the umask' descriptor places 's/(void)::fchmod(/(void)sizeof(/'
  control 'short writes go on' descriptor errors 's/    size -= std::size_t(done);/    size = 0;/'
  control 'interrupted calls go on' descriptor errors 's/errno == EINTR/false/'
  control 'a record is tried again' run_folder errors \
    's/if (!suspect_ || again) return error;/return error;/'
  control 'a file that the disk has refused to keep is not asked again' run_folder errors 's/if (suspect_) (void)::unlinkat(.*0);//'
  control 'a record that does not open is an error' run_folder errors 's/if (!file \&\& !none)/if (false)/'
  control 'a failed save is told' checkpoint_files errors 's/if (!on_all(journal_.agreed(), written)) return false;//'
  control 'a record waits for the disk' run_folder power 's/error == 0 \&\& waits \&\& ::fdatasync(file.get()) != 0/false/'
  control 'so does its name' run_folder power 's/if (error == 0 \&\& waits \&\& anew) error = names_are_kept(folder_);//'
  control 'a record goes beside the last one' run_folder power 's/last_ == 1 ? 0 : 1/0/'
  control 'what is packed is hashed first' state_file zstd 's/if (memory_.hash.value() != head_.stored_hash)/if (false)/'
  control 'a packed file is as long as its content' file_head zstd 's/raw <= size - sizeof(file_head) \&\& //'
  control 'all that is stored is content' state_file zstd 's/ \&\& unread_ == 0//'
  control 'the lock' run_lock owners 's/if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) break;/break;/'
  control 'a lock that is removed is made again' run_lock owners 's/if (now->owner != owner_) return.*;//; s/\(if (!named) return let_go(), \).*;/\1answer::failed;/'
  control 'an owner on another machine' run_lock owners 's/if (age_ < beat_limit)/if (false)/'
  control 'a lock that is taken over' run_folder owners 's/lock_.taken_over(folder_) || //'
  control "other owners' records" run_folder owners 's/if (head.sound() \&\& head.owner != owner_/if (false/'
  control 'the adjoint is a part of the name' known_run verbs 's/if constexpr (!Of::is_kept) look(run_part::adjoint, .*;//'
  control 'arithmetic is compared' compared_states verbs 's/on_all(all_, again == hash)/on_all(all_, true)/'
  control 'what is not proven is not used' compared_states replay 's/(head.flags \& unproven) == 0 \&\& //'
  control 'a record names its reverse' record_content kept 's/if (!(other == of_))/if (false)/'
  control 'the terms of the last state are summed apart' record_content kept_kill \
    's/write_state(sums_.terms->sum(), sink), w/write_state(sums_.terms->ending(), sink), w/'
  control 'what is read back is what was written' run_folder loss 's/hash != 0 \&\& hash != hash_of/false \&\& hash != hash_of/'
  control 'a head has the hash of a state before' run_folder replay 's/    head.sequence = before;//'
  control 'what a refused process wrote is removed' checkpoint_files replay 's/folder_.forget_own(slot_index(slots_.size()));//'
  control 'what a chain writes is proven' chain_files chain 's/is_unproven_ || !usable ? unproven : 0/!usable ? unproven : 0/'
  control 'what a stage holds is a part of the name' known_chain chain 's/(!has_known_parts<Stage>) look(one);/(!has_known_parts<Stage>) return;/'
  control 'a stage that sums into itself writes no record' chain_on_disk chain 's/journal.watch(unchanged, held_bytes);//'
  control 'a record of a chain has the hash of the state that its adjoint was made with' chain_on_disk chain \
    's/return states.hash_of_input(open);/return states.memory().hash(open + 1);/'
  control 'also of one that only a tape has' chain_files chain 's/in_tapes_\[std::size_t(i)\] = memory().hash(i);/(void)i;/'
  control 'a record of a run that may be asked to stop has one, too' run_journal replay \
    's/ \&\& !(commits_ \&\& open > 0 \&\& this->is_asked())//'
  control 'states of chains are compared where they are made again' chain_files replay 's/return hash == 0 || memory.hash(i) == hash;/return true;/'
  control 'an object begins anew from its initial state' run_on_disk replay 's/sweep{here.work, "cairn::gradient"}.states().go_back();/;/'
  control 'so do the sums of a chain' chain_on_disk replay 's/if constexpr (of::has_params) set_zero(\*parts.p, \*parts.dp);//'
  control 'steps inside an adjoint lead to what was loaded' checkpoint_files replay \
    's/if (slot.is_others) took(where.slot, i);//'
  control 'what is made again leads to where a run stopped' checkpoint_files replay \
    's/return journal_.took(taken_ = i, hash_in(run_folder::live_slot)), true;/return taken_ = i, true;/'
  control 'and is compared there wherever it passes' checkpoint_files replay 's/hash != 0) f(live_at_, hash, advice);/false) f(live_at_, hash, advice);/'
  control 'a state to which no step of its process led is not used' checkpoint_files replay 's/ || can_be_compared(i);/ || true;/'
  control 'nor proven later' checkpoint_files replay 's/ \&\& can_be_compared(i) \&\& / \&\& /'
  control 'values are known by their types' contents identity 's/^  add_type_name<T>(sum);//'
  control 'functions given by address have no name' contents identity 's/if (code_ == nullptr) return;/if (code_ == nullptr || named_) return;/'
  control 'types of one name in two source files have none' contents namesakes 's/ || listed<T>::type.has_namesake()//'
  control 'what is given by its base may be more' contents identity 's/if constexpr (is_a_base<T>) add_class_of(f);//'
  control 'a base does not say what is added to it' contents identity 's/sizeof(T) != sizeof(owner)) return false/false) return false/; s/return sizeof(with_one_more<owner>) > sizeof(owner)/return true/'
  control 'sums have a type' known_run identity 's/all.template add_type<typename Of::dp>();//'
  control 'sums have sizes' known_run identity 's/ write_exactly(\*parts.dp, sum);.*$/ (void)0;/'
  control 'what makes an adjoint is a function, too' known_run identity 's/look(adjoint), look(bar);/look(adjoint);/; s/(all.template add_type<Bar>(), ...);//'
  control 'each reverse has a type of its adjoint' kept_files identity 's/contents{seed, \&code, all.named_code}.template add_type<Bar>();//'
  control 'and of its sum' kept_files identity 's/added.template add_type<DP>();//'
  control 'an object may hold more than its snapshots' known_run identity 's/    else if (known.states \&\& !has_key) known = .*;//'
  control 'what was given up writes no record' run_journal replay 's/    commits(commits_, of_);//'
  [ "$wanted" = there ] && echo "faults: $left_out protections are there" && return
  echo "faults: $left_out protections left out, $unnoticed unnoticed"
  [ $unnoticed = 0 ]
}

[ $# -gt 0 ] || set -- files places errors owners fuzz zstd power controls
for wanted; do
  case $wanted in
    files | places | errors | owners | fuzz | zstd) campaign "$wanted" ;;
    power)
      campaign power
      cuts 100
      ;;
    controls | there) controls ;;
    *)
      sed -n 's/^#   //p; s/^#     /usage: /p' "$0" >&2
      exit 2
      ;;
  esac
done
