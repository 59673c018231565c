// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file reseated.hpp  Members that can be assigned although their types cannot.
#include <new>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/compiler.hpp>

namespace cairn::detail {

/// A value that can be assigned by a move, also a lambda: the old value is destroyed, and the new one is made in its
/// place. Not if a move might throw in between.
template <class T>
class reseated {
 public:
  template <class... Args>
    requires std::is_constructible_v<T, Args...>
  explicit reseated(std::in_place_t, Args&&... args) : value_{std::forward<Args>(args)...} {}
  reseated(reseated&&) = default;
  reseated& operator=(reseated&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
    requires(std::is_move_assignable_v<T> || std::is_nothrow_move_constructible_v<T>)
  {
    if (this == &other) return *this;
    if constexpr (std::is_nothrow_move_constructible_v<T>) {
      value_.~T();
      ::new (static_cast<void*>(address_of(value_))) T(std::move(other.value_));
    } else value_ = std::move(other.value_);
    return *this;
  }
  [[nodiscard]] T& operator*() noexcept { return value_; }
  [[nodiscard]] T const& operator*() const noexcept { return value_; }
  [[nodiscard]] T* operator->() noexcept { return address_of(value_); }
  [[nodiscard]] T const* operator->() const noexcept { return address_of(value_); }

 private:
  T value_;
};
/// A reference that can be assigned: it refers to another object then.
template <class T>
class reseated<T&> {
 public:
  explicit reseated(std::in_place_t, T& to) noexcept : to_{address_of(to)} {}
  [[nodiscard]] T& operator*() const noexcept { return *to_; }
  [[nodiscard]] T* operator->() const noexcept { return to_; }

 private:
  T* to_;
};

/// A mark that is moved, not copied, by a move.
class moving_mark {
 public:
  explicit moving_mark(bool set) noexcept : is_{set} {}
  moving_mark(moving_mark&& other) noexcept : is_{std::exchange(other.is_, false)} {}
  moving_mark& operator=(moving_mark&& other) noexcept {
    is_ = std::exchange(other.is_, false);
    return *this;
  }
  void set(bool to) noexcept { is_ = to; }
  [[nodiscard]] explicit operator bool() const noexcept { return is_; }

 private:
  bool is_;
};

}  // namespace cairn::detail
