// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file taylor_test.hpp  Random directions, and how the remainder along one falls with the distance.
#include <cstddef>
#include <cstdint>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/run/check/detail/number_lists.hpp>
#include <cairn/run/check/report.hpp>

namespace cairn::detail {

/// \pre 0 < x and finite
[[nodiscard, gnu::cold]] constexpr double log2_of(double x) noexcept {
  int const exponent = exponent_of(x);
  double whole = exponent, bit = 1;
  x *= power_of_two(-exponent);
  for (int k = 0; k < 30; ++k) {
    x *= x;
    bit /= 2;
    if (x >= 2) whole += bit, x /= 2;
  }
  return whole;
}

/// Random numbers for directions, the same on every machine (Steele, Lea & Flood 2014: SplitMix).
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) noexcept : at_{seed} {}
  /// A number of magnitude 1/2 to 1, of either sign, so that no component of a direction is nearly lost.
  [[nodiscard]] double next() noexcept {
    std::uint64_t z = at_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    double const size = 0.5 + double(z >> 12) * power_of_two(-53);
    return (z & 1) != 0 ? size : -size;
  }

 private:
  std::uint64_t at_;
};
[[nodiscard, gnu::cold]] inline reals random_direction(random_numbers& random, reals scales) {
  for (double& s : scales) s *= random.next();
  return scales;
}

/// Divides the distance by four each time and follows the remainder |J(x + h v) - J(x) - h <g, v>| until rounding
/// dominates; the shorter half of the distances shows how large rounding is.
/// Errors of the gradient below the square root of the machine precision are ignored, because rounding alone shows
/// slopes of every kind.
/// Where J itself does not change in proportion to the shortest distances that are clear of rounding, as in a chaotic
/// loop, no remainder accuses a gradient.
/// \param remainder  the remainder at a distance h; sets the second argument to J(x + h v) - J(x)   \param rounding
///   the least rounding to expect of the terms of J
/// \param rate  errors of <g, v> up to this are ignored
[[gnu::cold]] inline void taylor_test(adjoint_report& report, int bits, double rounding, double rate,
                        call_ref<double(double, double&)> remainder) {
  reals at, changes;
  for (int level = bits / 6; level < bits; level += 2) {
    double change = 0;
    at.push_back(remainder(power_of_two(-level), change));
    changes.push_back(change);
    if (!finite(at.back())) return void(report.fault = adjoint_fault::not_finite);
  }
  double noise = rounding;
  for (std::size_t k = at.size() / 2; k < at.size(); ++k) noise = greater(noise, at[k]);
  double per_distance = 0;
  bool bends = false;
  for (;;) {
    std::size_t clear = 0;  // number of remainders that are clear of rounding
    while (clear < at.size() && at[clear] > 32 * noise) ++clear;
    if (clear < 2) return void(report.linear = true);
    report.slope = log2_of(at[clear - 2] / at[clear - 1]) / 2;
    if (clear > 2) {  // a remainder dips where it changes its sign
      double const wider = log2_of(at[clear - 3] / at[clear - 1]) / 4;
      report.slope = greater(report.slope, wider);
    }
    double const farther = changes[clear - 2] / 4, closer = changes[clear - 1];
    bends = magnitude(closer) > 32 * rounding && magnitude(farther - closer) > magnitude(closer) / 4;
    per_distance = at[clear - 1] * power_of_two(bits / 6 + 2 * int(clear - 1));
    if (report.slope > 0.5) break;
    noise = at[clear - 1];  // the remainder of any gradient falls, right or wrong, so this is noise
    report.slope = 0;
  }
  if (report.slope >= 1.5) return;
  if (per_distance > rate && bends) report.fault = adjoint_fault::undecided, report.slope = 0;
  else if (per_distance > rate) report.fault = adjoint_fault::wrong_gradient;
  else report.linear = true, report.slope = 0;
}

}  // namespace cairn::detail
