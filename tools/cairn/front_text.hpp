// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file front_text.hpp  Time over memory for many plans: as a table, and as comma-separated values.
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <cairn/core/bytes.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/text/figure_text.hpp>
#include <cairn/plan/text/plan_text.hpp>

#include "columns.hpp"
#include "numbers.hpp"

namespace tool {

[[nodiscard]] inline std::string csv_row(std::initializer_list<std::string> cells) {
  std::string row;
  for (auto const& cell : cells) row += (row.empty() ? "" : ",") + cell;
  return row + "\n";
}

/// A line a plan: exact numbers; slots count the initial state.
[[nodiscard]] inline std::string pareto_csv(std::vector<cairn::planned> const& front) {
  std::string text = "bytes,seconds,step_calls,least_step_calls,schedule,slots,far_bytes,leaf,period,units\n";
  for (auto const& plan : front) {
    cairn::wide elsewhere = 0;
    for (std::size_t k = 1; k < cairn::tier_count; ++k) elsewhere += plan.cost.tier_bytes[k];
    auto const& with = plan.with;
    text += csv_row({digits(plan.cost.memory_bytes), json_number(plan.cost.seconds), digits(plan.cost.step_calls),
                     digits(plan.proof.least_step_calls), name_of(plan.by), digits(cairn::wide(with.slots_said())),
                     digits(elsewhere), digits(cairn::wide(with.leaf)), digits(cairn::wide(with.period)),
                     digits(with.units)});
  }
  return text;
}

/// Steps run per step of the loop, in both directions.
[[nodiscard]] inline double per_step(cairn::cost const& sum) noexcept {
  return sum.steps > 0 ? double(sum.steps_run()) / double(sum.steps) : 0;
}

/// A table for people: memory, time, step calls per step of the loop, and the plan. Slots count the initial state.
[[nodiscard]] inline std::string pareto_table(std::vector<cairn::planned> const& front) {
  std::vector<std::vector<std::string>> rows{{"memory", "time", "calls/step", "plan"}};
  for (auto const& plan : front) {
    auto const words = cairn::plan_text(plan);
    rows.push_back({cairn::to_short_text(plan.cost.memory_bytes).c_str(),
                    plan.cost.seconds > 0 ? cairn::seconds_text(plan.cost.seconds) : "-",
                    cairn::number_text(per_step(plan.cost)),
                    words.substr(0, words.find(": "))});
  }
  std::string text;
  for (auto const& line : in_columns(rows, [&](std::size_t column) { return column + 1 == rows.front().size(); }))
    text += line;
  return text;
}

/// A line a plan of a chain.
[[nodiscard]] inline std::string chain_pareto_csv(std::span<cairn::chain_plan const> front) {
  std::string text = "peak,budget,makespan,extra_forward,lower_bound_time,bound_time,bound,gap,planner,left_out\n";
  auto const number = [](std::int64_t value) { return std::to_string(value); };
  for (auto const& plan : front)
    text += csv_row({number(plan.cost.peak), number(plan.budget), number(plan.cost.makespan),
                     number(plan.cost.extra_forward), number(plan.proof.lower_bound_time), number(plan.bound()),
                     name_of(plan.bound_class()), json_number(plan.gap()), name_of(plan.by), number(plan.left_out)});
  return text;
}

}  // namespace tool
