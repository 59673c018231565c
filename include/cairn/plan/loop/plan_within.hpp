// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_within.hpp  From a budget in bytes to the cheapest plan that keeps everything in memory.
#include <cairn/core/bytes.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>
#include <cairn/rules/workload.hpp>

namespace cairn {

/// The plan with the fewest predicted seconds (step calls if the workload has no times) that takes at most `budget`
/// bytes of memory: `plan_within("512MiB", work)`. Chooses the planner, the slots and, if the adjoint takes leaves
/// (`adjoint_form::leaf`), their length. All states are in memory unless `options.only` names a planner that stores
/// some elsewhere. Cost: milliseconds for loops of up to some thousand steps, whose peaks are exact; above
/// `most_counted_steps` closed forms are used, for up to 2^63-1 steps.
/// \throws infeasible_budget   with the least feasible bytes   \throws invalid_plan, overflow_error   for an impossible
///   workload, or one without steps or without the bytes of a state
/// \ingroup start
[[nodiscard]] CAIRN_DECL planned plan_within(byte_size budget, workload const& work,
                                             planning_options const& options = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/loop/impl/plan_within.ipp>
#endif
