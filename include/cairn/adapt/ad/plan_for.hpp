// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_for.hpp  A plan for a loop with a tape: chooses the length of leaves and the slots together.
#include <algorithm>
#include <chrono>
#include <utility>
#include <cairn/adapt/ad/taped.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/detail/plan_over_leaves.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/rules/workload.hpp>
#include <cairn/run/probe.hpp>
#include <cairn/schedule/budget_of.hpp>

namespace cairn {

/// The measured size and time of a leaf of a certain length.
struct leaf_weight {
  step_index steps = 1;  ///< its length
  wide bytes = 0;        ///< the tool's tape, and the state over the tool's scalar
  double seconds = 0;    ///< to record and reverse it
};

/// Measures a leaf of `steps` steps at x0, three times, starting with an empty tape.
/// \param of_loop  the loop's steps: then the leaf with the most terms counts, and the terms of the final state; 0 for
///   a leaf of the first steps   \pre x0 is a state of the loop, steps >= 1
template <class Tool, class Model, class Params, class Objective, class State>
[[nodiscard]] leaf_weight weigh_leaf(taped<Tool, Model, Params, Objective>& loop, State const& x0, step_index steps,
                                     step_index of_loop = 0) {
  using clock = std::chrono::steady_clock;
  leaf_weight found{steps, 0, 0};
  found.bytes = loop.weigh(x0, steps, of_loop, [&](auto const& run) {
    auto const begin = clock::now();
    run();
    double const seconds = std::chrono::duration<double>(clock::now() - begin).count();
    if (found.seconds == 0 || seconds < found.seconds) found.seconds = seconds;
  });
  return found;
}

/// The workload of a loop over `taped`, measured by `probe` and by leaves of one and two steps: sizes and times of
/// states and steps, `tape_bytes` and `tape_step_bytes` of the tape. \param tried  as for `probe`
template <class Tool, class Model, class Params, class Objective, class State>
[[nodiscard]] workload workload_of(taped<Tool, Model, Params, Objective>& loop, State const& x0, step_index steps,
                                   step_index tried = 16) {
  workload work = probe<std::chrono::steady_clock>(loop.step, x0, steps, loop.bar(x0), loop.adjoint, tried);
  if (steps == 0) return work;
  work.adjoint_seconds = weigh_leaf(loop, x0, 1).seconds;
  return work;
}

namespace detail {

/// The workload of a loop over `taped` without its tape, measured with one state and one adjoint at a time, so that a
/// budget for the loop covers it: `probe` copies states by the megabyte, to time them.
/// \pre the bytes of State are known
template <class Tool, class Model, class Params, class Objective, class State>
[[nodiscard]] workload lean_workload(taped<Tool, Model, Params, Objective>& loop, State const& x0, step_index steps) {
  using clock = std::chrono::steady_clock;
  if (steps < 0)
    throw invalid_plan{
        "cairn::plan_for", "a loop cannot have a negative number of steps", {{"steps", steps}}, "give 0 or more"};
  workload work;
  work.steps = steps;
  work.form = {step_form::in_place, adjoint_form::leaf};
  work.initial_bytes = work.state_bytes = bytes_of(x0);
  work.adjoint_bytes = bytes_of(loop.bar(x0));
  work.params_bytes = bytes_of(loop.params());
  loop.begin();
  State x(x0);
  for (step_index i = 0; i < (std::min<step_index>)(steps, 16); ++i) {
    auto const begin = clock::now();
    loop.step(x, i);
    double const seconds = std::chrono::duration<double>(clock::now() - begin).count();
    if (i == 0 || seconds < work.step_seconds) work.step_seconds = seconds;
    work.state_bytes = (std::max)(work.state_bytes, wide(bytes_of(x)));
  }
  work.adjoint_bytes += work.state_bytes - *work.initial_bytes;  // the adjoint of a state that has grown
  work.state_inline_bytes = (std::min)(work.state_bytes, wide{sizeof(State)});
  return work;
}

/// \param beside  beside(slots, state): bytes that a run on disk takes for itself, with states of so many bytes
template <class Tool, class Model, class Params, class Objective, class State, class Budget,
          class Beside = nothing_beside>
[[nodiscard]] planned plan_of_tool(taped<Tool, Model, Params, Objective>& loop, State const& x0, Budget const& budget,
                                   replay_check verify = replay_check::off, Beside const& beside = {}) {
  workload work;
  if constexpr (sized_state<State> && sized_state<state_and_params<State, Params>>)
    work = lean_workload(loop, x0, budget.steps);
  else work = workload_of(loop, x0, budget.steps);  // says what is missing
  work.verify = verify;
  double const step_seconds = std::exchange(work.step_seconds, 0);
  leaf_weight weighed;
  planning_options options;
  options.only = planner::revolve;  // no other planner in memory has fewer step calls; searching all of them would
                                    // take longer than many a loop
  auto const plan = [&](step_index leaf) {
    options.leaf = leaf;
    return plan_over_leaves(budget, x0, work, options, beside);
  };
  auto const weigh = [&](step_index leaf) {
    if (budget.steps > 0) weighed = weigh_leaf(loop, x0, leaf, budget.steps);
    work.tape_bytes = weighed.bytes;
    return wide{0};
  };
  planned best = best_leaf(work, longest_leaf(budget.steps), {true, loop.adjoint.call.leaf_stays}, weigh, plan);
  loop.begin();
  work.step_seconds = step_seconds;
  work.adjoint_seconds = weighed.seconds / double(weighed.steps);
  best.cost.seconds = seconds_of(best.cost.counts, work, wide(best.cost.counts.peak_slots));
  return best;
}

}  // namespace detail

/// The plan with the fewest step calls within a budget, and of those the one with the fewest bytes: counts decide, and
/// times only say how long it will take (`cost.seconds`). So a plan for a larger budget never has more step calls.
/// Considers leaves of 1, 2, 4 ... steps, at most 1/8 of the loop's steps, 64 and 16 MiB, and all numbers of slots for
/// `revolve`. Measures the first steps of the loop, and a leaf of each length that may fit, within the budget, if any
/// plan fits it. Temporary memory of the model itself is not counted.
/// Cost: up to 16 steps, and each leaf three times
/// \throws infeasible_budget; invalid_plan; what the model throws
template <class Tool, class Model, class Params, class Objective, class State>
[[nodiscard]] planned plan_for(taped<Tool, Model, Params, Objective>& loop, State const& x0, budget_of<> budget) {
  return detail::plan_of_tool(loop, x0, budget);
}
/// The same with files, for a budget with a folder. A tape's bytes are those that the tool counts of its own recording
/// of the first steps, so that a process that goes on after a kill finds the same ones, and the same plan.
template <class Tool, class Model, class Params, class Objective, class State, class Folder>
[[nodiscard]] planned plan_for(taped<Tool, Model, Params, Objective>& loop, State const& x0,
                               budget_of<Folder> const& budget) {
  return detail::plan_of_tool(loop, x0, budget);
}

}  // namespace cairn
