// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/detail/plan_search.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/pareto.hpp>

namespace cairn {
namespace detail {

/// The best plans for falling budgets; the smallest plan comes last. Each budget is the previous plan's bytes divided
/// by `ratio`, but at least one byte less than them.
/// \param most  the most plans returned; the last of two or more has the least bytes
[[nodiscard]] inline std::vector<planned> plans_downward(workload const& work, planning_options const& options,
                                                         wide least, double ratio, std::size_t most) {
  std::vector<planned> plans;
  wide budget = ~std::uint64_t{0};
  while (plans.size() < most) {
    plan_search search{work, byte_size{budget}, options, true, "cairn::pareto"};
    if (search.found.empty()) break;
    plans.push_back(std::move(search.found.front()));
    wide const bytes = plans.back().cost.memory_bytes;
    if (bytes == 0) break;
    wide const next = ratio > 1 ? wide(double(bytes) / ratio) : bytes - 1;
    budget = (std::min)(bytes - 1, plans.size() + 1 < most ? (std::max)(next, least) : least);
  }
  return plans;
}

}  // namespace detail

CAIRN_DECL std::vector<planned> pareto(workload const& work, std::size_t most_points, planning_options const& options) {
  constexpr char const* who = "cairn::pareto";
  if (most_points < 2)
    throw invalid_plan{who, "too few points for a curve", {{"points", most_points}}, "give 2 or more"};
  step_index const steps = detail::steps_of(work, who);
  wide const least = detail::smallest_plan(work, who).cost.memory_bytes;
  std::vector<planned> plans;
  if (wide(steps) <= most_points) plans = detail::plans_downward(work, options, least, 1, most_points + 1);
  if (plans.empty() || plans.size() > most_points) {
    plans = detail::plans_downward(work, options, least, 1, 1);
    double const range = plans.empty() || least == 0 ? 1 : double(plans[0].cost.memory_bytes) / double(least);
    plans = detail::plans_downward(work, options, least, std::pow((std::max)(range, 1.0), 1 / double(most_points - 1)),
                                   most_points);
  }
  std::vector<planned> front;
  for (std::size_t k = plans.size(); k-- > 0;) {
    cost const& sum = plans[k].cost;
    bool const is_faster = front.empty() || (detail::has_times(work) ? sum.seconds < front.back().cost.seconds
                                                                     : sum.steps_run() < front.back().cost.steps_run());
    if (is_faster) front.push_back(detail::certified(std::move(plans[k]), work, options));
  }
  return front;
}

}  // namespace cairn
