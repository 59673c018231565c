// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file number_lists.hpp  Lists of the numbers of a value, their magnitudes, and what the checks compute from them.
/// For bodies only.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/run/check/detail/number_runs.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

using reals = value_list<double>;

/// Whether two lists hold the same values. \pre they are equally long
template <class T>
[[nodiscard]] bool same(value_list<T> const& a, value_list<T> const& b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!(a[k] == b[k])) return false;
  return true;
}

[[nodiscard]] constexpr bool finite(double x) noexcept { return x - x == 0; }
[[nodiscard]] constexpr double power_of_two(int exponent) noexcept {
  double x = 1;
  for (; exponent < 0; ++exponent) x /= 2;
  for (; exponent > 0; --exponent) x *= 2;
  return x;
}
/// The exponent of the largest power of two that is at most x. \pre 0 < x and finite
[[nodiscard, gnu::cold]] constexpr int exponent_of(double x) noexcept {
  int exponent = 0;
  for (int bit = 512; bit > 0; bit /= 2) {
    for (; x >= power_of_two(bit); exponent += bit) x *= power_of_two(-bit);
    for (; x < power_of_two(1 - bit); exponent -= bit) x *= power_of_two(bit);
  }
  return exponent;
}

[[nodiscard]] inline reals numbers_of(numbers_view x) {
  reals all;
  x([&](number_run const& run) {
    for (std::size_t k = 0; k < run.count; ++k) all.push_back(run[k]);
  });
  return all;
}
/// Sets the first values.size() numbers of x to `values`, rounded to the numbers' type and clamped to its range; writes
/// the results back to `values`.
inline void set_numbers(numbers_view x, reals& values) {
  std::size_t next = 0;
  x([&](number_run const& run) {
    double const most = run.kind->most;
    for (std::size_t k = 0; k < run.count && next < values.size(); ++k, ++next) {
      double const value = values[next] > most ? most : values[next] < -most ? -most : values[next];
      values[next] = run.kind->write(run.at(k), value);
    }
  });
}
/// The magnitude by which each number may be varied: the geometric mean, in powers of two, of its own magnitude and the
/// largest of its run, because one run may hold quantities of several units. If the number is 0, the largest of its
/// run; if all of the run are 0, 1.
[[nodiscard, gnu::cold]] inline reals scales_of(numbers_view x) {
  reals all;
  x([&](number_run const& run) {
    double most = 0;
    for (std::size_t k = 0; k < run.count; ++k) most = greater(most, magnitude(run[k]));
    int const top = most > 0 && finite(most) ? exponent_of(most) : 0;
    for (std::size_t k = 0; k < run.count; ++k) {
      double const size = magnitude(run[k]);
      all.push_back(power_of_two(size > 0 && finite(size) ? (exponent_of(size) + top) / 2 : top));
    }
  });
  return all;
}
/// `underflow_of` for the type of each number.
[[nodiscard, gnu::cold]] inline reals underflows_of(numbers_view x) {
  reals all;
  x([&](number_run const& run) { all.resize(all.size() + run.count, run.kind->underflow()); });
  return all;
}
/// Binary digits of the least precise number of x, at most those of double.
[[nodiscard, gnu::cold]] inline int bits_of(numbers_view x) {
  int bits = std::numeric_limits<double>::digits;
  x([&](number_run const& run) { bits = lesser(bits, run.kind->digits); });
  return bits;
}

/// The address and size of a number, to identify it and to compare its bits.
struct number_at {
  void const* at;
  std::size_t bytes;
};
[[nodiscard]] inline value_list<number_at> numbers_at(numbers_view x) {
  value_list<number_at> all;
  x([&](number_run const& run) {
    for (std::size_t k = 0; k < run.count; ++k) all.push_back({run.at(k), run.kind->value_size});
  });
  return all;
}
/// The positions of chosen numbers among all numbers of a value.
[[nodiscard]] inline value_list<std::int64_t> places_of(numbers_view chosen_ones, numbers_view all) {
  auto const chosen = numbers_at(chosen_ones), those = numbers_at(all);
  value_list<std::int64_t> places;
  for (std::size_t k = 0; k < those.size() && places.size() < chosen.size(); ++k)
    if (those[k].at == chosen[places.size()].at) places.push_back(std::int64_t(k));
  return places;
}

[[nodiscard, gnu::cold]] inline double sum_of_terms(reals const& a, reals const& b) {
  double sum = 0;
  for (std::size_t k = 0; k < b.size(); ++k) sum += magnitude(a[k] * b[k]);
  return sum;
}
[[nodiscard, gnu::cold]] inline double dot(reals const& a, reals const& b) {
  double sum = 0;
  for (std::size_t k = 0; k < b.size(); ++k) sum += a[k] * b[k];
  return sum;
}
/// from + h * direction
[[nodiscard, gnu::cold]] inline reals moved(reals const& from, double h,
                                               reals const& direction) {
  reals to(from.size());
  for (std::size_t k = 0; k < from.size(); ++k) to[k] = from[k] + h * direction[k];
  return to;
}
[[nodiscard, gnu::cold]] inline reals less(reals a, reals const& b) {
  for (std::size_t k = 0; k < a.size(); ++k) a[k] -= b[k];
  return a;
}

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
