// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file table.hpp  Plain values on the heap, a fixed number or a growing one: the only containers of cursors and
/// executors. And who is at fault where their memory is refused.
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/language.hpp>

namespace cairn::detail {

/// What fails from this size on is the fault of a plan, and is said in its terms; below it is std::bad_alloc.
inline constexpr std::size_t large_bytes = SIZE_MAX > 0xffff'ffffu ? std::size_t{0xffff'ffffu} : SIZE_MAX / 2;

/// \throws out_of_memory
template <class Allocate>
[[gnu::cold, gnu::noinline]] auto allocated_large(std::size_t entries, std::size_t size, Allocate allocate) {
  try {
    return allocate();
  } catch (std::bad_alloc const&) {
    throw out_of_memory{"cairn: a plan",
                        "there is no memory for so many slots",
                        {{"entries", entries}, {"bytes", wide(entries) * size}},
                        "give fewer slots, or a budget to cairn::plan_within"};
  }
}
/// Returns allocate(), which makes that many entries of `size` bytes.
/// \throws out_of_memory   if it fails for `large_bytes` or more
template <class Allocate>
[[nodiscard]] constexpr auto allocated(std::size_t entries, std::size_t size, Allocate allocate) {
  return entries < large_bytes / size ? allocate() : allocated_large(entries, size, allocate);
}

/// How many entries a table has for `count` >= 0. A count that exceeds std::size_t, as on 32-bit machines, gives
/// SIZE_MAX, for which an allocation fails.
[[nodiscard]] constexpr std::size_t entries_for(std::int64_t count) noexcept {
  return std::uint64_t(count) > std::uint64_t{SIZE_MAX} ? SIZE_MAX : std::size_t(count);
}

/// Holds `size()` values. Allocates exactly that much memory, so that plans can count it, and keeps it if a smaller or
/// equal size is assigned, so that a warm sweep allocates nothing. Usable in constant expressions.
template <class T>
class table {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  constexpr table() = default;
  /// `size` value-initialised elements.
  constexpr explicit table(std::size_t size) { assign(size, T{}); }
  constexpr table(table const& other) { *this = other; }
  constexpr table(table&& other) noexcept { *this = std::move(other); }
  constexpr table& operator=(table const& other) {
    if (this == &other) return *this;
    resize_for_overwrite(other.size_);
    for (std::size_t k = 0; k < size_; ++k) data_[k] = other.data_[k];
    return *this;
  }
  constexpr table& operator=(table&& other) noexcept {
    std::swap(data_, other.data_), std::swap(size_, other.size_), std::swap(capacity_, other.capacity_);
    return *this;
  }
  constexpr ~table() { delete[] data_; }

  /// `size` copies of `value`. If it throws for want of memory, the table is empty.
  constexpr void assign(std::size_t size, T const& value) {
    resize_for_overwrite(size);
    for (std::size_t k = 0; k < size; ++k) data_[k] = value;
  }
  /// `size` elements, to be written before they are read: those of new memory have no value.
  constexpr void resize_for_overwrite(std::size_t size) {
    if (size > capacity_) allocate(size);
    size_ = size;
  }
  /// By any integer: numbers of slots are signed.
  [[nodiscard]] constexpr T& operator[](auto k) noexcept { return data_[std::size_t(k)]; }
  [[nodiscard]] constexpr T const& operator[](auto k) const noexcept { return data_[std::size_t(k)]; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr T* begin() noexcept { return data_; }
  [[nodiscard]] constexpr T* end() noexcept { return data_ + size_; }
  [[nodiscard]] constexpr T const* begin() const noexcept { return data_; }
  [[nodiscard]] constexpr T const* end() const noexcept { return data_ + size_; }

 private:
  /// New memory is not set, so that a page of it is not touched before it is used. Frees the old memory first: two
  /// tables at once would exceed what a plan has counted.
  constexpr void allocate(std::size_t size) {
    delete[] data_;
    data_ = nullptr;
    size_ = capacity_ = 0;
    data_ = allocated(size, sizeof(T), [=] { return std::is_constant_evaluated() ? new T[size]{} : new T[size]; });
    size_ = capacity_ = size;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Entries that start as 0. The table begins with the requested size; each time it grows it adds a block as long as all
/// entries so far, so that two copies never exist at once. Blocks are kept for the next `begin` with `may_grow`.
class growing_table {
 public:
  growing_table() = default;
  growing_table(growing_table&& other) noexcept { *this = std::move(other); }
  growing_table& operator=(growing_table&& other) noexcept {
    std::swap(first_, other.first_), std::swap(more_, other.more_);
    std::swap(blocks_, other.blocks_), std::swap(size_, other.size_);
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

  table<std::uint64_t> first_;
  std::uint64_t* more_[most_blocks] = {};  // block k begins at entry first_.size() * 2^k and has as many entries
  std::size_t blocks_ = 0, size_ = 0;
};

}  // namespace cairn::detail
