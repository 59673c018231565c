// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_needs.hpp  How many frames and host slots a schedule needs in total.
#include <cstddef>
#include <cairn/adapt/cuda/detail/frames_held.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/replay_check.hpp>

namespace cairn::detail {

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
