// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/detail/plan_search.hpp>
#include <cairn/plan/loop/segments_within.hpp>

namespace cairn {

CAIRN_DECL planned_segments segments_within(byte_size budget, workload const& given) {
  constexpr char const* who = "cairn::segments_within";
  if (!given.reversible)
    throw invalid_plan{who, "the workload does not say what running backwards costs", {}, "give workload::reversible"};
  step_index const n = detail::steps_of(given, who);
  workload work = given;
  work.form.adjoint = adjoint_form::one_step;
  work.tape_bytes = work.tape_step_bytes = 0;
  auto const bytes = detail::bytes_of_segments(work);
  detail::best_segments const found{budget.count(), n, work.reversible->longest, bytes};
  found.check(who, budget.count());
  planned_segments answer;
  answer.schedule = *found.best;
  segments const& plan = answer.schedule;
  if (n <= most_walked_steps || plan.is_counted()) answer.cost = estimate(plan, work);
  else {  // what a walk of so many segments would find beside these, nobody waits for
    cost& sum = answer.cost;
    sum.steps = n;
    sum.slots = plan.slots();
    sum.memory_bytes = sum.peak_bytes = bytes(plan);
    sum.step_calls = found.runs(plan) - wide(n - plan.leaf());
    sum.seconds = double(sum.step_calls) * work.step_seconds + double(n) * work.adjoint_seconds;
    detail::add_reversal(sum, plan, work);
  }
  detail::plan_contest alone{work, budget};
  if (alone.try_widest(planner::revolve, {.free_initial = true}, detail::revolve_factory{n}))
    answer.checkpoints = alone.best().cost;
  return answer;
}

}  // namespace cairn
