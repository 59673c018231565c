// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file boxed.hpp  A place for one state, tape or adjoint of a chain.
#include <cstddef>
#include <utility>
#include <cairn/core/bytes_of.hpp>

namespace cairn::detail {

/// One object or none, separately on the heap: so a chain holds only what its plan keeps, and never memory for all its
/// states at once. The object is made in place and never copied or moved.
template <class T>
class boxed {
 public:
  boxed() = default;
  boxed(boxed&& other) noexcept : at_{std::exchange(other.at_, nullptr)} {}
  boxed& operator=(boxed&& other) noexcept {
    std::swap(at_, other.at_);
    return *this;
  }
  ~boxed() { reset(); }

  /// Holds the result of `make()`; destroys the old object first.
  template <class Make>
  void make(Make&& make) {
    reset();
    at_ = new T(make());
  }
  /// Takes over an object of `new`.   \pre empty
  void hold(T* made) noexcept { at_ = made; }
  /// The same in place of another.
  void replace(T* made) noexcept { delete std::exchange(at_, made); }
  void reset() noexcept { delete std::exchange(at_, nullptr); }
  [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }
  [[nodiscard]] T& operator*() const noexcept { return *at_; }
  /// Bytes of the object; 0 if there is none, and for a type whose bytes are unknown.
  [[nodiscard]] std::size_t bytes() const {
    if constexpr (sized_state<T>) return at_ != nullptr ? bytes_of(*at_) : 0;
    else return 0;
  }

 private:
  T* at_ = nullptr;
};

}  // namespace cairn::detail
