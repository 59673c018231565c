// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file estimate.hpp  Predicts the cost of a plan on a workload before anything runs.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/plan/loop/detail/frame_counter.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/rules/detail/sweep_needs.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/schedule/walked_counts.hpp>

namespace cairn {

/// Where the counts of a `cost` come from: a walk that checked every action, or totals that the plan knows.
enum class counted : std::uint8_t { by_walk, in_closed_form };

/// The cost of one whole sweep. Counts are exact and equal to those of the sweep; bytes are for a store in memory.
struct cost {
  step_index steps = 0;  ///< loop length
  slot_index slots = 0;                     ///< slots that the plan reserves
  schedule_counts counts;  ///< the schedule's own totals
  wide step_calls = 0;                      ///< calls of the user's step, or of its `record`
  wide extra_steps = 0;                     ///< step_calls - steps; 0 for store-all
  wide advances = 0;                        ///< steps run without recording, as the literature counts them
  wide reversals = 0;                       ///< steps reversed
  wide forward_steps = 0;                   ///< advances + the recorded run of each step
  wide saves = 0;  ///< states saved
  wide loads = 0;  ///< states loaded
  wide steps_again = 0;  ///< of a `reversible` step: those that run again inside segments; not in `step_calls`
  wide steps_back = 0;   ///< of a `reversible` step: calls of `back`
  slot_index peak_slots = 0;                ///< most checkpoints at once
  slot_index peak_states = 0;               ///< most states at once, including those being worked on
  bool peak_is_exact = false;  ///< whether peak_states and peak_bytes are exact; if not, they may be up to three states
                               ///< too high
  wide stored_bytes = 0;                    ///< most bytes of checkpoints
  wide peak_bytes = 0;    ///< most bytes of everything: states, adjoint, tapes, tables, and the caller's initial state
  wide memory_bytes = 0;  ///< most bytes in memory if the states of other tiers are stored elsewhere
  wide tier_bytes[tier_count] = {};         ///< most bytes of checkpoints on each tier
  double forward_evaluations_per_step = 0;  ///< step_calls / steps; 1 for store-all, 0 for no steps
  double transfer_seconds = 0;              ///< saves and loads on all tiers
  double seconds = 0;                       ///< calls, reversals, transfers and new frames at the workload's times
  cairn::counted counted = cairn::counted::by_walk;  ///< where the counts come from
  char const* remark = "";  ///< the plan's remark on its parameters, such as "more slots than the loop has states: are
                            ///< steps and slots swapped?"

