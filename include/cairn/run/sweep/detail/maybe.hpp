// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file maybe.hpp  How a sweep or a workspace holds values of the caller's types: one that may be missing, one that a
/// move can always replace, and memory for many.
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/table.hpp>

namespace cairn::detail {

/// Holds a T or nothing, as std::optional does. Each type that std::optional is made for costs a compiler some thirty
/// functions and classes, and every program has cursors and adjoints of its own.
template <class T>
class maybe {
 public:
  maybe() noexcept : nothing_{} {}
  maybe(maybe&& other) noexcept(std::is_nothrow_constructible_v<T, T>) : nothing_{} {
    if (other.there_) make(static_cast<T&&>(other.value_));
  }
  maybe& operator=(maybe&& other) {
    if (other.there_) return *this = static_cast<T&&>(other.value_);
    reset();
    return *this;
  }
  /// Assigns to the value that is there, so that its memory can be used again. No other type is taken: a T such as
  /// `any_schedule` is made from anything that looks like one.
  template <class From>
    requires std::is_same_v<std::remove_cvref_t<From>, T>
  maybe& operator=(From&& value) {
    if (there_) value_ = static_cast<From&&>(value);
    else make(static_cast<From&&>(value));
    return *this;
  }
  ~maybe() { reset(); }

  /// Makes a new value; the old one is destroyed first.
  template <class From>
  void emplace(From&& from) {
    reset();
    make(static_cast<From&&>(from));
  }
  void reset() noexcept {
    if (!there_) return;
    there_ = false;
    value_.~T();
  }
  /// \pre there is a value
  [[nodiscard]] T& operator*() noexcept { return value_; }
  [[nodiscard]] T const& operator*() const noexcept { return value_; }

 private:
  template <class From>
  void make(From&& from) {
    ::new (static_cast<void*>(address_of(value_))) T(static_cast<From&&>(from));
    there_ = true;
  }

  union {
    char nothing_;
    T value_;
  };
  bool there_ = false;
};

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

/// Memory for a number of objects that are constructed and destroyed one by one.
template <class T>
class raw_array {
 public:
  raw_array() = default;
  explicit raw_array(std::size_t size) : data_{size > 0 ? allocate(size) : nullptr} {}
  raw_array(raw_array&& other) noexcept { std::swap(data_, other.data_); }
  raw_array& operator=(raw_array&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~raw_array() {
    if (data_ == nullptr) return;
    if constexpr (over_aligned) ::operator delete(data_, std::align_val_t{alignof(T)});
    else ::operator delete(data_);
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
