// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file frames_held.hpp  How many frames of a device a schedule holds during each action.
#include <cairn/core/action.hpp>
#include <cairn/rules/frames_needed.hpp>

namespace cairn::detail {

/// Whether slots of this tier are frames of the device. Slots on the host are copies; other tiers are not supported.
[[nodiscard]] constexpr bool on_device_frames(tier where) noexcept {
  return where == tier::memory || where == tier::device;
}

/// Counts the frames that hold states as actions are obeyed. If live was saved twice, the count may be one too high.
class frames_held {
 public:
  constexpr frames_held(step_form form, bool initial_is_free) noexcept
      : in_place_{form == step_form::in_place}, stored_{initial_is_free ? 1 : 0}, apart_{!initial_is_free} {}

  /// The most frames in use during the action and directly before it, including frames to be written.
  [[nodiscard]] constexpr slot_index during(action const& a) noexcept {
    step_index const ran = a.to - a.from;
    slot_index most = now();
    switch (a.kind) {
      case action_kind::advance:
        if (ran <= 0) break;
        most = stored_ + (in_place_ || (!apart_ && ran == 1) ? 1 : 2);
        apart_ = true;
        break;
      case action_kind::save:
        if (!on_device_frames(a.where)) break;
        ++stored_;
        apart_ = false;
        live_in_ = a.slot;
        break;
      case action_kind::load:
        apart_ = a.slot != no_slot && !on_device_frames(a.where);
        live_in_ = apart_ ? no_slot : a.slot;
        if (now() > most) most = now();
        break;
      case action_kind::drop:
        if (!on_device_frames(a.where)) break;
        --stored_;
        if (!apart_ && live_in_ == a.slot) apart_ = true;
        break;
      case action_kind::turn: most += ran <= 0 ? 0 : in_place_ || ran == 1 ? 1 : 2; break;
      default: break;
    }
    return most;
  }

 private:
  [[nodiscard]] constexpr slot_index now() const noexcept { return stored_ + (apart_ ? 1 : 0); }

  bool in_place_;
  slot_index stored_;  // states in slots, and the initial state if it is outside them
  bool apart_;         // live has a frame of its own
  slot_index live_in_ = no_slot;
};

}  // namespace cairn::detail
