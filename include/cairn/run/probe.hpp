// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file probe.hpp  Measures the sizes and times of a loop on a few real steps.
#include <type_traits>
#include <utility>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/adjoint_checks.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/rules/workload.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/probe/detail/loop_probe.hpp>

namespace cairn {

/// Sizes and times of the loop `x = step(x, i)` of `steps` steps on this machine: sizes of states, adjoint and recorded
/// tapes as `bytes_of` counts them, the largest of the steps tried; median times of single calls; and the forms of step
/// and adjoint. With an in-place step each checkpoint costs a copy: `tiers.memory.write_seconds`. New memory costs
/// `frame_seconds` per state: set it to 0 for sweeps that reuse a workspace.
///
/// Runs the first `tried` steps and their adjoints, as `gradient` does, on a copy of `x0`. A call that is too short for
/// the clock is timed together with up to 65,536 calls of its kind in a row, each on its own copy of the state before
/// it, several times for each of these steps. If step, adjoint or seed change anything besides their states, each of
/// these calls changes it. Temporary memory inside an adjoint call is not visible: say it by a member
/// `leaf_bytes(steps)` of the adjoint, which is asked for leaves of one step and of 2, 4, 8 ..., or set `tape_bytes`,
/// for leaves `tape_step_bytes`. For a leaf adjoint that says nothing they are unknown, and no budget is planned. Set
/// `tiers` if states may be kept elsewhere.
/// \tparam Clock  has now() like the clocks of the standard library: `probe<std::chrono::steady_clock>(step, x0, n,
///   seed, adjoint)`
/// \param steps  loop length, >= 0   \param seed, adjoint  as for `gradient`   \param tried  steps that are run, >= 1
/// \param held  `held()` returns the bytes that the program holds now, for example from a counting allocator. Used for
///   types whose bytes are unknown: states and adjoints are then measured by a copy, tapes while they are recorded.
///   What their own `=` leaves in reused memory is not seen
/// If the state is an object, the object itself runs, is restored before every timed call, and ends in its first state.
/// Its `state_bytes` are those of a snapshot, `tiers.memory` has the times to save and to restore one, and a bar that
/// the library stores counts no bytes. This takes `tried` snapshots.
/// Cost: about twice `tried` calls of the step, plus the repeated short calls; memory for 2 sqrt(tried) states, and for
/// 4 copies or 8 MiB of copies
/// \throws invalid_plan; what step, adjoint, seed and held throw
template <class Clock = detail::no_clock, class Step, class X0, class Seed, class Adjoint,
          class Held = detail::nothing_told>
[[nodiscard]] workload probe(Step&& step, X0&& x0, step_index steps, Seed&& seed, Adjoint&& adjoint,
                             step_index tried = 16, Held&& held = {}) {
  using State = std::remove_cvref_t<X0>;
  using StepF = std::remove_reference_t<Step>;
  using AdjointF = std::remove_reference_t<Adjoint>;
  using Bar = detail::bar_type<Seed, State>;
  if constexpr (!detail::check_clock<Clock>()) return {};
  else if constexpr (!detail::check_forward<StepF, State, step_index>()) return {};
  else if constexpr (!detail::check_initial<X0>()) return {};
  else if constexpr (!detail::check_adjoint<AdjointF, State, Bar>()) return {};
  else {
    constexpr bool told = detail::can_weigh<State, Bar, AdjointF, Held>();
    static_assert(told,
                  "cairn: probe cannot determine how many bytes a state, adjoint or tape of this loop holds; give its "
                  "type a member bytes(), specialise cairn::state_traits with bytes(x), or give probe a function that "
                  "returns the bytes that the program holds now");
    if constexpr (!told) return {};
    else {
      if (steps < 0)
        throw invalid_plan{
            "cairn::probe", "a loop cannot have a negative number of steps", {{"steps", steps}}, "give 0 or more"};
      if (tried < 1)
        throw invalid_plan{"cairn::probe", "at least one step has to be tried", {{"tried", tried}}, "give 1 or more"};
      if constexpr (saved_state<State>)
        return detail::probed_object<Clock>(step, x0, steps, seed, adjoint, tried, held);
      else return detail::probed<Clock>(step, std::as_const(x0), steps, seed, adjoint, tried, held);
    }
  }
}

}  // namespace cairn
