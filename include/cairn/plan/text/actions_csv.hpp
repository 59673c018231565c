// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file actions_csv.hpp  Schedules as comma-separated text, one action per line, and back.
///
///     # cairn schedule: steps=3 slots=1
///     action,from,to,slot,what,tier
///     save,0,,0,,
///     advance,0,2,,,
///     turn,2,3,,,
///     ...
///     done,,,,,
///
/// The first line holds the plan's numbers: steps and slots, and, unless they have their default, leaf, tapes,
/// free_initial, tapes_restart, units, tape_units. An empty cell stands for a default: in `what` for a state, or the
/// tape of a `record`; in `tier` for memory; in the slot of a `load` for the free initial state. A save or load names
/// its state in `from`.
#include <string>
#include <string_view>
#include <cairn/core/action.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/text/action_words.hpp>
#include <cairn/plan/text/detail/written_actions.hpp>
#include <cairn/schedule/action_list.hpp>

namespace cairn {

/// The two lines before the actions.
template <schedule Plan>
[[nodiscard]] std::string actions_csv_head(Plan const& plan) {
  unit_budget const budget = units_of(plan);
  std::string line = "# cairn schedule:";
  auto const say = [&](char const* name, wide value, wide usual) {
    if (value != usual) line.append(" ").append(name).append("=").append(detail::text<40>{}.add(value).c_str());
  };
  say("steps", wide(plan.steps()), ~wide{0});
  say("slots", wide(plan.slots()), ~wide{0});
  say("leaf", wide(plan.leaf()), 1);
  say("tapes", wide(tapes_of(plan)), 0);
  say("free_initial", initial_is_free(plan) ? 1 : 0, 0);
  say("tapes_restart", tapes_restart(plan) ? 1 : 0, 0);
  say("units", budget.units, unit_budget{}.units);
  say("tape_units", budget.tape_units, unit_budget{}.tape_units);
  return line + "\naction,from,to,slot,what,tier\n";
}

/// The line of one action, line end included.
[[nodiscard]] CAIRN_DECL std::string actions_csv_row(action const& a);

/// A whole schedule as text that `read_actions_csv` reads.   Cost: one walk, about 25 bytes per action.
/// \throws invalid_plan   for more than `most_written_actions`
/// \throws invalid_schedule   at the first action that cannot be obeyed
template <class Schedule>
[[nodiscard]] std::string actions_csv(Schedule const& plan) {
  if constexpr (!detail::check_written<Schedule>()) return {};
  else {
    std::string text = actions_csv_head(plan);
    detail::each_written_action(plan, "cairn::actions_csv",
                                [&](action const& taken) { text += actions_csv_row(taken); });
    return text;
  }
}

/// The schedule in a text from `actions_csv`, or from another program in the same form. Columns may be in any order,
/// empty columns may be omitted, and lines that begin with # are comments. The actions are read but not checked: use
/// `verified{read_actions_csv(text)}` for that.
/// \throws parse_error   with the number of the line, from 1   \throws invalid_plan   for invalid numbers of a plan,
///   such as leaf=0
[[nodiscard]] CAIRN_DECL action_list read_actions_csv(std::string_view text);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/actions_csv.ipp>
#endif
