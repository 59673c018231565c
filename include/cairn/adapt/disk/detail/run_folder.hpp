// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_folder.hpp  The folder of one run: the names in it, its lock, its checkpoints, its two records.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/adapt/disk/detail/run_lock.hpp>
#include <cairn/adapt/disk/detail/state_file.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

struct closes_folder {
  void operator()(DIR* open) const noexcept { (void)::closedir(open); }
};
/// Calls f(name) for each name in a folder.
template <class Fn>
void each_name(descriptor const& folder, Fn f) {
  descriptor again = open_folder_as_it_is(folder.get(), ".", 0);
  std::unique_ptr<DIR, closes_folder> const open{again ? ::fdopendir(again.get()) : nullptr};
  if (!open) return;
  (void)again.release();
  while (dirent const* const one = ::readdir(open.get())) f(static_cast<char const*>(one->d_name));
}

/// The slot whose file has this name, or no_slot.
[[nodiscard]] inline slot_index slot_of(std::string const& name) {
  bool const ours = name.size() > 4 && name.size() < 20 && name[0] == 's' &&
                    name.find_first_not_of("0123456789", 1) == name.npos;
  return ours ? slot_index(std::strtoll(name.c_str() + 1, nullptr, 10)) : no_slot;
}
inline constexpr char const* record_names[2] = {"record0", "record1"};
inline constexpr char const* choices_name = "choices";  // of steps
inline constexpr char const* new_choices_name = "choices.new";  // a file that takes the place of the one above
inline constexpr char const* final_name = "final";      // the final state of a run that is kept
inline constexpr char const* name_of_name = "name";     // by what the run is known
inline constexpr char const* live_name = "live";        // where a run was that was asked to stop
/// Whether a name in the folder of a run is one of ours.
[[nodiscard]] inline bool is_file_of_run(std::string const& name) {
  for (char const* const ours : {"lock", record_names[0], record_names[1], choices_name, new_choices_name, final_name,
                                 live_name, name_of_name, passing_name})
    if (name == ours) return true;
  return slot_of(name) != no_slot;
}

/// The folders of the runs of a `disk`.
struct outer_folders {
  descriptor runs;
  descriptor scratch = {};  ///< of their states, if these stand elsewhere
  std::string scratch_path = {};
};

/// Who may write to a run: holds the lock of its folder, and of that of its states if they stand elsewhere.
class run_folder {
 public:
  io_memory memory;

  /// Opens or makes the folder of a run in `outer`, which is `path`, and locks it.
  /// \throws file_error   \throws directory_busy   if another process or thread has it
  run_folder(outer_folders const& outer, std::string const& path, run_id const& run, std::int64_t steps)
      : outer_{outer}, path_{path + '/' + name_of(run)}, run_{run}, steps_{std::uint64_t(steps)}, owner_{new_owner()} {
    take(outer.runs, path_, folder_, lock_);
    if (outer.scratch) take(outer.scratch, states_path(), scratch_, scratch_lock_);
    for (int k = 0; k < 2; ++k) {
      begun_[k] = head_of(open_record(k), file_kind::record, std::uint32_t(k), run_, steps_, &unread_[k]);
      if (begun_[k].sound() && begun_[k].sequence > sequence_) sequence_ = begun_[k].sequence, last_ = k;
    }
  }
  run_folder(run_folder const&) = delete;
  /// A folder of states that has none any more goes.
  ~run_folder() {
    if (!scratch_lock_.holds(scratch_)) return;
    bool empty = true;
    each_name(scratch_, [&](char const* name) {
      for (char const* const other : {".", "..", "lock"})
        if (std::strcmp(name, other) == 0) return;
      empty = false;
    });
    if (empty) remove_folder(outer_.scratch, scratch_);
  }

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  [[nodiscard]] run_id const& id() const noexcept { return run_; }
  [[nodiscard]] descriptor open(char const* name, int how) const noexcept {
    return open_in(folder_, name, how, how == O_RDONLY ? second_name::stays : second_name::copy);
  }
  [[nodiscard]] int keep_names() const noexcept { return names_are_kept(folder_); }
  /// A file takes the name of another one. Returns 0, or the number of the system's error.
  [[nodiscard]] int rename(char const* from, char const* to) const noexcept {
    return ::renameat(folder_.get(), from, folder_.get(), to) == 0 ? 0 : errno;
  }
  void remove(char const* name) const noexcept { (void)::unlinkat(folder_.get(), name, 0); }
  /// The head at a place of a file, not sound if it is not one of this run.
  [[nodiscard]] file_head head_in(descriptor const& file, file_kind kind, std::uint32_t slot,
                                  std::uint64_t begin) const noexcept {
    return head_of(file, kind, slot, run_, steps_, nullptr, begin);
  }
  /// Reads the values behind a head by read(source). Returns whether they are whole and unchanged.
  template <class Read>
  [[nodiscard]] bool read_values(descriptor const& file, file_head const& head, std::uint64_t begin,
                                 Read const& read) {
    return read_values_by(memory, file, head, begin, read);
  }
  template <class Read>
  [[nodiscard]] static bool read_values_by(io_memory& by, descriptor const& file, file_head const& head,
                                           std::uint64_t begin, Read const& read) {
    file_reader source{file.get(), by, head, begin};
    if (!source.unchanged()) return false;
    try {
      read(source);
    } catch (invalid_bytes const&) {
      return false;
    }
    return source.right();
  }
  /// Checkpoints are packed from now on.
  void compress(block_codec const& codec) {
    memory.packer.prepare(codec);
    packs_ = true;
  }

