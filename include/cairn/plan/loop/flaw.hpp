// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file flaw.hpp  What can be wrong with a schedule.
#include <cstdint>

namespace cairn {

/// Why an executor could not obey an action.
enum class flaw : std::uint8_t {
  none,
  impossible_plan,      ///< steps, slots or tapes < 0, leaf < 1, or a position that does not belong to this plan
  unknown_action,       ///< an undeclared kind or content
  nothing_live,         ///< the action reads live, but a reverse has used it up and no load has followed
  wrong_live,           ///< the action starts from a state other than live
  empty_range,          ///< no step in [from, to)
  past_the_end,         ///< the action runs steps that do not exist or are already reversed
  longer_than_leaf,     ///< more steps at once than the plan's leaf allows
  no_such_slot,
  slot_taken,
  slot_empty,
  unknown_tier,
  wrong_tier,           ///< the plan places the slot on another tier
  cannot_restart,       ///< a load from a tape that does not restore a state
  over_budget,          ///< states and tapes together take more units than the plan has
  wrong_content,        ///< the slot holds another state or tape, or is on another tier
  second_turn,
  turn_not_to_the_end,
  reverse_before_turn,
  reverse_out_of_order, ///< a step other than the last open one is reversed
  done_before_turn,
  done_with_steps_open,
  done_with_slots_full,
  no_progress           ///< more actions without a reverse than a sensible schedule needs
};

/// The flaw as a sentence, with static storage.
[[nodiscard]] constexpr char const* describe(flaw reason) noexcept {
  switch (reason) {
    case flaw::none: return "no flaw";
    case flaw::impossible_plan:
      return "steps, slots, tapes or leaf are out of range, or the position does not belong to the plan";
    case flaw::unknown_action: return "an action of no known kind";
    case flaw::nothing_live: return "an action needs a live state, but none has been loaded since the last reverse";
    case flaw::wrong_live: return "an action starts from a state other than the live one";
    case flaw::empty_range: return "an action over no steps";
    case flaw::past_the_end: return "an action runs past the last step that is not yet reversed";
    case flaw::longer_than_leaf: return "more steps at once than the leaf of the plan";
    case flaw::no_such_slot: return "there is no such slot";
    case flaw::slot_taken: return "the slot is taken";
    case flaw::slot_empty: return "the slot is empty";
    case flaw::unknown_tier: return "there is no such tier";
    case flaw::wrong_tier: return "the slot lies on another tier";
    case flaw::cannot_restart: return "a load from a tape, but tapes of this plan bring no state back";
    case flaw::over_budget: return "states and tapes together take more units than there are";
    case flaw::wrong_content: return "the slot holds something else";
    case flaw::second_turn: return "a second turn";
    case flaw::turn_not_to_the_end: return "the turn does not run to the end";
    case flaw::reverse_before_turn: return "a reverse before the turn";
    case flaw::reverse_out_of_order: return "a reverse that does not end at the last step that is not yet reversed";
    case flaw::done_before_turn: return "done before the turn";
    case flaw::done_with_steps_open: return "done before every step was reversed";
    case flaw::done_with_slots_full: return "done while states or tapes are still kept";
    case flaw::no_progress: return "no reverse for longer than any schedule needs";
  }
  return "an unknown flaw";
}

}  // namespace cairn
