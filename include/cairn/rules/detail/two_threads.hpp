// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file two_threads.hpp  How a budget is divided between the slots of a plan and the states that a helper hands over:
/// the one model that verbs and planners share.
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/rules/frames_needed.hpp>

namespace cairn::detail {

/// What the other core has just read makes a helper's step slower than one at home: 1.0 to 1.3 times, for states of 16
/// to 256 KiB, the more the fewer frames there are.
[[nodiscard]] constexpr double helper_slows(slot_index ahead) noexcept { return ahead < 8 ? 1.2 : 1.1; }

/// The least time of a sweep with a helper: the way there, then the slower of adjoints and helper.
/// \param again  steps that run again, at the time of one thread
[[nodiscard]] constexpr double least_on_two(double there, double again, double adjoints, slot_index ahead) noexcept {
  double const helper = again * helper_slows(ahead);
  return there + (helper > adjoints ? helper : adjoints);
}

/// Whether steps are long enough for hand-offs, and the way back for a start.
[[nodiscard]] constexpr bool is_worth_a_helper(double step_seconds, step_index open) noexcept {
  return step_seconds >= 400e-9 && step_seconds * double(open) >= 1e-4;
}

/// As many states as leave the other core's cache before they are written again, 2 MiB of them.
[[nodiscard]] constexpr slot_index frames_ahead(wide state_bytes) noexcept {
  wide const frames = (wide{2} << 20) / (state_bytes + 1);
  return frames < 8 ? 8 : frames > 128 ? 128 : slot_index(frames);
}

/// Frames that helper and caller share on the way back, for steps in place; out of place takes one more of its own.
template <class Plan>
[[nodiscard]] constexpr slot_index shared_frames(Plan const& plan, sweep_form form) {
  slot_index const spare = form.step == step_form::in_place ? 0 : 1;
  return slots_in_memory(plan) + working_frames(form, plan.leaf()) - spare - (form.keeps_run ? 1 : 0);
}

/// The frames ahead that a budget is best divided by; 0: none is faster than `least`.
/// Frames for states ahead are slots less. Fewer are taken if that is faster; below those that leave the cache only if
/// it is by more than 2 %.
/// \param most  that may be tried   \param time  time(frames) of a sweep with so many
template <class Time>
[[nodiscard]] constexpr slot_index best_ahead(slot_index most, wide state_bytes, double least, Time const& time) {
  slot_index const cold = frames_ahead(state_bytes);
  slot_index best = 0;
  for (slot_index frames = most; frames > 0; frames -= frames > 4 ? frames / 4 : 1)
    if (double const now = time(frames); now < (best > 0 && frames < cold ? 0.98 : 1) * least)
      least = now, best = frames;
  return best;
}

}  // namespace cairn::detail
