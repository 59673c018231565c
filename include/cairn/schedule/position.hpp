// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file position.hpp  The position of a stopped sweep, in numbers: `remaining` replans from it and `verify` starts
/// from it.
#include <cstddef>
#include <cairn/core/action.hpp>

namespace cairn {

/// A state that a slot holds.
struct stored_state {
  slot_index slot = no_slot;  ///< which slot
  step_index state = 0;  ///< the number of the state
  tier where = tier::memory;  ///< where the slot lives
  friend constexpr bool operator==(stored_state const&, stored_state const&) = default;
};

/// The numbers of a sweep that stopped, because a checkpoint was lost, a store is full, or the process was restarted.
struct stopped_sweep {
  step_index steps = 0;  ///< loop length
  step_index open = 0;   ///< steps [0, open) are not yet reversed; all of them before the turn
  bool turned = false;   ///< whether the final state has been reached
  slot_index slots = 0;  ///< all slots, full or empty
  step_index leaf = 1;  ///< the most steps of one `reverse`
  /// Slots of other tiers are read, but not written any more: where a transfer costs more than a few steps.
  bool saves_in_memory = false;
};
/// In place of the state of a slot that cannot be written.
inline constexpr step_index unusable_slot = -2;

/// A sweep between two actions, without live state and stored tapes. Does not own `stored`.
struct sweep_position {
  step_index open = 0;   ///< steps [0, open) are not yet reversed; all of them before the turn
  bool turned = false;   ///< whether the final state has been reached
  stored_state const* stored = nullptr;  ///< the states that slots hold
  std::size_t stored_count = 0;  ///< number of stored states
};

}  // namespace cairn
