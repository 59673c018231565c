#pragma once
/// \file next_candidate.hpp  Numbers to try where there are too many to try them all.
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// The number after `at`: each up to `dense`, above it one in so many that `denominator` steps lead to about e times
/// the number. The largest number follows itself.
[[nodiscard]] constexpr step_index next_candidate(step_index at, step_index dense, step_index denominator) noexcept {
  step_index const stride = at < dense ? 1 : 1 + at / denominator;
  constexpr step_index most = 0x7fff'ffff'ffff'ffff;
  return at > most - stride ? most : at + stride;
}

}  // namespace cairn::detail