  /// \throws storage_full   if the disk has no room for `bytes` in each of these slots, beside what is there; then
  /// nothing that was made for it stays
  template <class Wanted>
  void reserve(slot_index slots, std::uint64_t bytes, Wanted const& wanted) {
    std::uint64_t need = 0;
    std::uint64_t const each = (packs_ ? block_packer::most(bytes) : bytes) + sizeof(file_head);
    for (slot_index slot = 0; slot < slots; ++slot) {
      if (!wanted(slot)) continue;
      struct stat now {};
      bool const there = ::fstatat(folder_of(slot).get(), slot_name(slot).data(), &now, AT_SYMLINK_NOFOLLOW) == 0;
      bool const own = there && now.st_nlink <= 1;  // the other name keeps its blocks
      std::uint64_t const has = own ? std::uint64_t(now.st_blocks) * 512 : 0;
      if (has < each) need += each - has;
    }
    std::uint64_t const free = check_room(need);
    for (slot_index slot = 0; slot < slots; ++slot) {
      if (!wanted(slot)) continue;
      descriptor const file = open_in(folder_of(slot), slot_name(slot).data(), O_RDWR | O_CREAT);
      struct stat now {};
      if (file && ::fstat(file.get(), &now) == 0 && now.st_nlink > 1) continue;  // it may hold a state
      int const number = file ? take_room(file.get(), off_t(each)) : errno;
      if (number != ENOSPC && number != EDQUOT && number != EFBIG) {
        if (file) continue;  // where room cannot be reserved, a save may fail
        refuse_file("a file for a checkpoint cannot be made", number, states_path() + '/' + slot_name(slot).data());
      }
      for (slot_index made = 0; made <= slot; ++made)
        if (wanted(made) && !slot_head(made).sound()) remove_slot(made);
      full(need, free);
    }
  }

