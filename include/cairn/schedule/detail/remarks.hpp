// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file remarks.hpp  A remark on numbers of a valid plan that are most likely a mistake.
#include <cairn/core/action.hpp>
#include <cairn/core/detail/lesser.hpp>

namespace cairn::detail {

/// A remark and not an error: a program that shortens its loop must not fail because some slots no longer help.
[[nodiscard]] constexpr char const* remark_on_slots(step_index steps, slot_index slots) noexcept {
  return slots > greater<step_index>(steps, 1)
             ? "more slots than the loop has states: are steps and slots swapped?"
             : "";
}

}  // namespace cairn::detail
