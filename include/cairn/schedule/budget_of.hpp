// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file budget_of.hpp  A loop within a memory budget, in the place of its plan: planned by counting bytes, before
/// anything runs.
#include <cstdint>
#include <cairn/core/bytes.hpp>
#include <cairn/core/detail/sweep_needs.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/frames_needed.hpp>
#include <cairn/core/replay_check.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/schedule/revolve.hpp>

namespace cairn {

/// A loop of a given length within a memory budget: `budget_of{10'000, "64MB"}` in the place of a plan.
///
/// The library counts the bytes of x0, of bar, of p and dp, and of what a sweep keeps, all from the values and types
/// that it is given, and takes the `revolve` with the most slots that fit; a slot for every state if all fit. Nothing
/// runs, so the plan is the same on every machine, and a larger budget never gives more step calls. Not counted: heap
/// memory that steps and adjoints take and free while they run, and data that they refer to. Sizes that change during
/// the loop, and tapes, must be measured: `measured{budget}`.
/// \throws infeasible_budget   before any step runs, with the least budget, if no plan fits
/// \ingroup start
struct budget_of {
  step_index steps = 0;  ///< loop length, >= 0
  byte_size bytes = {};  ///< the budget

  /// The plan for a sweep with these sizes. \param others  bytes of p and dp   \param verify  its replay check
  /// \throws infeasible_budget, invalid_plan
  [[nodiscard]] constexpr revolve plan_for(sweep_form form, sweep_sizes const& sizes, wide others = 0,
                                           replay_check verify = replay_check::off) const {
    auto const bytes_with = [&](slot_index slots) { return bytes_of_plan(slots, form, sizes, verify) + others; };
    wide const limit = bytes.count(), least = bytes_with(1);
    if (least > limit) refuse(least);
    slot_index low = 1, high = steps > 1 ? steps : 1;
    if (bytes_with(high) <= limit) return {steps, high};
    while (high - low > 1) {
      slot_index const middle = low + (high - low) / 2;
      (bytes_with(middle) <= limit ? low : high) = middle;
    }
    return {steps, low};
  }
  /// The bytes of a sweep of `revolve{steps, slots}` at its peak.   \pre slots >= 1
  [[nodiscard]] constexpr wide bytes_of_plan(slot_index slots, sweep_form form, sweep_sizes const& sizes,
                                             replay_check verify = replay_check::off) const {
    revolve const plan{steps, slots};
    detail::sweep_needs const needs{
        .slots = plan.slots(),
        .peak_slots = steps > 1 ? plan.slots() : 0,
        .initial_apart = form.snapshots ? initial_stands_apart(plan, form) : initial_stands_apart(plan),
        .table = table_bytes_of(plan),
        .calls_adjoint = steps > 0,
        .hashes = replay_check_bytes(verify, {.steps = steps, .slots = plan.slots(), .keeps_run = form.keeps_run})};
    return detail::sweep_bytes(needs, form, sizes, detail::most_states(needs, form));
  }

 private:
  [[noreturn]] void refuse(wide least) const {
    std::int64_t const most = INT64_MAX;
    throw infeasible_budget{
        "cairn::budget_of",
        "no plan keeps the sweep within the budget",
        {{"budget", std::int64_t(wide(bytes.count()) > wide(most) ? wide(most) : wide(bytes.count()))},
         {"least", std::int64_t(least > wide(most) ? wide(most) : least)},
         {"steps", steps}},
        "give at least that many bytes, or a state or an adjoint that is smaller"};
  }
};

}  // namespace cairn
