// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file units_shape.hpp  The numbers of schedules whose states and tapes share a budget of units.
#include <cairn/core/action.hpp>

namespace cairn {

/// The numbers of a `mixed`, `bptt` or `runge_kutta`, by name: `mixed{{.steps = 1000, .units = 20}, {.tape_units =
/// 2}}`.
struct units_shape {
  step_index steps = -1;  ///< loop length; required
  slot_index units = -1;  ///< units that states and tapes share; required
};

}  // namespace cairn
