// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file behind_options.hpp  How far a store may be behind its sweep, and ahead of it.

namespace cairn {

/// How far a store may be behind its sweep, and ahead of it.
struct behind_options {
  int saves = 2;  ///< most states that are being written; each is held in memory
  int loads = 2;  ///< most states that are read before the sweep asks for them; each is held in memory
};

namespace detail {
[[nodiscard]] constexpr bool is_any(behind_options const& how) noexcept { return how.saves > 0 || how.loads > 0; }
/// Most states that they take.
[[nodiscard]] constexpr int states_behind(behind_options const& how) noexcept {
  return is_any(how) ? (how.saves > 1 ? how.saves : 1) + (how.loads > 1 ? how.loads : 1) + 1 : 0;
}
}  // namespace detail
}  // namespace cairn
