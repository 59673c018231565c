// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_capacity.hpp  How many states a sweep on a device can hold, and how many a schedule needs.
#include <cairn/adapt/cuda/detail/device_needs.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/replay_check.hpp>

namespace cairn {

/// How many states a `device_sweep` can hold at once.
struct device_capacity {
  slot_index frames = 0;      ///< full states on the device, those in use included
  slot_index host_slots = 0;  ///< states in pinned host memory
  friend constexpr bool operator==(device_capacity const&, device_capacity const&) = default;  ///< member by member
};

/// A capacity, or less if memory runs out: `device_sweep{runtime, stream, capacity_up_to{capacity}, make}` allocates as
/// much of it as it can, and its `capacity()` says how much.
struct capacity_up_to {
  device_capacity most;  ///< the upper limit
  /// At most `capacity`, and at least one frame.
  constexpr explicit capacity_up_to(device_capacity capacity) noexcept : most{capacity} {}
};

/// The least capacity with which a `device_sweep` can obey the plan. With one more frame the sweep fetches states from
/// the host ahead of time; with two it also keeps a state that is loaded several times in a row.
/// \param form  out of place, or in place   \param options  those of the sweep: a replay check takes one more host
///   slot, for the state that it compares
/// Cost: one walk
/// \throws invalid_plan   for plans with tapes, or with states on a tier that a device cannot reach
/// \throws invalid_schedule
template <schedule Plan>
[[nodiscard]] device_capacity device_capacity_for(Plan const& plan, step_form form = step_form::out_of_place,
                                                  sweep_options options = {}) {
  detail::table<unsigned char> slots;
  return detail::device_needs_of<device_capacity>("cairn::device_capacity_for", plan, form, options, slots);
}

}  // namespace cairn
