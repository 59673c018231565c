// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file least_sum.hpp  The least f(y) + g(x - y): the inner loop of every planner that fills a table.
#include <cstdint>
#include <limits>
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// The entry of a table for impossible cases: infinity, or 2^62, so that the sum of two of them does not overflow.
template <class Cost>
inline constexpr Cost impossible = Cost(std::uint64_t{1} << 62);
template <>
inline constexpr double impossible<double> = std::numeric_limits<double>::infinity();

/// A minimum and its position.
template <class Cost>
struct least {
  Cost value;
  step_index at;  ///< 0 if no sum is less than the given value
  step_index sums = 0;  ///< how many sums were computed, including those that bound a block
};

/// Sums that are bounded together: one addition and one comparison can skip a block.
inline constexpr step_index sums_in_block = 64;

/// The least of f[k] + g[-k], 0 <= k < count; in four independent strands, because each addition would wait for the
/// comparison before it.
template <class Cost>
[[nodiscard]] constexpr Cost least_of_block(Cost const* f, Cost const* g, step_index count) noexcept {
  auto const lower = [](Cost a, Cost b) { return b < a ? b : a; };
  Cost least_of[4] = {impossible<Cost>, impossible<Cost>, impossible<Cost>, impossible<Cost>};
  step_index k = 0;
  for (; k + 4 <= count; k += 4) {
    Cost const* const from = f + k;
    Cost const* const back = g - k;
    least_of[0] = lower(least_of[0], from[0] + back[0]);
    least_of[1] = lower(least_of[1], from[1] + back[-1]);
    least_of[2] = lower(least_of[2], from[2] + back[-2]);
    least_of[3] = lower(least_of[3], from[3] + back[-3]);
  }
  for (; k < count; ++k) least_of[0] = lower(least_of[0], f[k] + g[-k]);
  return lower(lower(least_of[0], least_of[1]), lower(least_of[2], least_of[3]));
}

/// The least of `before` and of f[y] + g[x - y], 1 <= y < x, exactly as comparing all of them would give it; `at` is
/// the y of a least sum that is less than `before`, or 0.
///
/// f and g are nondecreasing on 1 .. x-1, so that in a block a <= y < b no sum is below f[a] + g[x - b + 1]. Rounding
/// keeps the order of sums, so this holds for double, too. This bound skips most blocks once a good sum is known, which
/// is why `hint` is tried first. A table whose rows are made by P(x) = min(low(x), least_sum(f, g, x)) with f(y) = y u
/// + r + P(y) and nondecreasing low and g is itself nondecreasing, in any arithmetic whose + and * keep the order: for
/// y >= 2, f(y) + g(x + 1 - y) >= f(y - 1) + g(x - (y - 1)), which P(x) has compared, because P and so f is
/// nondecreasing up to y <= x; for y = 1, f(1) + g(x) >= f(1) + g(x - 1); and P(1) = 0.
/// \param f, g  indexed by y and by x - y; g[0] is never read   \param hint  a likely position of the least, e.g. that
/// of x - 1; may be out of range
/// \param before  only sums below this value count; `impossible<Cost>` if there is no such bound
/// Cost: x / 64 comparisons and the blocks that hold nearly least sums; measured on H-Revolve's tables, 1,400 sums for
/// x up to 10,000.
template <class Cost>
[[nodiscard]] constexpr least<Cost> least_sum(Cost const* f, Cost const* g, step_index x, step_index hint,
                                              Cost before = impossible<Cost>) noexcept {
  least<Cost> best{before, 0, 2 + x / sums_in_block};
  for (step_index y = hint; y <= hint + 1; ++y)
    if (y >= 1 && y < x && f[y] + g[x - y] < best.value) best.value = f[y] + g[x - y], best.at = y;
  for (step_index first = 1; first < x; first += sums_in_block) {
    step_index const count = x - first < sums_in_block ? x - first : sums_in_block;
    if (!(f[first] + g[x - first - count + 1] < best.value)) continue;
    Cost const value = least_of_block(f + first, g + (x - first), count);
    best.sums += count;
    if (!(value < best.value)) continue;
    best.value = value, best.at = first;
    while (best.at + 1 < first + count && value < f[best.at] + g[x - best.at]) ++best.at;
  }
  return best;
}

}  // namespace cairn::detail
