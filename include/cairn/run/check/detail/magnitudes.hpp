// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file magnitudes.hpp  The largest and the tiniest numbers of the states that an adjoint passes through.
#include <cstddef>
#include <limits>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/run/check/detail/number_lists.hpp>

namespace cairn::detail {

/// Terms of an adjoint are never made larger than 2 to this power.
inline constexpr int most_terms_exponent =
    std::numeric_limits<double>::max_exponent - 2 * std::numeric_limits<double>::digits;

/// The range of magnitudes of numbers, from the least to the largest.
struct magnitudes {
  double least = 0, most = 0;
  void add(double size) noexcept {
    if (least == 0 || size < least) least = size;
    if (size > most) most = size;
  }
  /// The least magnitude whose adjoint fits into numbers of 2^-range to 2^range beside the adjoint of the largest
  /// magnitude.
  [[nodiscard, gnu::cold]] double least_within(int range) const noexcept {
    if (least == 0) return 0;
    int const low = exponent_of(least), lowest = exponent_of(most) - 2 * range;
    return power_of_two(greater(lowest, low));
  }
  /// The magnitude to give the terms of an adjoint of such states: large beside the terms that an objective of the same
  /// magnitude adds on the way, and within numbers of 2^-range to 2^range.
  [[nodiscard, gnu::cold]] double of_terms(int range) const noexcept {
    if (least == 0) return 1;
    int const low = exponent_of(least_within(range)), high = exponent_of(most);
    int wanted = high > 0 ? 2 * high : 0;
    if (wanted < high - range) wanted = high - range;
    if (wanted > low + range) wanted = low + range;
    return power_of_two(wanted > most_terms_exponent    ? most_terms_exponent
                        : wanted < -most_terms_exponent ? -most_terms_exponent
                                                        : wanted);
  }
};

/// The scales, raised to at least `limits` times 2^bits.
[[nodiscard, gnu::cold]] inline reals raised(reals scales, reals const& limits,
                                                int bits) {
  for (std::size_t k = 0; k < scales.size(); ++k)
    if (double const least = limits[k] * power_of_two(bits); scales[k] < least) scales[k] = least;
  return scales;
}

}  // namespace cairn::detail
