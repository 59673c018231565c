// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_needs.hpp  How many frames and host slots a schedule needs in total.
#include <cstddef>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/replay_check.hpp>

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

/// What a plan needs, by a walk; a replay check takes one more host slot.
/// \tparam Capacity  has frames and host_slots   \param slots  memory for one entry per slot
/// \throws invalid_plan, invalid_schedule
template <class Capacity, schedule Plan>
[[nodiscard]] Capacity device_needs_of(char const* who, Plan const& plan, step_form form, sweep_options options,
                                       table<unsigned char>& slots) {
  slots.assign(std::size_t(plan.slots()), 0);
  frames_held held{form, initial_is_free(plan)};
  Capacity most{1, 0};
  slot_index on_host = 0;
  cursor_of<Plan> cursor = plan.walk();
  for (;;) {
    action const a = cursor.next();
    if (a.kind == action_kind::done) {
      if (options.verify != replay_check::off) ++most.host_slots;
      return most;
    }
    if (a.kind == action_kind::record || a.what == content::tape)
      throw invalid_plan{who,
                         "the plan keeps tapes, which are not kept on a device",
                         {{"step", a.from}},
                         "use a plan without record actions"};
    if (a.kind == action_kind::save || a.kind == action_kind::drop ||
        (a.kind == action_kind::load && a.slot != no_slot)) {
      if (!on_device_frames(a.where) && a.where != tier::host)
        throw invalid_plan{who, "the plan keeps states on a tier that a device does not reach",
                           {{"tier", int(a.where)}, {"slot", a.slot}}, "use memory, device and host"};
      bool const saves = a.kind == action_kind::save;
      if (a.slot < 0 || a.slot >= plan.slots() || (slots[std::size_t(a.slot)] != 0) == saves)
        throw invalid_schedule{who,
                               "a slot that is full is saved to, or one that is empty is loaded or dropped",
                               {{"slot", a.slot}, {"slots", plan.slots()}},
                               "check the plan with cairn::verify"};
      if (a.kind != action_kind::load) {
        slots[std::size_t(a.slot)] = saves ? 1 : 0;
        if (a.where == tier::host) on_host += saves ? 1 : -1;
        if (on_host > most.host_slots) most.host_slots = on_host;
      }
    }
    if (slot_index const frames = held.during(a); frames > most.frames) most.frames = frames;
  }
}

}  // namespace cairn::detail
