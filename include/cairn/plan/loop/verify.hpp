// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file verify.hpp  Walks a whole schedule on step numbers: the reference for every schedule.
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/interpreter.hpp>
#include <cairn/schedule/position.hpp>

namespace cairn {

/// The result of `check`: the totals of a sound schedule, or the first action that no executor could obey.
struct verdict {
  flaw reason = flaw::none;  ///< what is wrong, or `none`
  wide number = 0;         ///< number of the last action, counted from 0
  action culprit;          ///< that action; `done` for a sound schedule
  schedule_counts counts;  ///< totals up to that action
  /// Whether the schedule is sound.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return reason == flaw::none; }
};

namespace detail {

template <schedule Plan>
[[nodiscard]] constexpr schedule_limits limits_of(Plan const& plan) {
  return {plan.steps(),          plan.slots(),        tapes_of(plan), plan.leaf(),
          initial_is_free(plan), tapes_restart(plan), units_of(plan)};
}

/// Whether the action names the tier on which the plan places the slot; if the plan does not say, any tier will do.
template <schedule Plan>
[[nodiscard]] constexpr bool on_its_tier(Plan const& plan, action const& a) {
  return a.kind != action_kind::save || !has_slot_tiers(plan) || slot_tier(plan, a.slot) == a.where;
}

/// Walks a plan with an interpreter. All code that writes, draws or counts actions uses this walk: `see(number,
/// action)` is called for each action that can be obeyed, including `done`.
template <schedule Plan, class See>
[[nodiscard]] constexpr verdict interpret(Plan const& plan, interpreter machine, See see) {
  cursor_of<Plan> cursor = plan.walk();
  verdict found;
  for (;; ++found.number) {
    found.culprit = cursor.next();
    found.reason = machine.obey(found.culprit);
    if (found.reason == flaw::none && !on_its_tier(plan, found.culprit)) found.reason = flaw::wrong_tier;
    if (found.reason != flaw::none) break;
    see(found.number, found.culprit);
    if (found.culprit.kind == action_kind::done) break;
  }
  found.counts = machine.counts();
  return found;
}
template <schedule Plan>
[[nodiscard]] constexpr verdict interpret(Plan const& plan, interpreter machine) {
  return interpret(plan, machine, [](wide, action const&) {});
}

constexpr schedule_counts accepted(verdict const& found, char const* who, char const* advice = "") {
  if (found) return found.counts;
  action const& a = found.culprit;
  throw invalid_schedule{who,
                         describe(found.reason),
                         {{"action", found.number}, {"step", a.from}, {"to", a.to}, {"slot", a.slot}},
                         advice};
}

}  // namespace detail

/// Walks the plan to its end or to its first flaw. Cost: O(actions) time, O(slots in use) memory.
template <schedule Plan>
[[nodiscard]] constexpr verdict check(Plan const& plan) {
  return detail::interpret(plan, interpreter{detail::limits_of(plan)});
}
/// The same for a plan that takes over a sweep at `position`; its first action must not need a live state.
template <schedule Plan>
[[nodiscard]] constexpr verdict check(Plan const& plan, sweep_position const& position) {
  return detail::interpret(plan, interpreter{detail::limits_of(plan), position});
}

/// The totals of the plan.   \throws invalid_schedule   with the number, range and slot of the first action that cannot
/// be obeyed
template <schedule Plan>
schedule_counts constexpr verify(Plan const& plan) {
  return detail::accepted(check(plan), "cairn::verify");
}
/// The totals of a plan that takes over a sweep at `position`.   \throws invalid_schedule
template <schedule Plan>
schedule_counts constexpr verify(Plan const& plan, sweep_position const& position) {
  return detail::accepted(check(plan, position), "cairn::verify");
}

}  // namespace cairn
