// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file growing_table.hpp  A table of numbers that grows without moving them.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/table.hpp>

namespace cairn::detail {

/// Entries that start as 0. The table begins with the requested size; each time it grows it adds a block as long as all
/// entries so far, so that two copies never exist at once. Blocks are kept for the next `begin` with `may_grow`.
class growing_table {
 public:
  growing_table() = default;
  growing_table(growing_table&& other) noexcept { swap(other); }
  growing_table& operator=(growing_table&& other) noexcept {
    swap(other);
    return *this;
  }
  ~growing_table() { end(); }

  /// `size` entries of 0; size may be 0.   \param may_grow  whether to keep the blocks of an earlier table
  void begin(std::size_t size, bool may_grow) {
    if (!may_grow) end();
    blocks_ = size_ = 0;
    first_.assign(size, 0);
    size_ = size;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// \pre k < size()
  [[nodiscard]] std::uint64_t& operator[](std::size_t k) noexcept {
    if (k < first_.size()) return first_[k];
    auto const block = 63 - std::size_t(leading_zeros(k / first_.size()));
    return more_[block][k - (first_.size() << block)];
  }
  /// Doubles the number of entries.   \pre size() > 0
  void grow() {
    std::uint64_t*& block = more_[blocks_];
    if (block == nullptr) block = new std::uint64_t[size_];
    for (std::size_t k = 0; k < size_; ++k) block[k] = 0;
    ++blocks_;
    size_ *= 2;
  }

 private:
  static constexpr std::size_t most_blocks = 64;

  void end() noexcept {
    for (auto& block : more_) {
      delete[] block;
      block = nullptr;
    }
  }
  void swap(growing_table& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(more_, other.more_);
    std::swap(blocks_, other.blocks_);
    std::swap(size_, other.size_);
  }

  table<std::uint64_t> first_;
  std::uint64_t* more_[most_blocks] = {};  // block k begins at entry first_.size() * 2^k and has as many entries
  std::size_t blocks_ = 0, size_ = 0;
};

}  // namespace cairn::detail
