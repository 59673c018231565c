// SPDX-License-Identifier: Apache-2.0
#pragma once
// The middle one of some measurements; the upper of the two in the middle.
#include <algorithm>
#include <cstddef>
#include <vector>

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2), values.end());
  return values[values.size() / 2];
}
