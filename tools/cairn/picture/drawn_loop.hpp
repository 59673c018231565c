// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file drawn_loop.hpp  The actions of a schedule for a picture: checked one by one, and limited in number.
#include <string>
#include <vector>

#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/plan/text/action_limits.hpp>

#include "words.hpp"

namespace picture {

inline constexpr int least_columns = 24, most_columns = 1'000, most_rows = 10'000;

inline void check_text_size(char const* who, int columns, int rows) {
  if (columns < least_columns || columns > most_columns || rows < 1 || rows > most_rows)
    throw invalid_plan{who,
                       "no picture has this size",
                       {{"columns", columns}, {"rows", rows}},
                       "give 24 to 1000 columns and 1 to 10000 rows"};
}

/// The actions of the plan before `done`.   \param who  the picture
/// Cost: two walks; O(1) for a loop of more leaves than may be drawn, because each leaf takes at least one `reverse`.
/// \throws invalid_plan   for more than `most_drawn_actions`
/// \throws invalid_schedule   at the first action that cannot be obeyed
template <schedule Plan>
[[nodiscard]] std::vector<action> drawn_actions(Plan const& plan, char const* who) {
  auto const refuse_more = [&](wide number) {
    if (number > wide{most_drawn_actions})
      throw invalid_plan{who,
                         "too many actions for a picture",
                         {{"steps", plan.steps()}, {"most actions drawn", most_drawn_actions}},
                         "draw a shorter loop within the same slots: its pattern is the same"};
  };
  if (plan.leaf() > 0) refuse_more(wide(plan.steps() / plan.leaf()));
  std::vector<action> all;
  auto cursor = plan.walk();
  for (action next = cursor.next(); next.kind != action_kind::done; next = cursor.next()) {
    refuse_more(all.size() + 1);
    all.push_back(next);
  }
  (void)verify(plan);
  return all;
}

/// All that a picture of a loop needs of its schedule, so that drawing code is not a template.
struct drawn_loop {
  std::vector<action> actions;  ///< as returned by `drawn_actions`
  std::string words;            ///< the plan in a few words
  step_index steps = 0;
  bool has_tapes = false;
};
template <schedule Plan>
[[nodiscard]] drawn_loop drawn_loop_of(Plan const& plan, char const* who) {
  return {drawn_actions(plan, who), plan_words(plan), plan.steps(), tapes_of(plan) > 0};
}

}  // namespace picture
