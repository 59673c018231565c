// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file best_segments.hpp  The segments of a loop that runs backwards within a budget.
#include <optional>
#include <cairn/core/detail/lesser.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/rules/detail/sweep_needs.hpp>
#include <cairn/rules/workload.hpp>
#include <cairn/schedule/segments.hpp>

namespace cairn::detail {

/// Of all numbers of kept states, each with the longest segments for which kept parts have room, those that run the
/// fewest steps forward.   \pre work.steps and work.reversible
class best_segments {
 public:
  best_segments(wide budget, workload const& work)
      : work_{work}, steps_{*work.steps},
        longest_{work.reversible->longest > 0 ? lesser(work.reversible->longest, greater<step_index>(steps_, 1))
                                              : greater<step_index>(steps_, 1)} {
    segments const one = made(longest_, 1);
    if (steps_ <= longest_ && bytes(one) <= budget) {  // no step runs again
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
  /// The fewest bytes of any.
  [[nodiscard]] wide least_bytes() const { return lesser(bytes(made(1, 1)), bytes(made(longest_, 1))); }
  [[nodiscard]] wide bytes(segments const& plan) const {
    workload const run = as_run(plan, work_);
    return parts_with(plan, plan.slots(), run.form, sizes_of(run, plan.leaf()), run.verify).total();
  }
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
      if (bytes(made(tried, slots)) <= budget) fits = tried;
      else most = tried - 1;
    }
    return fits;
  }
  void take(segments const& plan) {
    if (!best || runs(plan) < runs(*best)) best = plan;
  }

  workload const& work_;
  step_index steps_, longest_;
};

}  // namespace cairn::detail
