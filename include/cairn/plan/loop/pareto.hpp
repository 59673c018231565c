#pragma once
/// \file pareto.hpp  What memory buys: the plans of which none is both smaller and faster than another.
#include <cstddef>
#include <vector>
#include <cairn/core/workload.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>

namespace cairn {

/// The most plans that `pareto` lists unless it is told otherwise.
inline constexpr std::size_t usual_pareto_points = 40;

/// Plans over all planners and tiers from the smallest to the largest of use, each faster than all that are smaller
/// (fewer step calls where the workload has no times). All there are in loops of few steps, where these are no more
/// than `most_points`; else some, at budgets of about equal ratios.   \param most_points  >= 2
/// Cost: that of `advise` for each of them.   \throws invalid_plan, overflow_error   for a workload that cannot be, or
/// that lacks its steps or the bytes of a state
[[nodiscard]] CAIRN_DECL std::vector<planned> pareto(workload const& work,
                                                     std::size_t most_points = usual_pareto_points,
                                                     planning_options const& options = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/loop/impl/pareto.ipp>
#endif
