// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>
#include <cairn/plan/loop/detail/plan_search.hpp>
#include <cairn/plan/loop/plan_within.hpp>

namespace cairn {

CAIRN_DECL planned plan_within(byte_size budget, workload const& work, planning_options const& options) {
  constexpr char const* who = "cairn::plan_within";
  bool const elsewhere = options.only && (*options.only == planner::two_level || *options.only == planner::hrevolve ||
                                    *options.only == planner::multistage || *options.only == planner::disk_revolve);
  detail::plan_search search{work, budget, options, elsewhere, who};
  if (search.found.empty()) detail::refuse_budget(who, work, budget, detail::least_asked(search, work, who));
  return detail::certified(std::move(search.found.front()), work, options);
}

}  // namespace cairn
