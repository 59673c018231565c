#pragma once
/// \file frames_needed.hpp  How many states a sweep holds beside its slots: the one formula that plans and executors
/// share.
#include <cstdint>
#include <cairn/core/action.hpp>

namespace cairn {

/// The ways a step may be written; see `forms.hpp`.
enum class step_form : std::uint8_t { none, in_place, by_value, out_of_place };
/// The ways an adjoint may be written; see `forms.hpp`.
enum class adjoint_form : std::uint8_t { none, one_step, with_next, leaf, recorded };

/// In which state an object, which stays where it is, is left when the adjoints of all its steps are taken.
enum class object_ends : std::uint8_t {
  anywhere,    ///< wherever the last adjoint leaves it: where none moves it, in the initial state
  at_initial,  ///< in the initial state; one snapshot more where the plan's slots do not hold it to the end
  at_final     ///< in the final state; one snapshot more
};

/// What of the user's functions decides how many states a sweep holds and how often it calls the step.
struct sweep_form {
  step_form step = step_form::in_place;  ///< how the step is written
  adjoint_form adjoint = adjoint_form::one_step;  ///< how the adjoint is written
  bool adjoint_by_value = false;  ///< `bar0 = adjoint(x, bar1, i)`: two adjoints at once
  bool keeps_run = false;         ///< `checkpointed_loop`, which keeps the final state to the end; not `gradient`
  /// The state is an object that stays where it is: frames hold snapshots of it, one beside the slots.
  bool snapshots = false;
  object_ends ends = object_ends::anywhere;  ///< where such an object is when the sweep is over
};

/// Whether a kept run holds the initial state beside the plan's slots, because these may not hold it to the end or
/// there are none.
template <schedule P>
[[nodiscard]] constexpr bool initial_stands_apart(P const& plan) {
  return initial_is_free(plan) || tapes_of(plan) > 0 || plan.slots() == 0;
}

/// The same of a sweep in general, of which one of an object holds a snapshot of the initial state only where the plan
/// reads it again, or where the object is to end there.
template <schedule P>
[[nodiscard]] constexpr bool initial_stands_apart(P const& plan, sweep_form form) {
  bool const reads = form.snapshots && !form.keeps_run && form.ends != object_ends::at_initial;
  return reads ? initial_is_free(plan) : initial_stands_apart(plan);
}

/// Frames beyond the plan's slots that a sweep may need at once, for a store in memory, where a checkpoint is a frame.
/// With spare = 0 for in-place steps and 1 for the others, which read one frame and write the next: at the turn live
/// and final state (+ spare where a leaf is longer than one step); on the way back 1 + spare, + 1 for x1, + 1 for a
/// final state that stays.
/// \param leaf  the most steps that one `reverse` takes, >= 1
[[nodiscard]] constexpr slot_index working_frames(sweep_form form, step_index leaf) noexcept {
  if (form.snapshots) return form.ends == object_ends::at_final ? 2 : 1;
  slot_index const spare = form.step == step_form::in_place ? 0 : 1;
  slot_index const turn = 2 + (leaf > 1 ? spare : 0);
  slot_index const back = 1 + spare + (form.adjoint == adjoint_form::with_next ? 1 : 0) + (form.keeps_run ? 1 : 0);
  return turn > back ? turn : back;
}

/// Calls of the user's step (or of its `record`) in one sweep that does what `counts` says.
/// An adjoint that records runs each step once more, unless a tape of it was kept; the others run only the turn.
[[nodiscard]] constexpr wide step_calls(schedule_counts const& counts, adjoint_form form) noexcept {
  return counts.advances + counts.recorded +
         (form == adjoint_form::recorded ? counts.reversals - counts.taped : counts.turned);
}

}  // namespace cairn
