// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kept_as.hpp  How a callable that was given is kept.
#include <type_traits>
#include <utility>

namespace cairn::detail {

/// An lvalue is kept as a reference, so that whatever the callable sums or counts is the caller's; an rvalue as a
/// value. A class without members has nothing that a copy could miss, and a function is kept as a pointer.
template <class F>
using kept_as =
    std::conditional_t<std::is_function_v<std::remove_reference_t<F>>, std::decay_t<F>,
                       std::conditional_t<std::is_lvalue_reference_v<F> && !std::is_empty_v<std::remove_reference_t<F>>,
                                          F, std::remove_cvref_t<F>>>;

/// A callable that is kept, to be called also through a const object: a const pair of mutable lambdas works.
template <class F>
class kept_callable {
 public:
  template <class From>
    requires std::is_same_v<std::decay_t<From>, F>
  constexpr kept_callable(From&& f) : f_{std::forward<From>(f)} {}
  [[nodiscard]] constexpr F& operator*() const noexcept { return f_; }

 private:
  mutable F f_;
};
template <class F>
class kept_callable<F&> {
 public:
  constexpr kept_callable(F& f) noexcept : f_{f} {}
  [[nodiscard]] constexpr F& operator*() const noexcept { return f_; }

 private:
  F& f_;
};

}  // namespace cairn::detail