  /// Returns what is free.   \throws storage_full   if that is less than `need`
  std::uint64_t check_room(std::uint64_t need) const {
    struct statvfs disk {};
    if (::fstatvfs(folder_of(0).get(), &disk) != 0)
      refuse_file("the free space of a disk cannot be read", errno, states_path());
    std::uint64_t const free = std::uint64_t(disk.f_bavail) * disk.f_frsize;
    if (free < need) full(need, free);
    return free;
  }
  [[nodiscard]] file_head fresh_head(file_kind kind, std::uint32_t slot, std::int64_t step) const {
    file_head head;
    head.kind = kind;
    head.slot = slot;
    head.run = run_;
    head.steps = steps_;
    head.step = std::uint64_t(step);
    head.owner = owner_;
    return head;
  }
  /// Writes values by write(sink) into the file of a slot. Returns 0, or the number of the system's error.
  /// \param bytes  becomes what is in the file   \param before  hash of a state before it
  template <class Write>
  [[nodiscard]] int write_slot(slot_index slot, std::int64_t step, std::uint64_t state_hash, std::uint16_t flags,
                               Write const& write, std::uint64_t& bytes, std::uint64_t before = 0) {
    lock_.beat(folder_);
    return write_slot_by(memory, slot, step, state_hash, flags, write, bytes, before);
  }
  /// The same by memory of the caller's, so that several slots can be written at once.
  template <class Write>
  [[nodiscard]] int write_slot_by(io_memory& by, slot_index slot, std::int64_t step, std::uint64_t state_hash,
                                  std::uint16_t flags, Write const& write, std::uint64_t& bytes,
                                  std::uint64_t before) const {
    descriptor const file = open_in(folder_of(slot), slot_name(slot).data(), O_RDWR | O_CREAT, second_name::new_file);
    if (!file) return errno;
    file_head head = fresh_head(file_kind::checkpoint, std::uint32_t(slot), step);
    head.state_hash = state_hash;
    head.flags = flags;
    head.sequence = before;
    file_writer sink{file.get(), by, head.step, packs_};
    write(sink);
    int const error = sink.finish(head);
    bytes = sink.written();
    return error;
  }
  /// The lock shows that this process is alive.
  void beat() { lock_.beat(folder_); }
  /// Prepares memory of the caller's for these files.
  void prepare(io_memory& other) const {
    if (packs_) other.packer.prepare(memory.packer.codec());
  }
  /// The hash of the state behind the one in `live_slot`, which another process compares with what it makes.
  void note_next(std::uint64_t hash) noexcept {
    descriptor const file = open_in(folder_, live_name, O_RDWR, second_name::copy);
    file_head head = head_in(file, file_kind::checkpoint, std::uint32_t(live_slot), 0);
    if (!head.sound()) return;
    head.sequence = hash;
    head.seal();
    (void)write_at(file.get(), &head, sizeof head, 0);
  }
  /// Whether the file of a slot holds this state, whole and unchanged.
  [[nodiscard]] bool is_whole(slot_index slot, std::int64_t step) {
    descriptor const file = open_in(folder_of(slot), slot_name(slot).data(), O_RDONLY);
    file_head const head = head_of(file, file_kind::checkpoint, std::uint32_t(slot), run_, steps_);
    return head.sound() && head.step == std::uint64_t(step) && file_reader{file.get(), memory, head}.unchanged();
  }
  /// What a slot holds is proven.
  void prove_slot(slot_index slot) noexcept {
    descriptor const file = open_in(folder_of(slot), slot_name(slot).data(), O_RDWR, second_name::copy);
    file_head head = head_in(file, file_kind::checkpoint, std::uint32_t(slot), 0);
    if (!head.sound()) return;
    head.flags &= std::uint16_t(~unproven);
    head.seal();
    (void)write_at(file.get(), &head, sizeof head, 0);
  }
  /// In place of a slot: the final state of a run that is kept.
  static constexpr slot_index final_slot = 0xffff'ffff;
  /// In place of a slot: the state between two places of the plan where a run was asked to stop.
  static constexpr slot_index live_slot = 0xffff'fffe;
  /// The head of a slot's file, not sound if there is no checkpoint of this run in it.
  [[nodiscard]] file_head slot_head(slot_index slot) const noexcept {
    return head_of(open_in(folder_of(slot), slot_name(slot).data(), O_RDONLY), file_kind::checkpoint,
                   std::uint32_t(slot), run_, steps_);
  }
  /// Reads values by read(source). Returns whether the file holds them, whole and unchanged.
  /// \param state_hash  becomes what the head says of the state
  template <class Read>
  [[nodiscard]] bool read_slot(slot_index slot, std::int64_t step, Read const& read) {
    return read_slot_by(memory, slot, step, read);
  }
  template <class Read>
  [[nodiscard]] bool read_slot_by(io_memory& by, slot_index slot, std::int64_t step, Read const& read,
                                  std::uint64_t* state_hash = nullptr) const {
    descriptor const file = open_in(folder_of(slot), slot_name(slot).data(), O_RDONLY);
    file_head const head = head_of(file, file_kind::checkpoint, std::uint32_t(slot), run_, steps_);
    if (state_hash != nullptr) *state_hash = head.state_hash;
    return head.sound() && head.step == std::uint64_t(step) && read_values_by(by, file, head, 0, read);
  }
  /// Reads a state, and by beside(source) what stands behind it.
  /// \throws invalid_call   if it is not the one that was written, though the file is whole and unchanged
  template <class Value, class Beside>
  [[nodiscard]] bool read_checkpoint(slot_index slot, std::int64_t step, Value& into, Beside const& beside) {
    return read_checkpoint_by(memory, slot, step, into, beside);
  }
  /// The same by memory of the caller's.
  template <class Value, class Beside>
  [[nodiscard]] bool read_checkpoint_by(io_memory& by, slot_index slot, std::int64_t step, Value& into,
                                        Beside const& beside) const {
    std::uint64_t hash = 0;
    auto const read = [&](auto& source) {
      read_state(into, source);
      beside(source);
    };
    if (!read_slot_by(by, slot, step, read, &hash)) return false;
    if (hash != 0 && hash != hash_of(std::as_const(into)))
      refuse_loss("a state that is read back is not the one that was written", step);
    return true;
  }

