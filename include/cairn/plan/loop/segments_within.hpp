// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file segments_within.hpp  From a budget in bytes to the segments of a loop that runs backwards.
#include <optional>
#include <cairn/core/bytes.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/rules/workload.hpp>
#include <cairn/schedule/segments.hpp>

namespace cairn {

/// Segments within a budget, what they cost, and what checkpoints alone would.
struct planned_segments {
  segments schedule{0};  ///< the plan
  /// Of one sweep. Of a loop of more than `most_walked_steps` steps in more than 65,536 segments only calls, bytes and
  /// seconds without transfers.
  cairn::cost cost;
  std::optional<cairn::cost> checkpoints;  ///< of the best `revolve` within the same budget, if one fits
  /// Whether running backwards takes less time than checkpoints alone within the same bytes, or fewer steps in both
  /// directions if the workload has no times.
  [[nodiscard]] bool pays() const noexcept {
    if (!checkpoints) return true;
    bool const timed = cost.seconds > 0;
    return timed ? cost.seconds < checkpoints->seconds : cost.steps_run() < checkpoints->steps_run();
  }
};

/// The `segments` with the fewest forward runs of steps within `budget` bytes of memory: of all numbers of kept states,
/// each with the longest segments for which kept parts have room. A segment holds its kept parts, and one state more (two
/// if the step is out of place). With room for the kept parts of all steps it is one segment, and no step runs again.
/// `advise` and `pareto` have it among their plans.
/// \param work  of the loop, with `workload::reversible`; its adjoint is taken as one of a step
/// Cost: O(states that fit), at most some thousand plans are tried; more states are tried in steps of a sixty-fourth.
/// \throws infeasible_budget   with the least feasible bytes, that of segments of one step between two states
/// \throws invalid_plan, overflow_error   for an impossible workload, or one without steps, without the bytes of a state
///   or without `reversible`
[[nodiscard]] CAIRN_DECL planned_segments segments_within(byte_size budget, workload const& work);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/loop/impl/segments_within.ipp>
#endif
