// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_for.hpp  A plan for a loop with a tape: chooses the length of leaves and the slots together.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <cairn/adapt/ad/taped.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/workload.hpp>
#include <cairn/plan/loop/plan_within.hpp>
#include <cairn/run/probe.hpp>

namespace cairn {

/// A loop of a given length within a memory budget, which covers checkpoints, adjoint, and the tape of a leaf.
struct budget_of {
  step_index steps = 0;  ///< loop length, >= 0
  byte_size bytes = {};  ///< as for `plan_within`
};

/// The measured size and time of a leaf of a certain length.
struct leaf_weight {
  step_index steps = 1;  ///< its length
  wide bytes = 0;        ///< the tool's tape, and the state over the tool's scalar
  double seconds = 0;    ///< to record and reverse it
};

/// Measures a leaf of the first `steps` steps from x0, three times, starting with an empty tape.
/// \pre x0 is a state of the loop, steps >= 1
template <class Tool, class Model, class Params, class Objective, class State>
[[nodiscard]] leaf_weight weigh_leaf(taped<Tool, Model, Params, Objective>& loop, State const& x0, step_index steps) {
  using clock = std::chrono::steady_clock;
  leaf_weight found{steps, 0, 0};
  loop.clear();
  for (int tried = 0; tried < 3; ++tried) {
    auto bar = loop.bar(x0);
    if (tried == 2) loop.forget_tape_bytes();  // buffers have their final size by now
    auto const begin = clock::now();
    loop.adjoint(x0, bar, step_index{0}, steps);
    double const seconds = std::chrono::duration<double>(clock::now() - begin).count();
    if (tried == 0 || seconds < found.seconds) found.seconds = seconds;
  }
  found.bytes = loop.tape_bytes();
  return found;
}

/// The workload of a loop over `taped`, measured by `probe` and by leaves of one and two steps: sizes and times of
/// states and steps, `tape_bytes` and `tape_step_bytes` of the tape. \param tried  as for `probe`
template <class Tool, class Model, class Params, class Objective, class State>
[[nodiscard]] workload workload_of(taped<Tool, Model, Params, Objective>& loop, State const& x0, step_index steps,
                                   step_index tried = 16) {
  workload work = probe<std::chrono::steady_clock>(loop.step, x0, steps, loop.bar(x0), loop.adjoint, tried);
  if (steps == 0) return work;
  leaf_weight const one = weigh_leaf(loop, x0, 1);
  work.adjoint_seconds = one.seconds;
  work.tape_bytes = one.bytes;
  if (steps > 1) {
    leaf_weight const two = weigh_leaf(loop, x0, 2);
    work.tape_step_bytes = two.bytes > one.bytes ? two.bytes - one.bytes : 0;
    work.tape_bytes = one.bytes > work.tape_step_bytes ? one.bytes - work.tape_step_bytes : 0;
  }
  return work;
}

/// The plan with the fewest predicted seconds within a budget. Considers leaves of 1, 2, 4 ... steps, each measured on
/// the first steps of the loop, and all numbers of slots for `revolve`. Cost: a leaf of each length three times, at
/// most 1/8 of the loop's steps and 64.
/// \throws infeasible_budget; what the model throws
template <class Tool, class Model, class Params, class Objective, class State>
[[nodiscard]] planned plan_for(taped<Tool, Model, Params, Objective>& loop, State const& x0, budget_of budget) {
  workload work = workload_of(loop, x0, budget.steps);
  planning_options options;
  options.only = planner::revolve;  // no other planner in memory has fewer step calls; searching all of them would
  options.leaf = 1;                 // take longer than many a loop
  planned best = plan_within(budget.bytes, work, options);
  for (step_index length = 2; length <= (std::min<step_index>)(budget.steps / 8, 64); length *= 2) {
    if (work.tape_bytes + wide(length) * work.tape_step_bytes > budget.bytes.count()) break;  // cannot fit
    leaf_weight const leaf = weigh_leaf(loop, x0, length);
    workload of_leaf = work;
    of_leaf.adjoint_seconds = leaf.seconds / double(length);
    of_leaf.tape_bytes = leaf.bytes;
    of_leaf.tape_step_bytes = 0;
    options.leaf = length;
    try {
      planned other = plan_within(budget.bytes, of_leaf, options);
      if (is_cheaper(other.cost, best.cost, work)) best = std::move(other);
    } catch (infeasible_budget const&) {
      break;
    }
  }
  loop.clear();  // frees the memory of leaves longer than the plan's
  loop.begin();
  return best;
}

}  // namespace cairn
