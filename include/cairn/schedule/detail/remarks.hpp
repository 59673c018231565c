// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file remarks.hpp  Remarks on numbers of a valid plan that are most likely a mistake.
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// A remark and not an error: a program that shortens its loop must not fail because some slots no longer help.
[[nodiscard]] constexpr char const* remark_on_slots(step_index steps, slot_index slots) noexcept {
  return slots > (steps > 1 ? steps : 1) ? "more slots than the loop has states: are steps and slots swapped?" : "";
}
/// The same for units; the tape of each step takes `tape_units` of them.
[[nodiscard]] constexpr char const* remark_on_units(step_index steps, slot_index units,
                                                    slot_index tape_units) noexcept {
  wide const all = wide(steps > 1 ? steps : 1) * wide(tape_units);
  return wide(units) > all ? "more units than all states and tapes of the loop take: are steps and units swapped?" : "";
}
[[nodiscard]] constexpr char const* remark_on_period(step_index steps, step_index period) noexcept {
  return period > (steps > 1 ? steps : 1) ? "a period longer than the loop: are steps and period swapped?" : "";
}

}  // namespace cairn::detail
