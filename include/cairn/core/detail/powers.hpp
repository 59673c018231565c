// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file powers.hpp  Compiler builtins in place of the header cmath, which costs more to compile than all of core.

namespace cairn::detail {

/// Like std::sqrt.
[[nodiscard]] inline double square_root(double x) noexcept { return __builtin_sqrt(x); }

/// Like std::pow.
[[nodiscard]] inline double power(double base, double exponent) noexcept { return __builtin_pow(base, exponent); }

}  // namespace cairn::detail
