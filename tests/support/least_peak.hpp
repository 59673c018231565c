// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace brute {

/// Least budget for which a search finds a plan. \param enough  a budget that is feasible
template <class Search>
[[nodiscard]] std::int64_t least_peak_of(Search& search, std::int64_t enough) {
  std::int64_t low = 0;
  while (low < enough) {
    std::int64_t const middle = low + (enough - low) / 2;
    if (search.makespan(middle)) enough = middle;
    else low = middle + 1;
  }
  return low;
}

}  // namespace brute
