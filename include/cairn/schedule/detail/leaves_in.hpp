// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file leaves_in.hpp  How many leaves a loop has, and their actions as those of steps.
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// The number of leaves of `leaf` steps in a loop of `steps` steps; the last one may be shorter.
/// \pre steps >= 0, leaf >= 1
[[nodiscard]] constexpr step_index leaves_in(step_index steps, step_index leaf) noexcept {
  return steps / leaf + (steps % leaf != 0 ? 1 : 0);
}
/// An action over whole leaves as one over steps. Without an end, `steps` < 0, a number that is too large stands for none.
[[nodiscard]] constexpr action over_steps(action a, step_index leaf, step_index steps) noexcept {
  for (step_index* const i : {&a.from, &a.to}) {
    if (__builtin_mul_overflow(*i, leaf, i)) *i = INT64_MAX;
    if (steps >= 0 && *i > steps) *i = steps;
  }
  return a;
}

}  // namespace cairn::detail
