// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/segments_within.hpp>
#include <cairn/rules/detail/most_within.hpp>
#include <cairn/rules/detail/sweep_needs.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/revolve.hpp>

namespace cairn {

CAIRN_DECL planned_segments segments_within(byte_size budget, workload const& given, reversible_costs const& costs) {
  constexpr char const* who = "cairn::segments_within";
  if (!given.steps)
    throw invalid_plan{who, "the workload does not say how many steps the loop has", {}, "give workload::steps"};
  detail::check_state_bytes(given, who);
  step_index const n = *given.steps;
  workload work = given;
  work.form.adjoint = adjoint_form::leaf;
  work.tape_step_bytes = costs.kept_bytes;
  work.tape_bytes = given.state_bytes * (given.form.step == step_form::out_of_place ? 2 : 1);
  auto const bytes_of_plan = [&](segments const& plan) {
    auto sizes = detail::sizes_of(work, plan.leaf());
    if (plan.leaf() < 2) sizes.tape = 0;  // the adjoint of one step, at a state that is held
    return detail::parts_with(plan, plan.slots(), work.form, sizes, work.verify).total();
  };
  auto const made = [&](step_index length, slot_index slots) { return segments{n, {.length = length, .slots = slots}}; };
  wide const limit = budget.count();
  // The longest segments with so many slots in use that fit; 0 if none do. Longer ones than (n - 1) / slots use fewer.
  auto const longest = [&](slot_index slots) -> step_index {
    step_index fits = 0, most = (n - 1) / slots;
    while (fits < most) {
      step_index const tried = most - (most - fits) / 2;
      if (bytes_of_plan(made(tried, slots)) <= limit) fits = tried;
      else most = tried - 1;
    }
    return fits;
  };
  std::optional<segments> best;
  wide fewest = 0;
  auto const take = [&](step_index length, slot_index slots) {
    segments const plan = made(length, slots);
    wide const runs = segments::fewest_runs(n, length, slots);
    if (best && runs >= fewest) return;
    best = plan, fewest = runs;
  };
  if (bytes_of_plan(segments{n}) <= limit) take(n, 1);  // no step runs again
  else
    for (slot_index slots = 1; slots < n; slots += 1 + (slots > 1000 ? slots / 64 : 0)) {
      step_index const length = longest(slots);
      if (length == 0) break;
      take(length, slots);
    }
  if (!best) {
    wide const one = bytes_of_plan(made(1, 1)), all = bytes_of_plan(segments{n}), least = one < all ? one : all;
    std::int64_t const most = INT64_MAX;
    throw infeasible_budget{who,
                            "no segments keep the sweep within the budget",
                            {{"budget", std::int64_t(limit > wide(most) ? wide(most) : limit)},
                             {"least", std::int64_t(least > wide(most) ? wide(most) : least)},
                             {"steps", n}},
                            "give at least that many bytes"};
  }
  planned_segments found;
  found.schedule = *best;
  if (best->leaf() < 2) work.tape_bytes = work.tape_step_bytes = 0;
  bool const timed = detail::has_times(given) || costs.back_seconds.value_or(0) > 0;
  double const step = timed ? given.step_seconds : 1, back = timed ? costs.back_seconds.value_or(given.step_seconds) : 1;
  if (n <= most_walked_steps || best->is_counted()) found.cost = estimate(*best, work);
  else {  // what a walk of so many segments would find beside these, nobody waits for
    found.cost.steps = n;
    found.cost.slots = best->slots();
    found.cost.step_calls = segments::fewest_runs(n, best->leaf(), best->slots()) - wide(n - best->leaf());
    found.cost.memory_bytes = found.cost.peak_bytes = bytes_of_plan(*best);
    found.cost.seconds = double(found.cost.step_calls) * given.step_seconds + double(n) * given.adjoint_seconds;
  }
  if (best->leaf() > 1) {
    found.steps_back = wide(n);
    found.steps_again = wide(n - best->leaf());
  }
  found.seconds = (timed ? found.cost.seconds : double(found.cost.step_calls)) + double(found.steps_again) * step +
                  double(found.steps_back) * back;
  workload plain = given;
  plain.form.adjoint = adjoint_form::one_step;
  plain.tape_bytes = plain.tape_step_bytes = 0;
  auto const sizes = detail::sizes_of(plain);
  auto const fit = detail::most_within(limit, 1, useful_slots(n), [&](slot_index slots) {
    revolve const plan{n, slots};
    return detail::parts_with(plan, plan.slots(), plain.form, sizes, plain.verify).total();
  });
  if (fit.fits) {
    auto const checkpoints = estimate(revolve{n, fit.slots}, plain);
    found.revolve_step_calls = checkpoints.step_calls;
    found.revolve_seconds = timed ? checkpoints.seconds : double(checkpoints.step_calls);
  }
  return found;
}

}  // namespace cairn