  /// The later of the two records that can be read; `read(source)` reads its values. Empty if there is none. The next
  /// record does not overwrite it.
  /// \param wanted  wanted(head) says whether it is asked for at all
  /// \throws file_error   if there is one that the system does not open now, but may later
  template <class Read, class Wanted>
  [[nodiscard]] std::optional<file_head> read_record(Read const& read, Wanted const& wanted) {
    file_head heads[2];
    descriptor files[2];
    for (int k = 0; k < 2; ++k) {
      files[k] = open_record(k);
      heads[k] = head_of(files[k], file_kind::record, std::uint32_t(k), run_, steps_);
    }
    int const later = heads[1].sound() && (!heads[0].sound() || heads[1].sequence > heads[0].sequence) ? 1 : 0;
    for (int const k : {later, 1 - later}) {
      if (!heads[k].sound() || !wanted(heads[k]) || !read_values(files[k], heads[k], 0, read)) continue;
      last_ = k;
      return heads[k];
    }
    return {};
  }
  [[nodiscard]] std::uint64_t owner() const noexcept { return owner_; }
  /// Whether there is a record, be it of which reverse it may.
  [[nodiscard]] bool has_record() const noexcept { return record_head(0).sound() || record_head(1).sound(); }
  /// Writes a record beside the last one, which stays the last one until `counts_record` is called: where that does not
  /// follow, the next one is written in the same place. Returns 0, or the number of the system's error.
  /// \param waits  whether it waits for the disk: without, a cut of power may leave the record before
  /// \throws directory_busy   if another process has taken the lock over, or has written one meanwhile
  template <class Write>
  [[nodiscard]] int write_record(std::int64_t step, std::uint64_t state_hash, bool waits, Write const& write) {
    int const k = next_record();
    lock_.beat(folder_);
    if (lock_.taken_over(folder_) || others_record()) lock_.refuse(path_);
    for (bool again = false;; again = true) {
      if (suspect_) (void)::unlinkat(folder_.get(), record_names[k], 0);  // a failed fdatasync is never repeated on it
      int const error = try_record(k, step, state_hash, waits, write);
      suspect_ = error != 0;
      if (!suspect_ || again) return error;
    }
  }
  /// The record that was written is the last one now.
  void counts_record() noexcept {
    last_ = next_record();
    ++sequence_;
    unread_[last_] = false;
  }
  /// Where the next record is written.
  [[nodiscard]] std::string record_path() const { return path_ + '/' + record_names[next_record()]; }
  /// Removes what is in a slot.
  void remove_slot(slot_index slot) noexcept { (void)::unlinkat(folder_of(slot).get(), slot_name(slot).data(), 0); }
  /// Removes the checkpoints: the run is finished, and its record is enough.
  void remove_slots() {
    remove_states(folder_);
    if (outer_.scratch) remove_states(scratch_);
  }
  /// Removes the checkpoints that this process has written.
  void remove_own_slots(slot_index slots) noexcept {
    for (slot_index slot = 0; slot < slots; ++slot) remove_own(slot);
  }
  void remove_records() noexcept {
    for (auto const* const name : record_names) remove(name);
  }
  /// Removes the checkpoints and the records that this process has written.
  void forget_own(slot_index slots) noexcept {
    remove_own_slots(slots);
    remove_own(live_slot);
    for (std::uint32_t k = 0; k < 2; ++k)
      if (record_head(k).owner == owner_) remove(record_names[k]);
  }
  void remove_own(slot_index slot) noexcept {
    if (slot_head(slot).owner == owner_) remove_slot(slot);
  }
  [[nodiscard]] std::string slot_path(slot_index slot) const { return path_ + '/' + slot_name(slot).data(); }
  /// Removes all that an earlier process has left.
  void begin_anew() {
    remove_slots();
    remove_records();
    for (auto const* const name : {choices_name, new_choices_name, passing_name}) remove(name);
  }
  /// Writes by what the run is known, for whoever asks why it is not another one; if that does not work, none is told.
  template <class Name>
  void keep_name(Name const& name) {
    descriptor const file = open_in(folder_, name_of_name, O_RDWR | O_CREAT, second_name::new_file);
    if (!file || head_of(file, file_kind::name, 0, run_, steps_).sound()) return;
    file_writer sink{file.get(), memory, 0, false};
    name.write(sink);
    (void)sink.finish(fresh_head(file_kind::name, 0, 0));
  }
  /// Removes the folder of a run that was none.
  void remove() {
    begin_anew();
    (void)::unlinkat(folder_.get(), name_of_name, 0);
    remove_folder(outer_.runs, folder_);
  }
  /// Calls f(slot, head) for each file with a checkpoint of this run.
  template <class Fn>
  void each_checkpoint(Fn f) const {
    each_name(folder_of(0), [&](std::string const& name) {
      slot_index const slot = slot_of(name);
      if (slot == no_slot) return;
      if (file_head const head = slot_head(slot); head.sound()) f(slot, head);
    });
  }
  /// The names of the files that a process which goes on from the last record needs.
  /// \param left  becomes how many steps it leaves; stays if there is none   \param usable  usable(head) of a state
  template <class Usable>
  [[nodiscard]] std::vector<std::string> whole_files(std::int64_t& left, Usable usable) const {
    std::vector<std::string> names;
    if (last_ >= 0)
      if (file_head const head = record_head(std::uint32_t(last_)); head.sound())
        left = std::int64_t(head.step), names.emplace_back(record_names[last_]);
    if (head_in(open(choices_name, O_RDONLY), file_kind::choices, 0, 0).sound()) names.emplace_back(choices_name);
    if (left == 0) return names;
    auto const add = [&](slot_index slot, file_head const& head) {
      if (head.sound() && usable(head)) names.emplace_back(slot_name(slot).data());
    };
    if (!outer_.scratch) each_checkpoint(add);  // those elsewhere are made again
    for (slot_index const slot : {final_slot, live_slot}) add(slot, slot_head(slot));
    return names;
  }
  /// Bytes of the files of this run, as their heads say.
  [[nodiscard]] std::uint64_t record_bytes() const noexcept {
    std::uint64_t sum = 0;
    for (auto const* const name : record_names) {
      struct stat now {};
      if (::fstatat(folder_.get(), name, &now, AT_SYMLINK_NOFOLLOW) == 0) sum += std::uint64_t(now.st_size);
    }
    return sum;
  }

