// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file taylor.hpp  Whether a gradient is that of its objective: the remainder of the linear model must shrink as the
/// square of the change.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace seismic {

/// The median slope of log |J(x + h d) - J(x) - h (g, d)| over log h for h = first, first / 2, ... : 2 where g is the
/// gradient, 1 where not. \param value  J(x)   \param slope  (g, d)   \param objective  J(x + h d) as a function of h
template <class Objective>
[[nodiscard]] double taylor_slope(double value, double slope, double first, int halvings, Objective objective) {
  std::vector<double> slopes;
  double last = 0;
  for (int k = 0; k <= halvings; ++k) {
    double const h = std::ldexp(first, -k), rest = std::abs(objective(h) - value - h * slope);
    if (k > 0) slopes.push_back(std::log2(last / rest));
    last = rest;
  }
  std::nth_element(slopes.begin(), slopes.begin() + std::ptrdiff_t(slopes.size() / 2), slopes.end());
  return slopes[slopes.size() / 2];
}

}  // namespace seismic
