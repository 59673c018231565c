// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file file_head.hpp  The first 128 bytes of a file with a checkpoint, a record or choices: what it is, and the hashes of
/// what follows.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <xxhash.h>
#include <cairn/adapt/disk/detail/packing.hpp>
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// XXH64 of runs of bytes.
class running_hash {
 public:
  running_hash() : state_{XXH64_createState()} {
    if (!state_) throw std::bad_alloc{};
  }
  void begin(std::uint64_t seed) noexcept { (void)XXH64_reset(state_.get(), seed); }
  void add(void const* run, std::size_t bytes) noexcept { (void)XXH64_update(state_.get(), run, bytes); }
  [[nodiscard]] std::uint64_t value() const noexcept { return XXH64_digest(state_.get()); }

 private:
  struct frees {
    void operator()(XXH64_state_t* state) const noexcept { (void)XXH64_freeState(state); }
  };
  std::unique_ptr<XXH64_state_t, frees> state_;
};

/// By which a loop is known in every process: a hash of all that decides its gradient, as far as that can be seen.
struct run_id {
  std::uint64_t words[2] = {};
  [[nodiscard]] friend bool operator==(run_id const& a, run_id const& b) noexcept {
    return a.words[0] == b.words[0] && a.words[1] == b.words[1];
  }
};

/// The name of a run's folder.
[[nodiscard]] inline std::array<char, 33> name_text(run_id const& run) noexcept {
  std::array<char, 33> text{};
  (void)std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(run.words[0]),
                      static_cast<unsigned long long>(run.words[1]));
  return text;
}
[[nodiscard]] inline std::string name_of(run_id const& run) { return name_text(run).data(); }
/// A sink of `write_state` that hashes to 128 bits.
class id_sum {
 public:
  id_sum() { begin(); }
  void begin() noexcept {
    first_.begin(0);
    second_.begin(0x9e3779b97f4a7c15u);
    bytes_ = 0;
  }
  void operator()(void const* run, std::size_t bytes) noexcept {
    first_.add(run, bytes);
    second_.add(run, bytes);
    bytes_ += bytes;
  }
  /// Of what was added.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  template <class T>
  void number(T value) noexcept { (*this)(&value, sizeof value); }
  [[nodiscard]] run_id value() const noexcept { return {{first_.value(), second_.value()}}; }

 private:
  running_hash first_, second_;
  std::uint64_t bytes_ = 0;
};

/// A flag of checkpoints: made before the arithmetic of its process was known to be that of the one before it.
inline constexpr std::uint16_t unproven = 1;
enum class file_kind : std::uint8_t { checkpoint = 1, record = 2, choices = 3, name = 4 };

/// All numbers as in this kind of machine; `endian` tells others apart.
struct file_head {
  unsigned char magic[8] = {0x89, 'C', 'R', 'N', '\r', '\n', 0x1a, '\n'};  // shows damage by transfers as text
  std::uint16_t version = 2, revision = 0;
  std::uint32_t endian = 0x01020304;
  file_kind kind = file_kind::checkpoint;
  std::uint8_t codec = 0;           ///< 0: the content as it is; 1: blocks of zstd
  std::uint16_t flags = 0;          ///< `unproven`
  std::uint32_t slot = 0;           ///< low 32 bits: a file in another one's place is refused
  std::uint64_t state_hash = 0;     ///< of the state `step`, by cairn's own hash; 0 if it is not known
  run_id run;
  std::uint64_t steps = 0;          ///< of the loop
  std::uint64_t step = 0;           ///< number of the state; of a record: steps [0, step) are left
  /// Of records: the later one counts; of choices: raw_hash of the part before; of checkpoints: the hash of a state
  /// before `step` that a replay check compares, as `replay_ledger::before` says which; 0 if it is not known.
  std::uint64_t sequence = 0;
  std::uint64_t raw = 0;            ///< bytes of content
  std::uint64_t stored = 0;         ///< bytes in the file behind this head
  std::uint64_t raw_hash = 0;       ///< XXH64 of the content, with the number of the state as its seed
  std::uint64_t stored_hash = 0;    ///< the same of the bytes in the file
  std::uint64_t owner = 0;          ///< the process that wrote it
  std::uint64_t reserved = 0;
  std::uint64_t self = 0;           ///< XXH64 of all of the above

  /// Whether a file of so many bytes can hold the content. No file is shorter than its content before it was packed, so
  /// that no content takes more memory than its file has bytes.
  [[nodiscard]] bool fits(std::uint64_t size) const noexcept {
    if (size < sizeof(file_head) || stored > size - sizeof(file_head)) return false;
    if (codec == 0) return raw == stored;
    return kind == file_kind::checkpoint && raw <= size - sizeof(file_head) && stored <= block_packer::most(raw);
  }
  void seal() noexcept { self = XXH64(this, offsetof(file_head, self), 0); }
  /// Whether these are the bytes of a head that this version wrote on this kind of machine, with content that this
  /// program can read.
  [[nodiscard]] bool sound() const noexcept {
    file_head const fresh;
    return std::memcmp(magic, fresh.magic, sizeof magic) == 0 && version == fresh.version && endian == fresh.endian &&
           (codec == 0 || (codec == 1 && codec_1 != nullptr)) && self == XXH64(this, offsetof(file_head, self), 0);
  }
  /// Whether it is not sound here, but may be so to another version or on another kind of machine.
  [[nodiscard]] bool of_others() const noexcept {
    file_head const fresh;
    if (std::memcmp(magic, fresh.magic, sizeof magic) != 0 || sound()) return false;
    return version != fresh.version || endian != fresh.endian || self == XXH64(this, offsetof(file_head, self), 0);
  }
};
static_assert(sizeof(file_head) == 128 && offsetof(file_head, self) == 120);

}  // namespace cairn::detail
