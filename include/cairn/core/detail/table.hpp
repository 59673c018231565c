// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file table.hpp  A fixed number of plain values on the heap: the only container of cursors and executors.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <cairn/core/detail/large_allocation.hpp>
#include <cairn/language.hpp>

namespace cairn::detail {

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
  constexpr explicit table(std::size_t size)
      : data_{size > 0 ? made(size) : nullptr}, size_{size}, capacity_{size} {}
  constexpr table(table const& other)
      : data_{other.size_ > 0 ? made(other.size_) : nullptr}, size_{other.size_}, capacity_{other.size_} {
    copy(other);
  }
  constexpr table(table&& other) noexcept
      : data_{other.data_}, size_{other.size_}, capacity_{other.capacity_} {
    other.data_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  constexpr table& operator=(table const& other) {
    if (this == &other) return *this;
    if (other.size_ > capacity_) allocate(other.size_);
    size_ = other.size_;
    copy(other);
    return *this;
  }
  constexpr table& operator=(table&& other) noexcept {
    T* const data = data_;
    std::size_t const size = size_, capacity = capacity_;
    data_ = other.data_, size_ = other.size_, capacity_ = other.capacity_;
    other.data_ = data, other.size_ = size, other.capacity_ = capacity;
    return *this;
  }
  constexpr ~table() { delete[] data_; }

  /// `size` copies of `value`. If it throws for want of memory, the table is empty.
  constexpr void assign(std::size_t size, T const& value) {
    if (size > capacity_) allocate(size);
    size_ = size;
    for (std::size_t k = 0; k < size; ++k) data_[k] = value;
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
  [[nodiscard]] static constexpr T* made(std::size_t size) {
    return allocated(size, sizeof(T), [=] { return new T[size]{}; });
  }
  /// Frees the old memory first: two tables at once would exceed what a plan has counted.
  constexpr void allocate(std::size_t size) {
    delete[] data_;
    data_ = nullptr;
    size_ = capacity_ = 0;
    data_ = made(size);
    size_ = capacity_ = size;
  }
  constexpr void copy(table const& other) noexcept {
    for (std::size_t k = 0; k < size_; ++k) data_[k] = other.data_[k];
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace cairn::detail
