// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file next_candidate.hpp  A sparse sequence of numbers to try when there are too many to try all.
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// The number to try after `at`: every number up to `dense`; above it, numbers that grow by a factor of about e in
/// `denominator` steps. The largest number is followed by itself.
[[nodiscard]] constexpr step_index next_candidate(step_index at, step_index dense, step_index denominator) noexcept {
  step_index const stride = at < dense ? 1 : 1 + at / denominator;
  constexpr step_index most = 0x7fff'ffff'ffff'ffff;
  return at > most - stride ? most : at + stride;
}

}  // namespace cairn::detail
