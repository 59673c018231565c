// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file leaves_in.hpp  How many leaves a loop has.
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// The number of leaves of `leaf` steps in a loop of `steps` steps; the last one may be shorter.
/// \pre steps >= 0, leaf >= 1
[[nodiscard]] constexpr step_index leaves_in(step_index steps, step_index leaf) noexcept {
  return steps / leaf + (steps % leaf != 0 ? 1 : 0);
}

}  // namespace cairn::detail
