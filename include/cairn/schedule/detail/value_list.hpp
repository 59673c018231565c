// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file value_list.hpp  A growing list of plain values, and a stable sort; quick to compile.
#include <cassert>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

namespace cairn::detail {

/// Memory for values of any type. Growth is implemented here once for all types.
class value_memory {
 public:
  value_memory() = default;
  value_memory(value_memory const&) = delete;
  value_memory(value_memory&& other) noexcept { swap(other); }
  value_memory& operator=(value_memory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~value_memory() { ::operator delete(at_); }

  [[nodiscard]] void* at() const noexcept { return at_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// Makes room for `count` values; the first `used` stay.   \throws std::bad_alloc   \pre count > capacity()
  [[gnu::noinline]] void grow(std::size_t count, std::size_t used, std::size_t value_bytes) {
    if (count > ~std::size_t{0} / 2 / value_bytes) throw std::bad_alloc{};
    void* const next = ::operator new(count * value_bytes);
    if (used > 0) std::memcpy(next, at_, used * value_bytes);
    ::operator delete(std::exchange(at_, next));
    capacity_ = count;
  }

 private:
  void swap(value_memory& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(capacity_, other.capacity_);
  }

  void* at_ = nullptr;
  std::size_t capacity_ = 0;
};

/// The parts of std::vector that planners need, in a quarter of its compile time: planners have lists of about thirty
/// types.
template <class T>
class value_list {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

 public:
  using value_type = T;

  value_list() = default;
  explicit value_list(std::size_t size, T const& value = T{}) { resize(size, value); }
  value_list(std::initializer_list<T> values) { append(values.begin(), values.size()); }
  value_list(T const* values, std::size_t count) { append(values, count); }
  value_list(value_list const& other) { append(other.data(), other.size()); }
  value_list(value_list&& other) noexcept : memory_{std::move(other.memory_)}, size_{std::exchange(other.size_, 0)} {}
  value_list& operator=(value_list const& other) {
    if (this != &other) {
      size_ = 0;
      append(other.data(), other.size());
    }
    return *this;
  }
  value_list& operator=(value_list&& other) noexcept {
    memory_ = std::move(other.memory_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~value_list() = default;

  [[nodiscard]] T* data() noexcept { return static_cast<T*>(memory_.at()); }
  [[nodiscard]] T const* data() const noexcept { return static_cast<T const*>(memory_.at()); }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size_; }
  [[nodiscard]] T const* begin() const noexcept { return data(); }
  [[nodiscard]] T const* end() const noexcept { return data() + size_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return memory_.capacity(); }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T& operator[](std::size_t k) noexcept {
    check(k < size_);
    return data()[k];
  }
  [[nodiscard]] T const& operator[](std::size_t k) const noexcept {
    check(k < size_);
    return data()[k];
  }
  [[nodiscard]] T& back() noexcept { return (*this)[size_ - 1]; }
  [[nodiscard]] T const& back() const noexcept { return (*this)[size_ - 1]; }

  void clear() noexcept { size_ = 0; }
  void reserve(std::size_t count) {
    if (count > capacity()) memory_.grow(count, size_, sizeof(T));
  }
  [[gnu::noinline]] void resize(std::size_t size, T const& value = T{}) {
    T const copy = value;
    reserve(size);
    for (; size_ < size; ++size_) data()[size_] = copy;
    size_ = size;
  }
  void assign(std::size_t size, T const& value) {
    size_ = 0;
    resize(size, value);
  }
  void assign(T const* first, T const* last) {
    size_ = 0;
    append(first, std::size_t(last - first));
  }
  void push_back(T const& value) {
    if (size_ == capacity()) return push_grown(value);
    data()[size_++] = value;
  }
  void pop_back() noexcept {
    check(size_ > 0);
    --size_;
  }
  /// Inserts a value before `place`; later values move up by one. Returns its new place.
  T* insert(T const* place, T const& value) {
    T const copy = value;
    std::size_t const k = std::size_t(place - data()), moved = size_ - k;
    push_back(copy);
    std::memmove(static_cast<void*>(data() + k + 1), data() + k, moved * sizeof(T));
    data()[k] = copy;
    return data() + k;
  }
  [[gnu::noinline]] void append(T const* values, std::size_t count) {
    reserve(size_ + count);
    if (count > 0) std::memcpy(static_cast<void*>(data() + size_), values, count * sizeof(T));
    size_ += count;
  }
  template <class Is>
  void remove_if(Is const& is) {
    std::size_t left = 0;
    for (std::size_t k = 0; k < size_; ++k)
      if (!is(data()[k])) data()[left++] = data()[k];
    size_ = left;
  }
  /// Keeps the first of each run of equal values.
  void remove_repeated() {
    std::size_t left = 0;
    for (std::size_t k = 0; k < size_; ++k)
      if (k == 0 || !(data()[k] == data()[left - 1])) data()[left++] = data()[k];
    size_ = left;
  }

 private:
  /// Checks a range in builds in which std::vector does.
  static void check([[maybe_unused]] bool in_range) noexcept {
#ifdef _GLIBCXX_ASSERTIONS
    assert(in_range);
#endif
  }
  /// \param value  may be an element of the list
  [[gnu::noinline]] void push_grown(T const value) {
    memory_.grow(size_ < 4 ? 8 : 2 * size_, size_, sizeof(T));
    data()[size_++] = value;
  }

  value_memory memory_;
  std::size_t size_ = 0;
};

/// Sorts by `less`; equivalent values keep their order. Merges runs of 1, 2, 4, ..., because a standard sort takes six
/// times as long to compile.   Cost: O(n log n), and as much memory again
template <class T, class Less>
void sort_values(value_list<T>& values, Less const& less) {
  std::size_t const size = values.size();
  value_list<T> other = values;
  T *from = values.data(), *into = other.data();
  for (std::size_t run = 1; run < size; run *= 2) {
    for (std::size_t begin = 0; begin < size; begin += 2 * run) {
      std::size_t const middle = begin + run;  // at most `end` if a second run is there
      std::size_t const end = size - begin < 2 * run ? size : begin + 2 * run;
      std::size_t left = begin, right = middle;
      for (std::size_t k = begin; k < end; ++k)
        into[k] = left == middle || (right < end && less(from[right], from[left])) ? from[right++] : from[left++];
    }
    std::swap(from, into);
  }
  if (from != values.data()) values = std::move(other);
}

}  // namespace cairn::detail
