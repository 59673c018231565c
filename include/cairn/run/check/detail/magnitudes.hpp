#pragma once
/// \file magnitudes.hpp  How large and how tiny the numbers of states are that an adjoint is led through.
#include <cstddef>
#include <limits>
#include <vector>
#include <cairn/run/check/check_gradient.hpp>

namespace cairn::detail {

/// No terms of an adjoint are made larger than 2^ this.
inline constexpr int most_terms_exponent =
    std::numeric_limits<double>::max_exponent - 2 * std::numeric_limits<double>::digits;

/// Magnitudes of numbers, from the least to the most.
struct magnitudes {
  double least = 0, most = 0;
  void add(double size) noexcept {
    if (least == 0 || size < least) least = size;
    if (size > most) most = size;
  }
  /// Magnitudes below this have no adjoint within numbers of 2^-range to 2^range beside that of the most.
  [[nodiscard]] double least_within(int range) const noexcept {
    if (least == 0) return 0;
    int const low = exponent_of(least), lowest = exponent_of(most) - 2 * range;
    return power_of_two(low > lowest ? low : lowest);
  }
  /// What the terms of an adjoint of such states sum to, so that it is large beside what an objective of the same
  /// magnitude adds to it on the way, and stays within numbers of 2^-range to 2^range.
  [[nodiscard]] double of_terms(int range) const noexcept {
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

/// Scales below `limits` times 2^bits raised to that.
[[nodiscard]] inline std::vector<double> raised(std::vector<double> scales, std::vector<double> const& limits,
                                                int bits) {
  for (std::size_t k = 0; k < scales.size(); ++k)
    if (double const least = limits[k] * power_of_two(bits); scales[k] < least) scales[k] = least;
  return scales;
}

}  // namespace cairn::detail
