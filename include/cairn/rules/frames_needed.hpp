// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file frames_needed.hpp  How many states a sweep holds besides its slots: the one formula that plans and executors
/// share.
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {
namespace detail {

/// Sizes of what executors keep besides states; each is asserted where it is defined.
inline constexpr wide bytes_a_frame = 24, bytes_a_slot = 8, bytes_a_remembered_slot = 64;
inline constexpr wide bytes_of_tape_slots = 2 * sizeof(void*);

}  // namespace detail

/// The ways a step may be written; see `forms.hpp`.
enum class step_form : std::uint8_t { none, in_place, by_value, out_of_place };
/// The ways an adjoint may be written; see `forms.hpp`.
enum class adjoint_form : std::uint8_t { none, one_step, with_next, leaf, recorded };

/// The state in which an object is left after the adjoints of all its steps.
enum class object_ends : std::uint8_t {
  anywhere,    ///< wherever the last adjoint leaves it; the initial state if no adjoint changes it
  at_initial,  ///< in the initial state; takes one more snapshot if the plan's slots do not hold it to the end
  at_final     ///< in the final state; takes one more snapshot
};

/// What the user's functions contribute to the number of states and of step calls in a sweep.
struct sweep_form {
  step_form step = step_form::in_place;  ///< how the step is written
  adjoint_form adjoint = adjoint_form::one_step;  ///< how the adjoint is written
  bool adjoint_by_value = false;  ///< `bar0 = adjoint(x, bar1, i)`: two adjoints live at once
  bool keeps_run = false;         ///< true for `checkpointed_loop`, which keeps the final state to the end; false for
                                  ///< `gradient`
  /// The state is an object that is saved as snapshots: frames hold snapshots, and one more is held besides the slots.
  bool snapshots = false;
  object_ends ends = object_ends::anywhere;  ///< where such an object is after the sweep
  slot_index ahead = 0;  ///< states that a helper hands over and that are not reversed yet, at most
};

/// Whether a kept run holds the initial state outside the plan's slots: the slots may not hold it to the end, or there
/// are no slots.
template <schedule Plan>
[[nodiscard]] constexpr bool initial_stands_apart(Plan const& plan) {
  return initial_is_free(plan) || tapes_of(plan) > 0 || plan.slots() == 0;
}

/// The same for any sweep. A sweep of an object holds a snapshot of the initial state only if the plan reads it again
/// or the object is to end in it.
template <schedule Plan>
[[nodiscard]] constexpr bool initial_stands_apart(Plan const& plan, sweep_form form) {
  bool const reads = form.snapshots && !form.keeps_run && form.ends != object_ends::at_initial;
  return reads ? initial_is_free(plan) : initial_stands_apart(plan);
}

/// Frames besides the plan's slots that a sweep may need at once, for a store in memory, where a checkpoint is a frame.
/// With spare = 0 for in-place steps and 1 for the others, which read one frame and write the next: at the turn the
/// live and the final state (+ spare if a leaf is longer than one step); in the reverse sweep 1 + spare, + 1 for x1, +
/// 1 for a final state that is kept; and those of a helper.
/// \param leaf  the most steps that one `reverse` takes, >= 1
[[nodiscard]] constexpr slot_index working_frames(sweep_form form, step_index leaf) noexcept {
  if (form.snapshots) return form.ends == object_ends::at_final ? 2 : 1;
  slot_index const spare = form.step == step_form::in_place ? 0 : 1;
  slot_index const turn = 2 + (leaf > 1 ? spare : 0);
  slot_index const back = 1 + spare + (form.adjoint == adjoint_form::with_next ? 1 : 0) + (form.keeps_run ? 1 : 0);
  return (turn > back ? turn : back) + form.ahead;
}

/// Calls of the user's step (or of its `record`) in one sweep with these `counts`. A recording adjoint runs each step
/// once more unless its tape was kept; with other adjoints only the turn adds calls.
[[nodiscard]] constexpr wide step_calls(schedule_counts const& counts, adjoint_form form) noexcept {
  return counts.advances + counts.recorded +
         (form == adjoint_form::recorded ? counts.reversals - counts.taped : counts.turned);
}

}  // namespace cairn