 private:
  void take(descriptor const& outer, std::string const& path, descriptor& folder, run_lock& lock) {
    for (int tries = 0;; ++tries) {  // another process may remove the folder before it has a lock
      folder = open_folder(outer.get(), name_of(run_));
      auto const seen = lock.take(outer, name_of(run_), folder, owner_);
      if (seen == run_lock::answer::taken) return;
      if (seen == run_lock::answer::busy) lock.refuse(path);
      if (seen == run_lock::answer::failed || tries == 1'000)
        refuse_file("the lock of a run cannot be taken", errno, path + "/lock");
    }
  }
  [[nodiscard]] descriptor const& folder_of(slot_index slot) const noexcept {
    return outer_.scratch && slot != final_slot && slot != live_slot ? scratch_ : folder_;
  }
  [[nodiscard]] std::string states_path() const {
    return outer_.scratch ? outer_.scratch_path + '/' + name_of(run_) : path_;
  }
  static void remove_states(descriptor const& folder) {
    for (bool any = true; std::exchange(any, false);)  // a name may be passed over where others go meanwhile
      each_name(folder, [&](std::string const& name) {
        bool const state = slot_of(name) != no_slot || name == final_name || name == live_name;
        if (state && ::unlinkat(folder.get(), name.c_str(), 0) == 0) any = true;
      });
  }
  void remove_folder(descriptor const& outer, descriptor const& folder) const noexcept {
    std::array<char, 33> const name = name_text(run_);
    (void)::unlinkat(folder.get(), "lock", 0);
    (void)::unlinkat(outer.get(), name.data(), AT_REMOVEDIR);  // stays if something else is in it
  }
  [[nodiscard]] file_head record_head(std::uint32_t k) const noexcept {
    return head_of(open_in(folder_, record_names[k], O_RDONLY), file_kind::record, k, run_, steps_);
  }
  [[nodiscard]] static std::array<char, 24> slot_name(slot_index slot) noexcept {
    std::array<char, 24> text{};
    if (slot == final_slot || slot == live_slot)
      (void)std::snprintf(text.data(), text.size(), "%s", slot == live_slot ? live_name : final_name);
    else (void)std::snprintf(text.data(), text.size(), "s%04lld", static_cast<long long>(slot));
    return text;
  }
  /// Not the place of the one that can be read.
  [[nodiscard]] int next_record() const noexcept { return last_ == 1 ? 0 : 1; }
  template <class Write>
  [[nodiscard]] int try_record(int k, std::int64_t step, std::uint64_t state_hash, bool waits, Write const& write) {
    descriptor const file = open_in(folder_, record_names[k], O_RDWR | O_CREAT, second_name::new_file);
    if (!file) return errno;
    struct stat before {};
    bool const anew = ::fstat(file.get(), &before) != 0 || before.st_size == 0;
    file_head head = fresh_head(file_kind::record, std::uint32_t(k), step);
    head.sequence = sequence_ + 1;
    head.state_hash = state_hash;
    file_writer sink{file.get(), memory, head.step, false};  // small, and waited for
    write(sink);
    int error = sink.finish(head);
    if (error == 0 && waits && ::fdatasync(file.get()) != 0) error = errno;
    if (error == 0 && waits && anew) error = names_are_kept(folder_);
    return error;
  }
  /// A record, if it is a file of ours.   \throws file_error   if it is not known whether it is
  [[nodiscard]] descriptor open_record(int k) const {
    descriptor file = open_in(folder_, record_names[k], O_RDONLY);
    int const number = errno;
    bool const none = number == ENOENT || number == ELOOP || number == EPERM || number == ENXIO;
    if (!file && !none) refuse_file("a record of a run cannot be opened", number, path_ + '/' + record_names[k]);
    return file;
  }
  /// Whether there is a record that neither this process has written nor found when it began.
  [[nodiscard]] bool others_record() const noexcept {
    for (std::uint32_t k = 0; k < 2; ++k) {
      file_head const head = record_head(k);
      bool const found = head.owner == begun_[k].owner && head.sequence == begun_[k].sequence;
      if (head.sound() && head.owner != owner_ && !found && !unread_[k]) return true;
    }
    return false;
  }
  [[noreturn]] void full(std::uint64_t need, std::uint64_t free) const {
    throw storage_full{"cairn::disk", "the disk has no room for the checkpoints of the plan",
                       {{"need", need}, {"free", free}}, states_path().c_str()};
  }

  outer_folders const& outer_;
  std::string path_;
  run_id run_;
  std::uint64_t steps_, owner_, sequence_ = 0;
  descriptor folder_, scratch_;
  run_lock lock_, scratch_lock_;
  file_head begun_[2];
  bool unread_[2] = {};  // whether the above is not known
  bool packs_ = false, suspect_ = false;  // suspect_: the last record could not be written
  int last_ = -1;                         // the record that was read or written last
};

}  // namespace cairn::detail
