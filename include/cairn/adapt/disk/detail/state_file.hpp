// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file state_file.hpp  A head and the bytes of values, in one file: written in one pass, and believed only if all
/// hashes are right.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <sys/stat.h>
#include <utility>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/adapt/disk/detail/packing.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_bytes.hpp>

namespace cairn::detail {

/// Memory through which short runs of bytes go, one for each folder; long runs go as they are. One file uses it at a
/// time.
struct io_memory {
  static constexpr std::size_t size = block_packer::block;
  running_hash hash, stored;  // of the content, and of packed blocks
  std::unique_ptr<char[]> bytes{new char[size]};
  block_packer packer;  // takes memory when it is first used
};

/// A sink of `write_state`: bytes go into a file behind their head, and are hashed. The first error is kept; what comes
/// after it is passed over.
class file_writer {
 public:
  /// \param packs  whether blocks are packed by the memory's packer, which is prepared   \param begin  the head's place
  file_writer(int file, io_memory& memory, std::uint64_t seed, bool packs, std::uint64_t begin = 0) noexcept
      : file_{file}, memory_{memory}, packs_{packs}, begin_{begin}, at_{begin + sizeof(file_head)} {
    memory.hash.begin(seed);
    memory.stored.begin(seed);
    memory.packer.begin();
  }
  void operator()(void const* run, std::size_t bytes) {
    raw_ += bytes;
    if (error_ != 0) return;
    memory_.hash.add(run, bytes);
    if (!packs_) {
      if (bytes > io_memory::size - used_) flush();
      if (bytes >= io_memory::size) return put(run, bytes);
    }
    for (auto const* from = static_cast<char const*>(run); bytes > 0;) {
      if (used_ == io_memory::size) flush();
      std::size_t const part = (std::min)(bytes, io_memory::size - used_);
      std::memcpy(memory_.bytes.get() + used_, from, part);
      from += part, used_ += part, bytes -= part;
    }
  }
  /// Bytes in the file, its head too.
  [[nodiscard]] std::uint64_t written() const noexcept { return at_; }
  /// Writes what is left, and then the head. Returns 0, or the number of the system's error.
  [[nodiscard]] int finish(file_head head) {
    flush();
    head.codec = packs_ ? 1 : 0;
    head.raw = raw_;
    head.stored = at_ - begin_ - sizeof head;
    head.raw_hash = memory_.hash.value();
    head.stored_hash = packs_ ? memory_.stored.value() : head.raw_hash;
    head.seal();
    if (error_ == 0 && packs_) error_ = at_least(file_, begin_ + sizeof head + raw_);
    if (error_ == 0) error_ = write_at(file_, &head, sizeof head, begin_);
    return error_;
  }

 private:
  void put(void const* from, std::size_t bytes) noexcept {
    if (error_ == 0) error_ = write_at(file_, from, bytes, at_);
    at_ += bytes;
  }
  void flush() noexcept {
    if (packs_ && used_ > 0 && error_ == 0) {
      std::size_t const size = memory_.packer.pack(memory_.bytes.get(), used_);
      memory_.stored.add(memory_.packer.packed(), size);
      put(memory_.packer.packed(), size);
    } else put(memory_.bytes.get(), used_);
    used_ = 0;
  }
  int file_;
  io_memory& memory_;
  bool packs_;
  std::size_t used_ = 0;
  std::uint64_t begin_, at_, raw_ = 0;
  int error_ = 0;
};

/// A source for `read_state`: the bytes of a file behind its head. All of them are hashed before it gives one: whoever
/// reads a state, which may be the user's own function, sees only what was written.
class file_reader {
 public:
  /// \param head  of this file, sound, and no longer than the file   \param begin  its place
  file_reader(int file, io_memory& memory, file_head const& head, std::uint64_t begin = 0) noexcept
      : file_{file}, memory_{memory}, head_{head}, left_{head.raw}, unread_{head.stored},
        at_{begin + sizeof(file_head)}, packed_{head.codec != 0} {}
  /// Reads all bytes once; their values are read again if they are packed, or do not fit into the memory. Returns
  /// whether they are those that were written.
  [[nodiscard]] bool unchanged() noexcept {
    memory_.hash.begin(head_.step);
    for (std::uint64_t at = 0; at < head_.stored; at += have_) {
      have_ = std::size_t((std::min)(std::uint64_t{io_memory::size}, head_.stored - at));
      if (read_at(file_, memory_.bytes.get(), have_, at_ + at) != 0) return false;
      memory_.hash.add(memory_.bytes.get(), have_);
    }
    if (memory_.hash.value() != head_.stored_hash) return false;
    if (!packed_ && head_.stored <= io_memory::size) unread_ = 0;
    else have_ = 0;
    memory_.hash.begin(head_.step);
    return true;
  }
  /// \throws invalid_bytes   if the file ends, or cannot be read or unpacked
  void operator()(void* run, std::size_t bytes) {
    if (bytes > left_) fail(EIO);
    auto* into = static_cast<char*>(run);
    for (std::size_t rest = bytes; rest > 0;) {
      if (next_ == have_ && !packed_ && rest >= io_memory::size) {
        read(into, rest);
        break;
      }
      if (next_ == have_) fill();
      std::size_t const part = (std::min)(rest, have_ - next_);
      std::memcpy(into, memory_.bytes.get() + next_, part);
      into += part, next_ += part, rest -= part, unpacked_ += part;
    }
    left_ -= bytes;
    memory_.hash.add(run, bytes);
  }
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }
  /// Whether all bytes were read, and nobody has changed the file meanwhile.
  [[nodiscard]] bool right() const noexcept { return memory_.hash.value() == head_.raw_hash && unread_ == 0; }

