// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file raw_array.hpp  Memory for objects that are constructed and destroyed one by one.
#include <cstddef>
#include <new>
#include <cairn/core/detail/table.hpp>

namespace cairn::detail {

/// Memory for a number of objects that are constructed and destroyed one by one.
template <class T>
class raw_array {
 public:
  raw_array() = default;
  explicit raw_array(std::size_t size) : data_{size > 0 ? allocate(size) : nullptr} {}
  raw_array(raw_array&& other) noexcept : data_{other.data_} { other.data_ = nullptr; }
  raw_array& operator=(raw_array&& other) noexcept {
    T* const data = data_;
    data_ = other.data_;
    other.data_ = data;
    return *this;
  }
  ~raw_array() {
    if (data_ == nullptr) return;
    if constexpr (over_aligned) ::operator delete(static_cast<void*>(data_), std::align_val_t{alignof(T)});
    else ::operator delete(static_cast<void*>(data_));
  }
  [[nodiscard]] T* get() const noexcept { return data_; }

 private:
  static constexpr bool over_aligned = alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  static T* allocate(std::size_t size) {
    return allocated(size, sizeof(T), [=] {
      if (size > std::size_t{PTRDIFF_MAX} / sizeof(T)) throw std::bad_array_new_length{};
      if constexpr (over_aligned)
        return static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{alignof(T)}));
      else return static_cast<T*>(::operator new(size * sizeof(T)));
    });
  }
  T* data_ = nullptr;
};

}  // namespace cairn::detail
