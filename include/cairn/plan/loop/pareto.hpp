// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file pareto.hpp  What memory buys: the plans that no other plan beats in both memory and time.
#include <cstddef>
#include <vector>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>
#include <cairn/rules/workload.hpp>

namespace cairn {

/// The most plans that `pareto` lists by default.
inline constexpr std::size_t usual_pareto_points = 40;

/// Plans over all planners and tiers, from the smallest to the largest that is of use; each is faster than all smaller
/// ones (has fewer step calls if the workload has no times). For loops of few steps these are all such plans if there
/// are at most `most_points`; otherwise a selection at budgets of about equal ratios.   \param most_points  >= 2
/// Cost: that of `advise` per plan.   \throws invalid_plan, overflow_error   for an impossible workload, or one without
/// steps or without the bytes of a state
[[nodiscard]] CAIRN_DECL std::vector<planned> pareto(workload const& work,
                                                     std::size_t most_points = usual_pareto_points,
                                                     planning_options const& options = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/loop/impl/pareto.ipp>
#endif
