// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kept_as.hpp  How a callable that was given is kept.
#include <type_traits>
#include <utility>

namespace cairn::detail {

/// An lvalue is kept as a reference, so that whatever the callable sums or counts is the caller's; an rvalue as a
/// value. A class without members has nothing that a copy could miss, and a function is kept as a pointer.
template <class Fn>
using kept_as = std::conditional_t<
    std::is_function_v<std::remove_reference_t<Fn>>, std::decay_t<Fn>,
    std::conditional_t<std::is_lvalue_reference_v<Fn> && !std::is_empty_v<std::remove_reference_t<Fn>>, Fn,
                       std::remove_cvref_t<Fn>>>;

/// A callable that is kept, to be called also through a const object: a const pair of mutable lambdas works.
template <class Fn>
class kept_callable {
 public:
  template <class From>
    requires std::is_same_v<std::decay_t<From>, Fn>
  constexpr kept_callable(From&& f) : f_{std::forward<From>(f)} {}
  [[nodiscard]] constexpr Fn& operator*() const noexcept { return f_; }

 private:
  mutable Fn f_;
};
template <class Fn>
class kept_callable<Fn&> {
 public:
  constexpr kept_callable(Fn& f) noexcept : f_{f} {}
  [[nodiscard]] constexpr Fn& operator*() const noexcept { return f_; }

 private:
  Fn& f_;
};

}  // namespace cairn::detail
