#pragma once
/// \file plan_within.hpp  From a budget in bytes to the cheapest plan that keeps all in memory.
#include <cairn/core/bytes.hpp>
#include <cairn/plan/loop/detail/plan_search.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>
#include <cairn/plan/loop/why_infeasible.hpp>

namespace cairn {

/// The plan of the fewest predicted seconds, or step calls where the workload has no times, that takes no more than `budget` bytes of memory:
/// `plan_within("512MiB", work)`. Chooses planner, slots, and where the adjoint takes leaves (`adjoint_form::leaf`) their length.
/// States lie in memory alone unless `options.only` is a planner that keeps some elsewhere.
/// Cost: milliseconds for loops of up to some thousand steps, where peaks are exact; above `most_tallied_steps` closed forms, to 2^63-1.
/// \throws infeasible_budget   that says the least feasible bytes   \throws invalid_plan, overflow_error   for a workload that cannot be, or that lacks its steps or the bytes of a state
[[nodiscard]] inline planned plan_within(byte_size budget, workload const& work, planning_options const& options = {}) {
  constexpr char const* who = "cairn::plan_within";
  bool const elsewhere = options.only && (*options.only == planner::two_level || *options.only == planner::hrevolve ||
                                    *options.only == planner::multistage || *options.only == planner::disk_revolve);
  detail::plan_search search{work, budget, options, elsewhere, who};
  if (search.found.empty()) detail::refuse_budget(who, work, budget, detail::least_asked(search, work, who));
  return detail::certified(std::move(search.found.front()), work);
}

}  // namespace cairn
