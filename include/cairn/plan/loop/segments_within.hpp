// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file segments_within.hpp  From a budget in bytes to the segments of a loop that runs backwards.
#include <optional>
#include <cairn/core/bytes.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/rules/workload.hpp>
#include <cairn/schedule/segments.hpp>

namespace cairn {

/// What a step that runs backwards costs beside the workload of its loop.
struct reversible_costs {
  wide kept_bytes = 0;                        ///< what is kept of one step; see `reversible_check::kept_bytes`
  std::optional<double> back_seconds = {};  ///< one call of `back`; a step's if not given
};

/// Segments within a budget, what they cost, and what checkpoints alone would.
struct planned_segments {
  segments schedule{0};   ///< the plan
  /// Of one sweep, without what runs inside segments; its bytes have the kept parts. Of more than `most_walked_steps`
  /// steps in more than 65,536 segments only calls, bytes and seconds without transfers.
  cairn::cost cost;
  wide steps_again = 0;   ///< steps that run again inside segments, for a plan with segments of two steps or more
  wide steps_back = 0;    ///< calls of `back`
  double seconds = 0;     ///< with these; counts of calls, a call of back as one, if the workload has no times
  wide revolve_step_calls = 0;  ///< of the best `revolve` within the same budget; 0 if none fits
  double revolve_seconds = 0;   ///< its seconds, or calls; 0 if none fits
  /// Whether running backwards takes less time than checkpoints alone within the same bytes.
  [[nodiscard]] bool pays() const noexcept { return revolve_step_calls == 0 || seconds < revolve_seconds; }
};

/// The `segments` with the fewest forward runs of steps within `budget` bytes of memory: of all numbers of kept states,
/// each with the longest segments for which kept parts have room. A segment holds its kept parts, and one state more (two
/// if the step is out of place). With room for the kept parts of all steps it is one segment, and no step runs again.
/// \param work  of the loop, as for `plan_within`; its adjoint is taken as one of a step
/// Cost: O(states that fit), at most some thousand plans are tried; more states are tried in steps of a sixty-fourth.
/// \throws infeasible_budget   with the least feasible bytes, that of segments of one step between two states
/// \throws invalid_plan, overflow_error   for an impossible workload, or one without steps or without the bytes of a state
[[nodiscard]] CAIRN_DECL planned_segments segments_within(byte_size budget, workload const& work,
                                                         reversible_costs const& costs);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/loop/impl/segments_within.ipp>
#endif
