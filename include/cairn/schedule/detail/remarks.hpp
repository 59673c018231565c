// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file remarks.hpp  What a plan says of its numbers: a refusal, also of a table that is too large, or a remark on
/// those that are likely a mistake.
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// 2 GiB: the default limit.
inline constexpr wide most_table_bytes = wide{1} << 31;

/// \param who  the public name that needs the table   \param bytes  its size   \param most  the limit
/// \throws invalid_plan   unless bytes <= most
constexpr void check_table(char const* who, step_index steps, wide bytes, wide most) {
  if (bytes > most)
    throw invalid_plan{who,
                       "the table of this plan does not fit",
                       {{"steps", steps}, {"table bytes", bytes}, {"most table bytes", most}},
                       "allow more by most_table_bytes, or give fewer steps or slots"};
}

/// \param who  the public name that is given the steps   \throws invalid_plan   for a negative number of them
constexpr void check_steps(char const* who, step_index steps) {
  if (steps < 0)
    throw invalid_plan{who, "a loop cannot have a negative number of steps", {{"steps", steps}}, "give 0 or more"};
}

/// A remark and not an error: a program that shortens its loop must not fail because some slots no longer help.
[[nodiscard]] constexpr char const* remark_on_slots(step_index steps, slot_index slots) noexcept {
  return slots > greater<step_index>(steps, 1)
             ? "more slots than the loop has states: are steps and slots swapped?"
             : "";
}

}  // namespace cairn::detail
