// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/detail/least_sum.hpp>
#include <cairn/schedule/detail/tier_plan.hpp>
#include <cairn/schedule/disk_revolve.hpp>

namespace cairn {

CAIRN_DECL detail::costed_table disk_revolve::made(step_index steps, slot_index ram,
                                                   disk_revolve_options const& options) {
  detail::check_steps(who, steps);
  if (ram < 0)
    throw invalid_plan{who, "a tier cannot have a negative number of slots", {{"ram slots", ram}}, "give 0 or more"};
  for (double const cost : {options.disk_write, options.disk_read, options.advance_cost, options.turn_cost})
    detail::check_cost(who, cost);
  ram = useful_slots(steps, ram);
  bool const chosen = ram < steps - 1;
  detail::check_choices(who, steps, chosen ? 1 : 0, chosen ? work : 0, options.most_table_bytes);
  detail::costed_table all;
  auto& table = all.table;
  table.steps = steps;
  if (ram > 0) table.level[table.levels++] = {ram, 0, tier::memory, detail::level_kind::binomial, 0, 0};
  slot_index disk = 0;
  if (chosen) {
    all.cost = fill(table, ram, options, disk);
    if (disk > 0) table.level[table.levels++] = {disk, ram, tier::disk, detail::level_kind::chosen, 0, 0};
    else table.choices = {};
  } else if (steps > 1) {
    all.cost = double(steps - 1) * options.advance_cost;
  }
  table.most_states = useful_slots(steps, ram + disk);
  all.add_turns(who, steps, options.turn_cost);
  return all;
}

CAIRN_DECL double disk_revolve::fill(detail::tier_table& into, slot_index ram, disk_revolve_options const& options,
                                     slot_index& disk) {
  step_index const steps = into.steps;
  std::size_t const lengths = std::size_t(steps) + 1;
  detail::row_meter meter{who, steps, 1, options.limit, detail::least_sums_of_row(steps)};
  into.choices.assign(lengths, 0);
  detail::table<double> ahead(lengths);     // y u + read + P(y)
  detail::table<double> now(lengths);       // O(x)
  detail::table<std::uint32_t> beside(lengths);  // states on disk that P(x) needs besides its own
  detail::table<std::uint32_t> most(lengths);    // states on disk that O(x) needs
  detail::repetition_run run{ram > 0 ? ram : 1, steps};
  step_index advances = 0;
  step_index hint = 1;
  ahead[1] = options.advance_cost + options.disk_read;
  for (step_index x = 2; x <= steps; ++x) {
    auto const own = std::size_t(x);
    double const low = ram > 0 ? double(advances += run.at(x)) * options.advance_cost : detail::impossible<double>;
    auto const best = detail::least_sum(ahead.begin(), now.begin(), x, hint, low);
    meter.add(best.sums, x);
    if (best.at > 0) {
      hint = best.at;
      beside[own] = detail::greater(most[own - std::size_t(best.at)], beside[std::size_t(best.at)]);
    }
    double const kept = options.disk_write + best.value;
    bool const below = low <= kept;
    ahead[own] = double(x) * options.advance_cost + options.disk_read + best.value;
    now[own] = below ? low : kept;
    most[own] = below ? 0 : beside[own] + 1;
    into.choices[own] = detail::tier_choice(best.at) | (below ? detail::left_below : 0);
  }
  disk = most[lengths - 1];
  return now[lengths - 1];
}

}  // namespace cairn
