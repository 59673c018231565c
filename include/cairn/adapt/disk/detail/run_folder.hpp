// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_folder.hpp  The folder of one run: its lock, its checkpoints, its two records.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/adapt/disk/detail/names.hpp>
#include <cairn/adapt/disk/detail/state_file.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// This process: host, start of the machine, process, and the moment.
[[nodiscard]] inline std::uint64_t new_owner() noexcept {
  std::array<char, 512> text{};
  (void)::gethostname(text.data(), 256);
  descriptor const boot{::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)};
  if (boot) (void)read_at(boot.get(), text.data() + 256, 36, 0);
  std::int64_t const more[] = {::getpid(), std::chrono::steady_clock::now().time_since_epoch().count()};
  std::memcpy(text.data() + 300, more, sizeof more);
  return XXH64(text.data(), text.size(), 0) | 1;
}

/// A hash of the program that runs; 0 where it cannot be read. Libraries that it loads are not in it.
[[nodiscard]] inline std::uint64_t build_id() {
  static std::uint64_t const id = [] {
    descriptor const program{::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
    running_hash hash;
    hash.begin(0);
    std::array<char, 16'384> part;
    for (;;) {
      ssize_t const got = program ? ::read(program.get(), part.data(), part.size()) : 0;
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return program ? hash.value() : 0;
      hash.add(part.data(), std::size_t(got));
    }
  }();
  return id;
}

/// The name of a run's folder.
[[nodiscard]] inline std::string name_of(run_id const& run) {
  char text[33];
  (void)std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(run.words[0]),
                      static_cast<unsigned long long>(run.words[1]));
  return text;
}

/// Who may write to a run: holds the lock of its folder.
class run_folder {
 public:
  io_memory memory;

