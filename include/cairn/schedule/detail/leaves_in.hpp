// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file leaves_in.hpp  How many leaves a loop has, and where they begin.
#include <cstdint>
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// The number of leaves of `leaf` steps in a loop of `steps` steps; the last one may be shorter.
/// \pre steps >= 0, leaf >= 1
[[nodiscard]] constexpr step_index leaves_in(step_index steps, step_index leaf) noexcept {
  return steps / leaf + (steps % leaf != 0 ? 1 : 0);
}
/// The step at which leaf `i` begins, and `steps` from leaf `count` on, where the loop ends. In unsigned arithmetic, so
/// that even a wrong plan cannot cause undefined behaviour.
struct first_step {
  step_index count, steps, leaf;

  [[nodiscard]] constexpr step_index operator()(step_index i) const noexcept {
    return i < count ? step_index(std::uint64_t(i) * std::uint64_t(leaf)) : steps;
  }
};

}  // namespace cairn::detail
