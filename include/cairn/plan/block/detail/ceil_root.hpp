// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file ceil_root.hpp  The root of a whole number, rounded up.
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::detail {

/// The least m >= 1 with m^power >= x.   \pre x >= 0, power >= 1
[[nodiscard]] constexpr step_index ceil_root(step_index x, int power) noexcept {
  auto const reaches = [x, power](step_index m) {
    wide product = 1;
    for (int k = 0; k < power && product < wide(x); ++k) product *= wide(m);
    return product >= wide(x);
  };
  step_index low = 1, high = x < 1 ? 1 : x;
  while (low < high) {
    step_index const middle = low + (high - low) / 2;
    if (reaches(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

}  // namespace cairn::detail