  /// Steps in either direction; where nobody gives times, plans are compared by it.
  [[nodiscard]] constexpr wide steps_run() const noexcept { return step_calls + steps_again + steps_back; }
};

/// The longest loop whose schedule `estimate` walks to get counts that the plan does not know.
inline constexpr step_index most_walked_steps = 10'000'000;
/// The longest loop that `estimate` walks for an exact peak; this takes some milliseconds.
inline constexpr step_index most_counted_steps = 100'000;

namespace detail {

template <schedule Plan>
[[nodiscard, gnu::cold]] constexpr schedule_counts counts_of(Plan const& plan, counted& how) {
  if constexpr (always_counted<Plan>) {  // no walk is compiled
    how = counted::in_closed_form;
    return plan.counts();
  } else {
    if (knows_counts(plan)) {
      how = counted::in_closed_form;
      if constexpr (counted_schedule<Plan>) return plan.counts();
    }
    if (plan.steps() > most_walked_steps)
      throw invalid_plan{"cairn::estimate",
                         "the plan does not know its totals and is too long to walk",
                         {{"steps", plan.steps()}, {"most steps walked", most_walked_steps}},
                         "give it a member counts(), or walk it with cairn::verify"};
    how = counted::by_walk;
    return verify(plan);
  }
}

/// Slots and tables of a sweep. A kept run of a plan that learns its length is assumed to be run by
/// `checkpointed_while`.
template <schedule Plan>
[[nodiscard]] constexpr reserved_memory reserved_for(Plan const& plan, sweep_form form) {
  if (form.keeps_run && learns_length(plan)) return reserved_of(plan);
  return {plan.slots(), table_bytes_of(plan)};
}
/// Bytes of the hashes of a replay check.
template <schedule Plan>
[[nodiscard]] constexpr wide check_bytes_of(Plan const& plan, workload const& work, slot_index slots) {
  return replay_check_bytes(work.verify, {plan.steps(), slots, tapes_of(plan), work.form.keeps_run,
                                          work.form.keeps_run && learns_length(plan)});
}

template <schedule Plan>
[[nodiscard, gnu::cold]] constexpr sweep_needs needs_of(Plan const& plan, schedule_counts const& counts,
                                             workload const& work = {}) {
  constexpr slot_index most_slots = INT64_MAX - 16;  // leaves room for the states being worked on
  reserved_memory const reserved = reserved_for(plan, work.form);
  if (reserved.slots > most_slots)
    throw overflow_error{"cairn::estimate",
                         "more states than 63 bits can count",
                         {{"slots", reserved.slots}, {"most slots", most_slots}},
                         ""};
  bool const apart = work.form.snapshots ? initial_stands_apart(plan, work.form) : initial_stands_apart(plan);
  return {reserved.slots,       counts.peak_slots,           tapes_of(plan),
          plan.leaf(),          apart,                       reserved.table_bytes,
          counts.reversals > 0, shared_table_bytes_of(plan), check_bytes_of(plan, work, reserved.slots)};
}

/// The same when only slots in memory hold frames. The table still covers all slots.
[[nodiscard]] constexpr sweep_needs needs_in_memory(sweep_needs needs, schedule_counts const& counts) noexcept {
  slot_index const here = counts.on(tier::memory).peak;
  needs.table += wide(needs.slots - here) * bytes_a_slot;
  needs.slots = needs.peak_slots = here;
  return needs;
}

/// The most states at once, and the contents at the moment with the most bytes.
struct sweep_peak {
  slot_index states = 0;
  heaviest_moment heaviest;
};
/// The peak of a sweep: exact to the byte by a walk, otherwise up to three states too high. If no tapes are kept, the
/// most states and the tape of an adjoint call are assumed to coincide.
template <schedule Plan>
[[nodiscard, gnu::cold]] constexpr sweep_peak peak_of(Plan const& plan, sweep_form form, sweep_needs const& needs,
                                           sweep_sizes const& sizes, bool by_walk, bool other_tiers_apart) {
  wide const all_tapes = wide(needs.tapes) + (needs.calls_adjoint ? 1 : 0);
  if (!by_walk) return {most_states(needs, form), {most_states(needs, form), all_tapes, 0}};
  if (needs.tapes == 0 && !other_tiers_apart) {
    slot_index const states = most_frames(plan, form);
    return {states, {states, all_tapes, 0}};
  }
  frame_counter const counter =
      count_frames(plan, form, {sizes.state - sizes.state_inline,
                                sizes.tape != unknown_bytes ? sizes.tape - sizes.tape_inline : 0, other_tiers_apart});
  return {counter.peak(), counter.heaviest()};
}

/// Seconds of all saves and loads.
[[nodiscard]] constexpr double transfer_seconds_of(schedule_counts const& counts, workload const& work) noexcept {
  double sum = 0;
  for (tier const where : all_tiers)
    sum += double(counts.on(where).saves) * work.tiers[where].write_seconds +
           double(counts.on(where).loads) * work.tiers[where].read_seconds;
  return sum;
}
/// Seconds of a sweep with these counts.   \param frames  states in memory at once
[[nodiscard]] constexpr double seconds_of(schedule_counts const& counts, workload const& work, wide frames) noexcept {
  wide const records =
      work.form.adjoint == adjoint_form::recorded ? counts.recorded + counts.reversals - counts.taped : 0;
  return double(step_calls(counts, work.form.adjoint) - records) * work.step_seconds +
         double(records) * record_seconds(work) + double(counts.reversals) * work.adjoint_seconds +
         transfer_seconds_of(counts, work) + double(frames) * work.frame_seconds;
}

/// What goes back, and what runs again for it. A longer loop than `most_walked_steps` is walked to its turn, as if it had
/// no segment of one step.
template <schedule Plan>
constexpr void add_reversal(cost& sum, Plan const& plan, workload const& work) {
  if (!runs_back(plan, work)) return;
  bool const walks = sum.steps <= most_walked_steps;
  step_index first = 0;
  auto cursor = plan.walk();
  for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) {
    if (a.kind != action_kind::reverse) continue;
    step_index const length = a.to - a.from;
    if (a.to == sum.steps) first = length;
    if (length > 1) sum.steps_back += wide(length);
    if (!walks) break;
  }
  if (!walks) sum.steps_back = wide(sum.steps);
  sum.steps_again = sum.steps_back;
  if (!work.form.keeps_run && !learns_length(plan))  // else what the forward run kept is gone
    sum.steps_again -= work.reversible->keep_all ? sum.steps_back : first > 1 ? wide(first) : 0;
  sum.seconds += double(sum.steps_again) * work.step_seconds +
                 double(sum.steps_back) * work.reversible->back_seconds.value_or(work.step_seconds);
}

/// A plan's cost, with its bytes in memory itemised.
struct itemised_cost {
  cost sum;
  sweep_parts memory;
};

/// \param most_counted  the longest loop that is walked for an exact peak
template <schedule Plan>
[[nodiscard, gnu::cold]] constexpr itemised_cost itemised(Plan const& plan, workload const& given,
                                                          step_index most_counted) {
  workload const work = as_run(plan, given);
  sweep_sizes const sizes = sizes_of(work, plan.leaf());
  if (work.steps && *work.steps != plan.steps())
    throw invalid_plan{"cairn::estimate",
                       "plan and workload have different numbers of steps",
                       {{"plan", plan.steps()}, {"workload", *work.steps}},
                       ""};
  itemised_cost answer;
  cost& sum = answer.sum;
  sum.counts = counts_of(plan, sum.counted);
  sum.steps = plan.steps();
  sum.slots = plan.slots();
  sum.remark = remark_of(plan);
  sum.step_calls = step_calls(sum.counts, work.form.adjoint);
  sum.extra_steps = sum.step_calls - wide(sum.steps);
  sum.advances = sum.counts.advances;
  sum.reversals = sum.counts.reversals;
  sum.forward_steps = sum.counts.advances + sum.counts.recorded + sum.counts.reversals - sum.counts.taped;
  sum.saves = sum.counts.saves;
  sum.loads = sum.counts.loads;
  sum.peak_slots = sum.counts.peak_slots;
  sum.stored_bytes = wide(sum.peak_slots) * sizes.state;

  sweep_needs const needs = needs_of(plan, sum.counts, work);
  bool const by_walk = sum.steps <= most_counted && work.form.ahead == 0;  // a helper keeps its own time
  sum.peak_is_exact = by_walk && !(work.form.snapshots && work.verify != replay_check::off);
  sweep_peak const all = peak_of(plan, work.form, needs, sizes, by_walk, false);
  sum.peak_states = all.states;
  auto frames = wide(sum.peak_states);
  answer.memory = sweep_parts_of(needs, work.form, sizes, all.heaviest.states, all.heaviest.tapes);
  sum.peak_bytes = answer.memory.total();
  if (sum.counts.on(tier::memory).peak < sum.peak_slots) {
    sweep_needs const here = needs_in_memory(needs, sum.counts);
    heaviest_moment const heaviest = peak_of(plan, work.form, here, sizes, by_walk, true).heaviest;
    answer.memory = sweep_parts_of(here, work.form, sizes, heaviest.states, heaviest.tapes);
    frames = wide(heaviest.states);
  }
  sum.memory_bytes = answer.memory.total();

  for (tier const where : all_tiers) sum.tier_bytes[std::size_t(where)] = wide(sum.counts.on(where).peak) * sizes.state;
  if (sum.steps > 0) sum.forward_evaluations_per_step = double(sum.step_calls) / double(sum.steps);
  sum.transfer_seconds = transfer_seconds_of(sum.counts, work);
  sum.seconds = seconds_of(sum.counts, work, frames);
  add_reversal(sum, plan, work);
  if (!(sum.seconds <= (std::numeric_limits<double>::max)()))
    throw overflow_error{"cairn::estimate",
                         "the seconds of this plan are too many for a double",
                         {{"steps", sum.steps}},
                         "give the times in a larger unit"};
  return answer;
}

}  // namespace detail

/// The cost of `plan` on `work`; only counts if the workload has no sizes and times. Bytes are `unknown_bytes` if there
/// are tapes, or leaves of more than one step, and nobody says what they hold. A plan with tapes, such as `mixed`
/// or `bptt`, is run by an adjoint that records, whatever the workload's form says.
/// Cost: at most one walk for up to `most_counted_steps` steps, for `revolve` usually only to its turn; for longer
/// loops O(1) if the plan has `counts()`, else one walk.
/// \throws invalid_plan   if a plan without `counts()` has more than `most_walked_steps` steps, and if work.steps is
///   given and differs from the plan's   \throws invalid_schedule   if the walk finds a flaw   \throws overflow_error
///   for sizes of 2^62 bytes or more, for seconds that do not fit a double, and if the slots and the states being
///   worked on are together 2^63 or more
/// \ingroup start
template <schedule Plan>
[[nodiscard]] constexpr cost estimate(Plan const& plan, workload const& work = {}) {
  return detail::itemised(plan, work, most_counted_steps).sum;
}

}  // namespace cairn
