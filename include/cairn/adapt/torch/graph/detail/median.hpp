// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file median.hpp  The median of measurements.
#include <algorithm>
#include <cstddef>
#include <vector>

namespace cairn::libtorch::detail {

/// The middle measurement by size, the larger one if two are in the middle; zero if there is none.
template <class Number>
[[nodiscard]] Number median(std::vector<Number> all) {
  if (all.empty()) return {};
  auto const middle = all.begin() + std::ptrdiff_t(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

}  // namespace cairn::libtorch::detail
