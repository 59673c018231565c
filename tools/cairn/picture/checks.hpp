// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checks.hpp  What pictures refuse before anything is drawn.
#include <cstddef>
#include <span>

#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/text/action_limits.hpp>

#include "words.hpp"

namespace picture {

/// The most lines or parts that one picture can tell apart by their colours.
inline constexpr std::size_t most_colours = 8;

/// \param advice  what can be drawn instead
inline void check_drawn_actions(char const* who, std::span<action const> actions, char const* advice) {
  if (actions.size() > most_drawn_actions)
    throw invalid_plan{who,
                       "too many actions for a picture",
                       {{"actions", actions.size()}, {"most actions drawn", most_drawn_actions}},
                       advice};
}
/// \param count  marks of any kind
inline void check_drawn_count(char const* who, std::size_t count) {
  if (count > most_drawn_actions)
    throw invalid_plan{who,
                       "too many numbers for a picture",
                       {{"numbers", count}, {"most drawn", most_drawn_actions}},
                       "draw a part of them"};
}
/// \param count  curves, series or parts
inline void check_colours(char const* who, std::size_t count) {
  if (count < 1 || count > most_colours)
    throw invalid_plan{who,
                       "a picture can distinguish 1 to 8 lines or parts",
                       {{"asked for", count}},
                       "draw several pictures, or combine small parts"};
}

}  // namespace picture
