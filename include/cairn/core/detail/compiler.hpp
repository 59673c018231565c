// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file compiler.hpp  Compiler builtins in place of functions of the standard library whose headers cost more to
/// compile than all of core: for addresses, bits and floating-point numbers.
#include <cstdint>

namespace cairn::detail {

/// Like std::sqrt.
[[nodiscard]] inline double square_root(double x) noexcept { return __builtin_sqrt(x); }

/// Like std::pow.
[[nodiscard]] inline double power(double base, double exponent) noexcept { return __builtin_pow(base, exponent); }

template <class T>
[[nodiscard]] constexpr T lesser(T a, T b) noexcept { return b < a ? b : a; }
template <class T>
[[nodiscard]] constexpr T greater(T a, T b) noexcept { return a < b ? b : a; }

/// Like std::addressof: the address of a user's object, even if its type overloads `&`.
template <class T>
[[nodiscard]] constexpr T* address_of(T& x) noexcept { return __builtin_addressof(x); }

/// Like std::countl_zero. \pre x > 0
[[nodiscard]] constexpr int leading_zeros(std::uint64_t x) noexcept { return __builtin_clzll(x); }

/// Like std::numeric_limits<double>::quiet_NaN().
[[nodiscard]] constexpr double quiet_nan() noexcept { return __builtin_nan(""); }

}  // namespace cairn::detail
