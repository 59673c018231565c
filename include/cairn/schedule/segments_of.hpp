// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file segments_of.hpp  A loop that runs backwards, within a budget of memory, in the place of its plan.
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/schedule/detail/best_segments.hpp>
#include <cairn/schedule/segments.hpp>

namespace cairn {

/// A loop of a given length whose step is `reversible`, within a memory budget: `segments_of{10'000, "64MB"}` in the place
/// of a plan, as `budget_of` is for checkpoints alone.
///
/// Counts x0, bar, p and dp, what one call of `keep` at x0 returns, and what a sweep keeps, and takes the `segments` that
/// run the fewest steps forward: one segment if the kept parts of all steps fit. Kept parts have the bytes of the first.
/// \throws infeasible_budget   before any step runs, with the least budget, if no plan fits   \throws invalid_call   if
///   the step is not reversible, or the bytes of what `keep` returns are not known
/// \ingroup start
struct segments_of {
  step_index steps = 0;    ///< loop length, >= 0
  byte_size bytes = {};    ///< the budget
  step_index longest = 0;  ///< most steps of a segment, see `reversible_check::longest_segment`; 0: any number

  using files = segments_of;                 ///< who makes its plans
  using plans = segments;                    ///< their type
  static constexpr bool has_leaves = true;   ///< what a leaf holds is counted
  /// The plan.   \param bytes_of_plan  bytes_of_plan(plan, slots in memory)
  template <class X0, class BytesOfPlan>
  [[nodiscard]] static segments plan_for(segments_of const& given, X0 const&, sweep_form,
                                         BytesOfPlan const& bytes_of_plan) {
    auto const bytes = [&](segments const& plan) { return bytes_of_plan(plan, plan.slots()); };
    if (given.steps > 1 && bytes(segments{given.steps, {.length = 2, .slots = 1}}) == unknown_bytes)
      throw invalid_call{"cairn::segments_of",
                         "the bytes that a segment of this adjoint holds are not known",
                         {},
                         "make the step cairn::reversible, with a keep that returns a type of known size; or give "
                         "cairn::segments"};
    detail::best_segments const found{given.bytes.count(), given.steps, given.longest, bytes};
    found.check("cairn::segments_of", given.bytes.count());
    return *found.best;
  }
};

}  // namespace cairn
