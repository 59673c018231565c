#pragma once
/// \file plan_within.hpp  From a budget in bytes to the cheapest plan that keeps all in memory.
#include <cairn/core/bytes.hpp>
#include <cairn/core/workload.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>

namespace cairn {

/// The plan of the fewest predicted seconds, or step calls where the workload has no times, that takes no more than
/// `budget` bytes of memory: `plan_within("512MiB", work)`. Chooses planner, slots, and where the adjoint takes leaves
/// (`adjoint_form::leaf`) their length. States lie in memory alone unless `options.only` is a planner that keeps some
/// elsewhere. Cost: milliseconds for loops of up to some thousand steps, where peaks are exact; above
/// `most_tallied_steps` closed forms, to 2^63-1.
/// \throws infeasible_budget   that says the least feasible bytes   \throws invalid_plan, overflow_error   for a
///        workload that cannot be, or that lacks its steps or the bytes of a state
[[nodiscard]] CAIRN_DECL planned plan_within(byte_size budget, workload const& work,
                                             planning_options const& options = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/loop/impl/plan_within.ipp>
#endif