  /// Opens or makes the folder of a run in `outer`, which is `path`, and locks it.
  /// \throws file_error   \throws directory_busy   if another process or thread has it
  run_folder(descriptor const& outer, std::string const& path, run_id const& run, std::int64_t steps)
      : path_{path + '/' + name_of(run)}, run_{run}, steps_{std::uint64_t(steps)}, owner_{new_owner()} {
    folder_ = open_folder(outer.get(), name_of(run));
    lock_ = open_in(folder_, "lock", O_RDWR | O_CREAT);
    if (int const number = errno; !lock_) refuse_file("the lock of a run cannot be opened", number, path_ + "/lock");
    int locked = -1, looks = 0;
    for (;;) {
      locked = ::flock(lock_.get(), LOCK_EX | LOCK_NB);
      if (locked == 0 || (errno != EINTR && (errno != EWOULDBLOCK || ++looks > 20))) break;
      timespec const moment{0, 1'000'000};  // as long as `stored_runs` has it at most, to see whether it is free
      if (errno == EWOULDBLOCK) (void)::nanosleep(&moment, nullptr);
    }
    if (int const number = errno; locked != 0) {
      if (number == EWOULDBLOCK) busy();
      refuse_file("the lock of a run cannot be taken", number, path_ + "/lock");
    }
    char text[320] = {};
    (void)::gethostname(text, 256);
    std::size_t const name = std::strlen(text);
    int const more = std::snprintf(text + name, sizeof text - name, " %ld\n", long(::getpid()));
    if (::ftruncate(lock_.get(), 0) == 0) (void)write_at(lock_.get(), text, name + std::size_t(more), 0);
    for (int k = 0; k < 2; ++k) {
      begun_[k] = head_of(open_record(k), file_kind::record, std::uint32_t(k), run_, steps_, &unread_[k]);
      if (begun_[k].sound() && begun_[k].sequence > sequence_) sequence_ = begun_[k].sequence, last_ = k;
    }
  }
  run_folder(run_folder const&) = delete;

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  [[nodiscard]] descriptor open(char const* name, int how) const noexcept { return open_in(folder_, name, how); }
  [[nodiscard]] int keep_names() const noexcept { return names_are_kept(folder_); }
  /// The head at a place of a file, not sound if it is not one of this run.
  [[nodiscard]] file_head head_in(descriptor const& file, file_kind kind, std::uint32_t slot,
                                  std::uint64_t begin) const noexcept {
    return head_of(file, kind, slot, run_, steps_, nullptr, begin);
  }
  /// Reads the values behind a head by read(source). Returns whether they are whole and unchanged.
  template <class Read>
  [[nodiscard]] bool read_values(descriptor const& file, file_head const& head, std::uint64_t begin,
                                 Read const& read) {
    file_reader source{file.get(), memory, head, begin};
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
      bool const there = ::fstatat(folder_.get(), slot_name(slot).data(), &now, AT_SYMLINK_NOFOLLOW) == 0;
      std::uint64_t const has = there ? std::uint64_t(now.st_blocks) * 512 : 0;
      if (has < each) need += each - has;
    }
    std::uint64_t const free = check_room(need);
    for (slot_index slot = 0; slot < slots; ++slot) {
      if (!wanted(slot)) continue;
      descriptor const file = open_in(folder_, slot_name(slot).data(), O_RDWR | O_CREAT);
      int number = file ? EINTR : errno;
      while (number == EINTR) number = ::posix_fallocate(file.get(), 0, off_t(each));
      if (number != ENOSPC && number != EDQUOT && number != EFBIG) {
        if (file) continue;  // where room cannot be reserved, a save may fail
        refuse_file("a file for a checkpoint cannot be made", number, path_ + '/' + slot_name(slot).data());
      }
      for (slot_index made = 0; made <= slot; ++made)
        if (wanted(made) && !slot_head(made).sound()) (void)::unlinkat(folder_.get(), slot_name(made).data(), 0);
      full(need, free);
    }
  }

  /// Returns what is free.   \throws storage_full   if that is less than `need`
  std::uint64_t check_room(std::uint64_t need) const {
    struct statvfs disk {};
    if (::fstatvfs(folder_.get(), &disk) != 0) refuse_file("the free space of a disk cannot be read", errno, path_);
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
    head.build = build_id();
    return head;
  }
  /// Writes values by write(sink) into the file of a slot. Returns 0, or the number of the system's error.
  /// \param bytes  becomes what is in the file   \param before  hash of a state before it
  template <class Write>
  [[nodiscard]] int write_slot(slot_index slot, std::int64_t step, std::uint64_t state_hash, std::uint16_t flags,
                               Write const& write, std::uint64_t& bytes, std::uint64_t before = 0) {
    descriptor const file = open_in(folder_, slot_name(slot).data(), O_RDWR | O_CREAT);
    if (!file) return errno;
    file_head head = fresh_head(file_kind::checkpoint, std::uint32_t(slot), step);
    head.state_hash = state_hash;
    head.flags = flags;
    head.sequence = before;
    file_writer sink{file.get(), memory, head.step, packs_};
    write(sink);
    int const error = sink.finish(head);
    bytes = sink.written();
    return error;
  }
  /// What a slot holds is proven.
  void prove_slot(slot_index slot) noexcept {
    descriptor const file = open_in(folder_, slot_name(slot).data(), O_RDWR);
    file_head head = head_in(file, file_kind::checkpoint, std::uint32_t(slot), 0);
    if (!head.sound()) return;
    head.flags &= std::uint16_t(~unproven);
    head.seal();
    (void)write_at(file.get(), &head, sizeof head, 0);
  }
  /// In place of a slot: the final state of a run that is kept.
  static constexpr slot_index final_slot = 0xffff'ffff;
  /// The head of a slot's file, not sound if there is no checkpoint of this run in it.
  [[nodiscard]] file_head slot_head(slot_index slot) const noexcept {
    return head_of(open_in(folder_, slot_name(slot).data(), O_RDONLY), file_kind::checkpoint, std::uint32_t(slot), run_,
                   steps_);
  }
  /// Reads values by read(source). Returns whether the file holds them, whole and unchanged.
  /// \param state_hash  becomes what the head says of the state
  template <class Read>
  [[nodiscard]] bool read_slot(slot_index slot, std::int64_t step, Read const& read,
                               std::uint64_t* state_hash = nullptr) {
    descriptor const file = open_in(folder_, slot_name(slot).data(), O_RDONLY);
    file_head const head = head_of(file, file_kind::checkpoint, std::uint32_t(slot), run_, steps_);
    if (state_hash != nullptr) *state_hash = head.state_hash;
    return head.sound() && head.step == std::uint64_t(step) && read_values(file, head, 0, read);
  }
  /// Reads a state, and by beside(source) what stands behind it.
  /// \throws invalid_call   if it is not the one that was written, though the file is whole and unchanged
  template <class Value, class Beside>
  [[nodiscard]] bool read_checkpoint(slot_index slot, std::int64_t step, Value& into, Beside const& beside) {
    std::uint64_t hash = 0;
    auto const read = [&](auto& source) {
      read_state(into, source);
      beside(source);
    };
    if (!read_slot(slot, step, read, &hash)) return false;
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
  /// Writes a record beside the last one.
  /// \param waits  whether it waits for the disk: without, a cut of power may leave the record before
  /// \throws directory_busy   if another process has written one meanwhile
  /// \throws file_error   if it cannot be written; the last one stays
  template <class Write>
  void commit(std::int64_t step, std::uint64_t state_hash, bool waits, Write const& write) {
    std::uint64_t const next = sequence_ + 1;
    int const k = last_ == 1 ? 0 : 1;  // not the one that can be read
    if (others_record()) busy();
    if (!try_commit(k, next, step, state_hash, waits, write)) {
      (void)::unlinkat(folder_.get(), record_names[k], 0);  // a failed fdatasync is never repeated on the same file
      if (!try_commit(k, next, step, state_hash, waits, write))
        refuse_file("the record of a run cannot be written", failed_, path_ + '/' + record_names[k]);
    }
    sequence_ = next;
    last_ = k;
    unread_[k] = false;
  }
  /// Removes what is in a slot.
  void remove_slot(slot_index slot) noexcept { (void)::unlinkat(folder_.get(), slot_name(slot).data(), 0); }
  /// Removes the checkpoints: the run is finished, and its record is enough.
  void remove_slots() {
    for (bool any = true; std::exchange(any, false);)  // a name may be passed over where others go meanwhile
      each_name(folder_, [&](std::string const& name) {
        bool const state = slot_of(name) != no_slot || name == final_name;
        if (state && ::unlinkat(folder_.get(), name.c_str(), 0) == 0) any = true;
      });
  }
  /// Removes the checkpoints that this process has written.
  void remove_own_slots(slot_index slots) noexcept {
    for (slot_index slot = 0; slot < slots; ++slot)
      if (slot_head(slot).owner == owner_) (void)::unlinkat(folder_.get(), slot_name(slot).data(), 0);
  }
  /// Removes all that an earlier process has left.
  void begin_anew() {
    remove_slots();
    for (auto const* const name : {record_names[0], record_names[1], choices_name})
      (void)::unlinkat(folder_.get(), name, 0);
  }
  /// Removes the folder of a run that was none.
  void remove(descriptor const& outer) {
    begin_anew();
    (void)::unlinkat(folder_.get(), "lock", 0);
    (void)::unlinkat(outer.get(), name_of(run_).c_str(), AT_REMOVEDIR);  // stays if something else is in it
  }
  /// Calls f(slot, head) for each file with a checkpoint of this run.
  template <class Fn>
  void each_checkpoint(Fn f) const {
    each_name(folder_, [&](std::string const& name) {
      slot_index const slot = slot_of(name);
      if (slot == no_slot) return;
      if (file_head const head = slot_head(slot); head.sound()) f(slot, head);
    });
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
  [[nodiscard]] file_head record_head(std::uint32_t k) const noexcept {
    return head_of(open_in(folder_, record_names[k], O_RDONLY), file_kind::record, k, run_, steps_);
  }
  [[nodiscard]] static std::array<char, 24> slot_name(slot_index slot) noexcept {
    std::array<char, 24> text{};
    if (slot == final_slot) (void)std::snprintf(text.data(), text.size(), "%s", final_name);
    else (void)std::snprintf(text.data(), text.size(), "s%04lld", static_cast<long long>(slot));
    return text;
  }
  template <class Write>
  [[nodiscard]] bool try_commit(int k, std::uint64_t next, std::int64_t step, std::uint64_t state_hash, bool waits,
                                Write const& write) {
    descriptor const file = open_in(folder_, record_names[k], O_RDWR | O_CREAT);
    if (!file) return failed_ = errno, false;
    struct stat before {};
    bool const anew = ::fstat(file.get(), &before) != 0 || before.st_size == 0;
    file_head head = fresh_head(file_kind::record, std::uint32_t(k), step);
    head.sequence = next;
    head.state_hash = state_hash;
    file_writer sink{file.get(), memory, head.step, false};  // small, and waited for
    write(sink);
    failed_ = sink.finish(head);
    if (failed_ == 0 && waits && ::fdatasync(file.get()) != 0) failed_ = errno;
    if (failed_ == 0 && waits && anew) failed_ = names_are_kept(folder_);
    return failed_ == 0;
  }
  /// A record, if it is a file of ours.   \throws file_error   if it is not known whether it is
  [[nodiscard]] descriptor open_record(int k) const {
    descriptor file = open_in(folder_, record_names[k], O_RDONLY);
    int const number = errno;
    bool const none = number == ENOENT || number == ELOOP || number == EMLINK || number == EPERM || number == ENXIO;
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
  [[noreturn]] void busy() const {
    throw directory_busy{"cairn::disk", "another process or thread works on this run", {}, path_.c_str()};
  }
  [[noreturn]] void full(std::uint64_t need, std::uint64_t free) const {
    throw storage_full{"cairn::disk", "the disk has no room for the checkpoints of the plan",
                       {{"need", need}, {"free", free}}, path_.c_str()};
  }

  std::string path_;
  run_id run_;
  std::uint64_t steps_, owner_, sequence_ = 0;
  descriptor folder_, lock_;
  file_head begun_[2];
  bool unread_[2] = {};  // whether the above is not known
  bool packs_ = false;
  int failed_ = 0, last_ = -1;  // last_: the record that was read or written last
};

}  // namespace cairn::detail
