// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file written_actions.hpp  The actions of a schedule for a file: checked one by one, and limited in number.
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/plan/text/action_limits.hpp>

namespace cairn::detail {

/// The check of what is written.
template <class Schedule>
[[nodiscard]] consteval bool check_written() {
  constexpr bool is_schedule = schedule<Schedule>;
  static_assert(is_schedule, "cairn: actions are written of a schedule, for example cairn::revolve{n, slots}");
  return is_schedule;
}

[[noreturn]] inline void refuse_to_write(char const* who, step_index steps) {
  throw invalid_plan{who,
                     "too many actions for a text",
                     {{"steps", steps}, {"most actions written", most_written_actions}},
                     "walk the plan in a program of your own"};
}

/// Calls write(action) for every action, `done` included.   Cost: one walk; O(1) for a loop of more leaves than may be
/// written.
/// \throws invalid_plan   for too many actions   \throws invalid_schedule   at the first action that cannot be obeyed
template <schedule Plan, class Write>
void each_written_action(Plan const& plan, char const* who, Write write) {
  if (plan.leaf() > 0 && plan.steps() / plan.leaf() > most_written_actions) refuse_to_write(who, plan.steps());
  accepted(interpret(plan, interpreter{limits_of(plan)},
                     [&](wide number, action const& taken) {
                       if (number > wide{most_written_actions}) refuse_to_write(who, plan.steps());
                       write(taken);
                     }),
           who);
}

}  // namespace cairn::detail
