// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file difference.hpp  How far apart two lists of numbers are.

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace support {

/// The largest difference of two elements over the largest element of `wanted`; infinity where they cannot be compared.
[[nodiscard]] inline double relative_difference(std::vector<double> const& found, std::vector<double> const& wanted) {
  constexpr double none = std::numeric_limits<double>::infinity();
  if (found.size() != wanted.size()) return none;
  double off = 0, size = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (!(std::isfinite(found[k]) && std::isfinite(wanted[k]))) return none;
    off = std::fmax(off, std::fabs(found[k] - wanted[k]));
    size = std::fmax(size, std::fabs(wanted[k]));
  }
  return off == 0 ? 0 : off / size;
}

}  // namespace support
