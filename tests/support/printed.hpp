// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include "support/catch.hpp"

/// Matches a number that agrees with a printed one in every digit given. One unit in the last place: half for the
/// rounding of the printed number, half for that of ours. Where the compiler may fuse a product and a sum, a correct
/// program rounds otherwise in every step; 12 digits are asked of it.
inline auto printed(std::string const& digits) {
  auto const end_of_digits = std::min(digits.find_first_of("eE"), digits.size());
  auto const point = std::min(digits.find('.'), end_of_digits);
  double const value = std::stod(digits);
  auto const decimals = double(end_of_digits - point) - 1;
  double const exponent = end_of_digits < digits.size() ? std::stod(digits.substr(end_of_digits + 1)) : 0;
  double margin = std::pow(10, exponent - decimals);
#ifdef __FP_FAST_FMA
  margin = std::max(margin, 1e-12 * std::abs(value));
#endif
  return Catch::Matchers::WithinAbs(value, margin);
}
