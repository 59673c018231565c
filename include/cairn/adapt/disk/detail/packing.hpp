// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file packing.hpp  Content of files in compressed blocks, each of them by itself, in memory of fixed size.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace cairn::detail {

/// Compresses single blocks. It keeps nothing from one call to the next.
struct block_codec {
  /// Bytes of memory that its calls work in.
  std::size_t (*memory)() noexcept;
  /// Packs `bytes` at `from` into less than as many at `into`. Returns how many, or 0 if it cannot.
  std::size_t (*pack)(void* memory, char* into, char const* from, std::size_t bytes) noexcept;
  /// Whether the `stored` bytes at `from` become exactly `bytes` at `into`. They may be any.
  bool (*unpack)(void* memory, char* into, std::size_t bytes, char const* from, std::size_t stored) noexcept;
};

/// Reads files of codec 1; there is one in programs that include <cairn/adapt/zstd.hpp>.
inline block_codec const* codec_1 = nullptr;

/// Packs blocks. Bytes of equal rank in runs of 8 are packed side by side where that is smaller: those of signs and
/// exponents, which differ little, are not between those of mantissas. That serves elements of 4 bytes, too, whose even
/// and odd ones are then apart. It is tried for each sixteenth block, because a sink is not told what the elements are.
/// A block is 4 bytes, its length and the width of its elements, and what these say; width 0 is the block as it is.
class block_packer {
 public:
  static constexpr std::size_t block = 65'536, head = 4;

  /// Bytes that `raw` bytes of content take at most.
  [[nodiscard]] static constexpr std::uint64_t most(std::uint64_t raw) noexcept {
    return raw + (raw + block - 1) / block * head;
  }
  /// Bytes of memory that it takes for a codec.
  [[nodiscard]] static std::size_t memory_bytes(block_codec const* codec) noexcept {
    return codec == nullptr ? 0 : rounded(codec->memory()) + block + head + block;
  }
  [[nodiscard]] std::size_t held() const noexcept { return memory_ ? memory_bytes(codec_) : 0; }
  [[nodiscard]] block_codec const& codec() const noexcept { return *codec_; }  ///< \pre it was prepared
  /// Takes its memory, if it has none.
  void prepare(block_codec const& codec) {
    if (memory_) return;
    memory_.reset(new char[memory_bytes(&codec)]);
    codec_ = &codec;
    shuffled_ = memory_.get() + rounded(codec.memory());
  }
  /// A file begins: what it holds depends on nothing before it.
  void begin() noexcept { packed_ = 0; }
  /// A packed block, or one that is to be unpacked.
  [[nodiscard]] char* packed() const noexcept { return shuffled_ + block; }
  /// Packs a block. Returns the bytes of the packed one.
  [[nodiscard]] std::size_t pack(char const* from, std::size_t bytes) noexcept {
    std::size_t size = 0;
    if (packed_++ % 16 == 0) {
      std::size_t const plain = packed_by(1, from, bytes);
      size = packed_by(8, from, bytes);
      width_ = size > 0 && (plain == 0 || size <= plain) ? 8 : plain > 0 ? 1 : 0;
      if (width_ != 8) size = packed_by(width_, from, bytes);
    } else size = packed_by(width_, from, bytes);
    std::uint8_t const width = size > 0 ? width_ : std::uint8_t{0};
    if (size == 0) std::memcpy(packed() + head, from, size = bytes);
    std::uint32_t const first = std::uint32_t(size) | std::uint32_t{width} << 24;
    std::memcpy(packed(), &first, head);
    return head + size;
  }
  /// Bytes behind the head of a block, as it says.
  [[nodiscard]] std::size_t length() const noexcept { return first() & 0xffffff; }
  /// Unpacks a block that has no more bytes than a block. Returns whether it has as many as it should.
  [[nodiscard]] bool unpack(char* into, std::size_t bytes) const noexcept {
    std::size_t const width = first() >> 24, size = length();
    char const* const from = packed() + head;
    if (width == 0) {
      if (size != bytes) return false;
      std::memcpy(into, from, bytes);
      return true;
    }
    if (width == 1) return codec_->unpack(memory_.get(), into, bytes, from, size);
    if (width != 8 || !codec_->unpack(memory_.get(), shuffled_, bytes, from, size)) return false;
    std::size_t const count = bytes / 8;
    for (std::size_t rank = 0; rank < 8; ++rank)
      for (std::size_t k = 0; k < count; ++k) into[k * 8 + rank] = shuffled_[rank * count + k];
    std::memcpy(into + count * 8, shuffled_ + count * 8, bytes % 8);
    return true;
  }

 private:
  [[nodiscard]] static constexpr std::size_t rounded(std::size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }
  [[nodiscard]] std::uint32_t first() const noexcept {
    std::uint32_t first = 0;
    std::memcpy(&first, packed(), head);
    return first;
  }
  /// Bytes of a block that is packed so, behind its head; 0 if these are not fewer.
  [[nodiscard]] std::size_t packed_by(std::uint8_t width, char const* from, std::size_t bytes) noexcept {
    if (width == 0) return 0;
    if (width == 8) {
      std::size_t const count = bytes / 8;
      for (std::size_t rank = 0; rank < 8; ++rank)
        for (std::size_t k = 0; k < count; ++k) shuffled_[rank * count + k] = from[k * 8 + rank];
      std::memcpy(shuffled_ + count * 8, from + count * 8, bytes % 8);
    }
    return codec_->pack(memory_.get(), packed() + head, width == 1 ? from : shuffled_, bytes);
  }

  block_codec const* codec_ = nullptr;
  std::unique_ptr<char[]> memory_;
  char* shuffled_ = nullptr;
  std::uint64_t packed_ = 0;  // blocks of this file
  std::uint8_t width_ = 0;
};

}  // namespace cairn::detail
