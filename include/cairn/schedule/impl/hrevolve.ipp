// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <cairn/core/detail/table.hpp>
#include <cairn/schedule/detail/least_sum.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/tier_plan.hpp>
#include <cairn/schedule/hrevolve.hpp>

namespace cairn {
namespace detail {

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

}  // namespace detail

CAIRN_DECL hrevolve::parts hrevolve::made(step_index steps, storage_tier const* given, std::size_t count,
                                          hrevolve_options const& options) {
  detail::check_steps(who, steps);
  for (double const cost : {options.advance_cost, options.turn_cost}) detail::check_cost(who, cost);
  detail::tier_set const tiers{who, steps, given, count};
  parts best;
  wide rows = 0, all_rows = 0;
  std::size_t orders = 0;
  tiers.each_order(steps, [&](tier_positions const& order) {
    ++orders;
    wide const its = detail::hrevolve_table::rows(tiers, order);
    if (its > rows) rows = its;
    all_rows += its;
  });
  if (steps < 2) rows = all_rows = 0;
  detail::check_choices(who, steps, orders > 1 ? 2 * rows : rows, rows > 0 ? detail::hrevolve_table::work : 0,
                        options.most_table_bytes);
  wide const least = all_rows > 0 ? detail::least_sums_of_row(steps) : 0;
  detail::row_meter meter{who, steps, all_rows, options.limit,
                          least > 0 && all_rows > ~wide{0} / least ? ~wide{0} : all_rows * least};
  detail::hrevolve_table work{rows > 0 ? std::size_t(steps) + 1 : 0};
  detail::tier_table next;
  best.cost = std::numeric_limits<double>::infinity();
  tiers.each_order(steps, [&](tier_positions const& order) {
    lay_out(next, steps, tiers, order);
    double const cost = work.fill(next, tiers, order, options.advance_cost, meter);
    if (!(cost < best.cost)) return;
    std::swap(best.table, next);
    best.cost = cost;
    best.order = order;
  });
  best.add_turns(who, steps, options.turn_cost);
  best.ordered = orders == 1;
  for (std::size_t k = 0; k < count; ++k)
    if (!tiers.is_of_use(k, steps)) best.dropped.at[best.dropped.count++] = k;
  return best;
}

CAIRN_DECL void hrevolve::lay_out(detail::tier_table& table, step_index steps, detail::tier_set const& tiers,
                                  tier_positions const& order) {
  table.steps = steps;
  table.levels = order.size();
  std::size_t const lengths = steps < 2 ? 0 : std::size_t(steps) + 1;
  std::size_t choices = 0;
  slot_index first = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    auto const& own = tiers.of[order[k]];
    bool const binomial = k == 0 && detail::hrevolve_table::is_free(own);
    table.level[k] = {own.slots,  first,
                      *own.where, binomial ? detail::level_kind::binomial : detail::level_kind::chosen,
                      choices,    lengths};
    if (!binomial) choices += std::size_t(own.slots) * lengths;
    first += own.slots;
  }
  table.most_states = useful_slots(steps, first);
  table.choices = {};  // freed before the new ones are made, so that no more than two tables exist at once
  table.choices = detail::table<detail::tier_choice>(choices);
}

}  // namespace cairn
