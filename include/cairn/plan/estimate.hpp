#pragma once
/// \file estimate.hpp  What a plan costs on a workload, before anything runs.
#include <cstdint>
#include <limits>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/frames_needed.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/plan/frame_tally.hpp>
#include <cairn/plan/verify.hpp>
#include <cairn/plan/workload.hpp>
#include <cairn/schedule/walked_counts.hpp>

namespace cairn {

/// Where the counts of a `cost` come from: every action was played and checked, or the plan knows its totals.
enum class counted : std::uint8_t { by_walk, in_closed_form };

/// The cost of one whole sweep. Counts are exact and equal to those of the sweep; bytes are for a store in memory.
struct cost {
  step_index steps = 0;  ///< loop length
  slot_index slots = 0;                     ///< that the plan reserves
  schedule_counts counts;  ///< the schedule's own totals
  wide step_calls = 0;                      ///< calls of the user's step, or of its `record`
  wide extra_steps = 0;                     ///< step_calls - steps; 0 for store-all
  wide advances = 0;                        ///< unrecorded runs, as the literature counts them
  wide reversals = 0;                       ///< steps reversed
  wide forward_steps = 0;                   ///< advances + the recorded run of each step
  wide saves = 0;  ///< states kept
  wide loads = 0;  ///< states brought back
  slot_index peak_slots = 0;                ///< most checkpoints at once
  slot_index peak_states = 0;               ///< most states at once, those in work included
  bool peak_is_exact = false;               ///< of peak_states and peak_bytes; else they may be one or two states too high
  wide stored_bytes = 0;                    ///< of the checkpoints, at most
  wide peak_bytes = 0;                      ///< of everything: states, adjoint, tapes, tables, and the caller's initial state
  double forward_evaluations_per_step = 0;  ///< step_calls / steps; 1 for store-all, 0 for no steps
  double seconds = 0;                       ///< step_calls and reversals at the workload's times
  cairn::counted counted = cairn::counted::by_walk;  ///< where the counts come from
};

/// The longest loop whose schedule `estimate` is willing to walk, for counts that the plan does not know.
inline constexpr step_index most_walked_steps = 10'000'000;
/// The longest loop that `estimate` walks for an exact peak; some milliseconds.
inline constexpr step_index most_tallied_steps = 100'000;

namespace detail {

template <schedule Plan>
[[nodiscard]] constexpr schedule_counts counts_of(Plan const& plan, counted& how) {
  if (knows_counts(plan)) {
    how = counted::in_closed_form;
    if constexpr (counted_schedule<Plan>) return plan.counts();
  }
  if (plan.steps() > most_walked_steps)
    throw invalid_plan{"cairn::estimate", "the plan does not know its totals and is too long to walk",
                       {{"steps", plan.steps()}, {"most steps walked", most_walked_steps}}, "give it a member counts(), or walk it with cairn::verify"};
  how = counted::by_walk;
  return verify(plan);
}

template <schedule Plan>
[[nodiscard]] constexpr sweep_needs needs_of(Plan const& plan, schedule_counts const& counts) {
  constexpr slot_index most_slots = std::numeric_limits<slot_index>::max() - 16;  // room for the states in work
  if (plan.slots() > most_slots)
    throw overflow_error{"cairn::estimate", "more states than 63 bits can count", {{"slots", plan.slots()}, {"most slots", most_slots}}, ""};
  bool const apart = initial_is_free(plan) || tapes_of(plan) > 0;
  return {plan.slots(), counts.peak_slots, tapes_of(plan), plan.leaf(), apart, table_bytes_of(plan), counts.reversals > 0};
}

}  // namespace detail

/// The cost of `plan` on `work`; counts alone where no sizes and times are given.
/// Cost: one walk for up to `most_tallied_steps` steps; for longer loops O(1) where the plan has `counts()`, else one walk.
/// \throws invalid_plan   for a plan without `counts()` of more than `most_walked_steps` steps, and where work.steps is another number
/// \throws invalid_schedule   where the walk finds a flaw   \throws overflow_error   for sizes of 2^62 bytes or more, and where the
///         slots and the states in work together are 2^63 or more
template <schedule Plan>
[[nodiscard]] constexpr cost estimate(Plan const& plan, workload const& work = {}) {
  sweep_sizes const sizes = detail::sizes_of(work);
  if (work.steps && *work.steps != plan.steps())
    throw invalid_plan{"cairn::estimate", "plan and workload have different numbers of steps", {{"plan", plan.steps()}, {"workload", *work.steps}}, ""};
  cost sum;
  sum.counts = detail::counts_of(plan, sum.counted);
  sum.steps = plan.steps();
  sum.slots = plan.slots();
  sum.step_calls = step_calls(sum.counts, work.form.adjoint);
  sum.extra_steps = sum.step_calls - wide(sum.steps);
  sum.advances = sum.counts.advances;
  sum.reversals = sum.counts.reversals;
  sum.forward_steps = sum.counts.advances + sum.counts.recorded + sum.counts.reversals - sum.counts.taped;
  sum.saves = sum.counts.saves;
  sum.loads = sum.counts.loads;
  sum.peak_slots = sum.counts.peak_slots;
  sweep_needs const needs = detail::needs_of(plan, sum.counts);
  sum.peak_is_exact = sum.steps <= most_tallied_steps;
  sum.peak_states = sum.peak_is_exact ? detail::tallied_states(plan, work.form) : most_states(needs, work.form);
  sum.stored_bytes = wide(sum.peak_slots) * sizes.state;
  sum.peak_bytes = sweep_bytes(needs, work.form, sizes, sum.peak_states);
  if (sum.steps > 0) sum.forward_evaluations_per_step = double(sum.step_calls) / double(sum.steps);
  sum.seconds = double(sum.step_calls) * work.step_seconds + double(sum.reversals) * work.adjoint_seconds;
  return sum;
}

}  // namespace cairn
