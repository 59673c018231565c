// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <limits>
#include <utility>
#include <cairn/schedule/detail/hrevolve_table.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/table_limit.hpp>
#include <cairn/schedule/detail/tier_table.hpp>
#include <cairn/schedule/hrevolve.hpp>

namespace cairn {

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