 private:
  [[noreturn]] static void fail(int number) {
    throw invalid_bytes{"cairn::disk",
                        said_by_system("a file of a checkpoint cannot be read to its end", number).c_str(),
                        {{"error", number}},
                        words_of_system(number).advice};
  }
  static void check(int number) {
    if (number != 0) fail(number);
  }
  void read(char* into, std::size_t bytes) {
    if (bytes > unread_) fail(EIO);
    check(read_at(file_, into, bytes, at_));
    at_ += bytes, unread_ -= bytes;
  }
  /// The next bytes of the content.
  void fill() {
    char* const bytes = memory_.bytes.get();
    next_ = 0;
    if (!packed_) return read(bytes, have_ = std::size_t((std::min)(std::uint64_t{io_memory::size}, unread_)));
    block_packer& packer = memory_.packer;
    packer.prepare(*codec_1);
    read(packer.packed(), block_packer::head);
    if (packer.length() > block_packer::block) fail(EIO);
    read(packer.packed() + block_packer::head, packer.length());
    have_ = std::size_t((std::min)(std::uint64_t{io_memory::size}, head_.raw - unpacked_));
    if (!packer.unpack(bytes, have_)) fail(EIO);
  }
  int file_;
  io_memory& memory_;
  file_head head_;
  std::uint64_t left_, unread_, unpacked_ = 0, at_;
  bool packed_;
  std::size_t have_ = 0, next_ = 0;
};

/// What was read back from a file is not what was written, and the file is whole: reading and writing do not fit.
/// \param what  it is   \param i  the number of the state that it belongs to
[[noreturn]] inline void refuse_loss(char const* what, std::int64_t i) {
  throw invalid_call{"cairn::disk", what, {{"state", i}},
                     "its write_state and read_state lose something that visit_buffers shows; "
                     "a run on disk stores nothing with loss"};
}
/// Writes a value, and behind it its hash.
template <class T, class Sink>
void write_exactly(T const& x, Sink& sink) {
  write_state(x, sink);
  write_state(hash_of(x), sink);
}
/// Reads it.   \throws invalid_call   if it does not have that hash
template <class T, class Source>
void read_exactly(T& x, Source& source, char const* what, std::int64_t i) {
  read_state(x, source);
  std::uint64_t hash = 0;
  read_state(hash, source);
  if (hash != hash_of(std::as_const(x))) refuse_loss(what, i);
}

/// What a file says that it is; not sound if it is not one of ours, is another kind or another run's, stands in the
/// place of another slot, or is shorter than it says.
/// \param unread  whether the system has not read it, so that nothing is known   \param begin  its place
[[nodiscard]] inline file_head head_of(descriptor const& file, file_kind kind, std::uint32_t slot, run_id const& run,
                                       std::uint64_t steps, bool* unread = nullptr, std::uint64_t begin = 0) noexcept {
  file_head head, none;  // not sound
  struct stat now {};
  if (!file || ::fstat(file.get(), &now) != 0 || std::uint64_t(now.st_size) < begin + sizeof head) return none;
  if (read_at(file.get(), &head, sizeof head, begin) != 0) {
    if (unread != nullptr) *unread = true;
    return none;
  }
  if (!head.sound()) return none;
  bool const ours = head.kind == kind && head.slot == slot && head.run == run && head.steps == steps &&
                    head.fits(std::uint64_t(now.st_size) - begin) && head.step <= steps;
  return ours ? head : none;
}

}  // namespace cairn::detail
