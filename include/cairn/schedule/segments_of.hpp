// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file segments_of.hpp  A loop that runs backwards, within a budget of memory, in the place of its plan.
#include <optional>
#include <cairn/core/bytes.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/schedule/segments.hpp>

namespace cairn {
namespace detail {

/// Of all numbers of kept states, each with the longest segments for which kept parts have room, those that run the
/// fewest steps forward.   \tparam Bytes  bytes(plan), of a sweep of `segments`
template <class Bytes>
class best_segments {
 public:
  /// \param longest  most steps of a segment; 0 for any number
  best_segments(wide budget, step_index steps, step_index longest, Bytes const& bytes)
      : bytes_{bytes}, steps_{steps}, longest_{greater<step_index>(steps, 1)} {
    if (longest > 0) longest_ = lesser(longest, longest_);
    segments const one = made(longest_, 1);
    if (steps_ <= longest_ && bytes_(one) <= budget) {  // no step runs again
      best = one;
      return;
    }
    for (slot_index slots = 1; slots < steps_; slots += 1 + (slots > 1000 ? slots / 64 : 0)) {
      step_index const length = longest_within(budget, slots);
      if (length == 0) break;
      take(made(length, slots));
      if (length == longest_ && wide(length) * (wide(slots) + 1) >= wide(steps_)) break;  // each has its state
    }
  }
  std::optional<segments> best;
  /// \throws infeasible_budget   if there are none, with the least bytes
  void check(char const* who, wide budget) const {
    if (!best)
      throw infeasible_budget{who,
                              "no segments keep the sweep within the budget",
                              {{"budget", budget}, {"least", least_bytes()}, {"steps", steps_}},
                              "give at least that many bytes"};
  }
  /// The fewest bytes of any.
  [[nodiscard]] wide least_bytes() const { return lesser(bytes_(made(1, 1)), bytes_(made(longest_, 1))); }
  /// Steps forward, those inside segments included.
  [[nodiscard]] static wide runs(segments const& plan) {
    return segments::fewest_runs(plan.steps(), plan.leaf(), greater<slot_index>(plan.slots(), 1));
  }

 private:
  [[nodiscard]] segments made(step_index length, slot_index slots) const {
    return segments{steps_, {.length = length, .slots = slots}};
  }
  /// The longest segments with so many slots in use that fit; 0 if none do. Longer ones than (n - 1) / slots use fewer.
  [[nodiscard]] step_index longest_within(wide budget, slot_index slots) const {
    step_index fits = 0, most = lesser<step_index>(longest_, greater<step_index>((steps_ - 1) / slots, 1));
    while (fits < most) {
      step_index const tried = most - (most - fits) / 2;
      if (bytes_(made(tried, slots)) <= budget) fits = tried;
      else most = tried - 1;
    }
    return fits;
  }
  void take(segments const& plan) {
    if (!best || runs(plan) < runs(*best)) best = plan;
  }

  Bytes const& bytes_;
  step_index steps_, longest_;
};

}  // namespace detail

/// A loop of a given length whose step is `reversible`, within a memory budget: `segments_of{10'000, "64MB"}` in the place
/// of a plan, as `budget_of` is for checkpoints alone.
///
/// Counts x0, bar, p and dp, what one call of `keep` at x0 returns, and what a sweep keeps, and takes the `segments` that
/// run the fewest steps forward: one segment if the kept parts of all steps fit. Kept parts that are larger have half
/// of what the plan leaves over; beyond that the oldest of a segment are dropped, and their steps run again.
/// \throws infeasible_budget   before any step runs, with the least budget, if no plan fits; by the sweep, if the part
///   of one step has no room   \throws invalid_call   if the step is not reversible, or the bytes of what `keep`
///   returns are not known
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
