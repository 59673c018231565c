// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file lesser.hpp  The lesser and the greater of two numbers, without the header of algorithms: it costs a compiler
/// as much as all of core.

namespace cairn::detail {

template <class T>
[[nodiscard]] constexpr T lesser(T a, T b) noexcept { return b < a ? b : a; }
template <class T>
[[nodiscard]] constexpr T greater(T a, T b) noexcept { return a < b ? b : a; }

}  // namespace cairn::detail
