// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file online_within.hpp  From a budget in bytes to the slots of a loop of unknown length.
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/rules/detail/most_within.hpp>
#include <cairn/rules/detail/sweep_needs.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/schedule/online.hpp>

namespace cairn {

/// The `online` with the most slots whose `checkpointed_while`, and each `reverse` of it, takes at most `budget` bytes
/// of memory, wherever the loop ends: `online_within("64MB", work)`.
/// \param work  the sizes of the largest values and `form.step`, `form.adjoint`, as `probe` finds them; `choice_bytes`
///   and a replay check of every step grow with the loop, so give them, or `steps`, for the most steps that it may take
/// \throws infeasible_budget   with the least feasible bytes   \throws invalid_plan, overflow_error   for an impossible
///   workload, or one without the bytes of a state or a tape
[[nodiscard]] constexpr online online_within(byte_size budget, workload work, online_options options = {}) {
  constexpr char const* who = "cairn::online_within";
  detail::check_state_bytes(work, who);
  detail::check_tape_bytes(work, 1, who);
  if (work.verify == replay_check::every_step && !work.steps)
    throw invalid_plan{who, "a replay check of every step takes bytes for each step", {},
                       "give workload::steps, the most that the loop may take, or ask for replay_check::checkpoints"};
  work.form.keeps_run = true;
  sweep_sizes const sizes = detail::sizes_of(work);
  auto const bytes_with = [&](slot_index slots) {
    detail::sweep_needs const needs{
        .slots = slots, .peak_slots = slots, .table = online{slots, options}.table_bytes(),
        .hashes = replay_check_bytes(work.verify, {work.steps.value_or(0), slots, 0, true, true})};
    return sweep_parts_of(needs, work.form, sizes, most_states(needs, work.form), 1).total();
  };
  wide const most = budget.count() / work.state_bytes + 1;
  slot_index const high = slot_index(detail::lesser<wide>(most, INT64_MAX - 16));
  slot_fit const fit = detail::most_within(budget.count(), 1, high, bytes_with);
  if (!fit.fits)
    throw infeasible_budget{who,
                            "no number of slots fits the budget",
                            {{"budget", budget.count()}, {"least bytes", fit.bytes}, {"state bytes", work.state_bytes}},
                            "give the least bytes, or more"};
  return online{fit.slots, options};
}

}  // namespace cairn
