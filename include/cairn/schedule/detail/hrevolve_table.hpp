// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file hrevolve_table.hpp  The table of H-Revolve: the least cost over tiers, of which each is no cheaper than the
/// one before.
#include <cstddef>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/schedule/detail/least_sum.hpp>
#include <cairn/schedule/detail/repetition_run.hpp>
#include <cairn/schedule/detail/tier_table.hpp>
#include <cairn/schedule/storage_tier.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// With u the cost of an advance, w and r those of writing and reading on level k, c(k) its slots, and O, P as in
/// tier_table.hpp (Herrmann & Pallez 2020):
/// low(k, x)  = O(k-1, x, c(k-1)), undefined on level 0;   O(k, x, 0) = low(k, x);   O = P = 0 for x <= 1
/// P(k, x, m) = min(low(k, x), min over 1 <= y < x of y u + O(k, x-y, m-1) + r + P(k, y, m))
/// O(k, x, m) = min(low(k, x), w + P(k, x, m))
/// Only four rows of costs are held at a time; the choices are kept. Ties go to the lower levels.
class hrevolve_table {
 public:
  /// \param lengths  steps + 1, or 0 if `fill` needs no rows
  explicit hrevolve_table(std::size_t lengths) : low_(lengths), before_(lengths), ahead_(lengths), now_(lengths) {}
  /// Bytes of the four rows of costs for each length of a loop.
  static constexpr wide work = wide{4} * sizeof(double);

  /// Whether the cheapest tier follows the rule of `revolve` and needs no table.
  [[nodiscard]] static constexpr bool is_free(storage_tier const& cheapest) noexcept {
    return !(cheapest.write > 0) && !(cheapest.read > 0);
  }
  /// Rows of choices in a table over these tiers.
  [[nodiscard]] static constexpr wide rows(tier_set const& tiers, tier_positions const& order) noexcept {
    wide sum = 0;
    for (std::size_t k = is_free(tiers.of[order[0]]) ? 1 : 0; k < order.size(); ++k)
      sum += wide(tiers.of[order[k]].slots);
    return sum;
  }

  /// Fills `into.choices`, which has room, and returns the cost without turns; infinite if it exceeds a double.
  /// \pre `into` has its levels, in the order `order`
  /// \throws too_much_work
  double fill(tier_table& into, tier_set const& tiers, tier_positions const& order, double advance, row_meter& meter) {
    if (into.steps < 2) return 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (into.level[k].kind != level_kind::binomial) fill_level(into, k, tiers.of[order[k]], advance, meter);
      else if (order.size() == 1) return double(fewest_advances(into.steps, into.level[k].slots)) * advance;
      else fill_binomial(into.steps, into.level[k].slots, advance);
    }
    return low_[std::size_t(into.steps)];
  }

 private:
  void fill_binomial(step_index steps, slot_index slots, double advance) noexcept {
    repetition_run run{slots, steps};
    step_index advances = 0;
    for (step_index x = 2; x <= steps; ++x) low_[std::size_t(x)] = double(advances += run.at(x)) * advance;
  }
  void fill_level(tier_table& into, std::size_t k, storage_tier const& costs, double advance, row_meter& meter) {
    step_index const steps = into.steps;
    if (k == 0)
      for (step_index x = 2; x <= steps; ++x) low_[std::size_t(x)] = impossible<double>;
    before_ = low_;
    ahead_[1] = advance + costs.read;
    for (slot_index m = 1; m <= into.level[k].slots; ++m) {
      tier_choice* const choices =
          into.choices.begin() + into.level[k].choices + std::size_t(m - 1) * into.level[k].stride;
      step_index hint = 1;
      for (step_index x = 2; x <= steps; ++x) {
        auto const own = std::size_t(x);
        auto const best = least_sum(ahead_.begin(), before_.begin(), x, hint, low_[own]);
        if (best.at > 0) hint = best.at;
        meter.add(best.sums, x);
        double const kept = costs.write + best.value;
        bool const below = low_[own] <= kept;
        ahead_[own] = double(x) * advance + costs.read + best.value;
        now_[own] = below ? low_[own] : kept;
        choices[own] = tier_choice(best.at) | (below ? left_below : 0);
      }
      std::swap(before_, now_);
      meter.end_row();
    }
    std::swap(low_, before_);
  }

  table<double> low_;     // low(k, x)
  table<double> before_;  // O(k, x, m - 1)
  table<double> ahead_;   // y u + r + P(k, y, m)
  table<double> now_;     // O(k, x, m)
};

}  // namespace cairn::detail
