// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep_breakdown.hpp  What the memory of a sweep is spent on, action by action.
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/workload.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/text/breakdown.hpp>
#include <cairn/plan/text/memory_curve.hpp>

namespace cairn {
namespace detail {

[[nodiscard]] CAIRN_DECL breakdown breakdown_of(std::vector<action> const& actions, curve_measures const& by);

}  // namespace detail

/// The memory of a sweep by purpose, one row for each action: checkpoints, states in use, adjoints, tapes, tables, and
/// the caller's initial state; all but checkpoints are left out if they are 0 in every row. The sum of a row is what
/// `memory_over(plan, work)` says of the action: bytes, or states if the workload has no sizes.
/// \throws invalid_plan   for more than `most_drawn_actions` actions, and as `estimate`
/// \throws invalid_schedule, overflow_error
template <class Schedule>
[[nodiscard]] breakdown sweep_breakdown(Schedule const& plan, workload const& work) {
  if constexpr (!detail::check_drawn<Schedule>()) return {};
  else {
    auto const actions = detail::drawn_actions(plan, "cairn::sweep_breakdown");
    return detail::breakdown_of(actions, detail::measures_of(plan, work));
  }
}

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/sweep_breakdown.ipp>
#endif
