#pragma once
/// \file device_forms.hpp  The shapes in which a step, an adjoint, a seed and an initial state on a device may be written.
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/core/frames_needed.hpp>

namespace cairn::detail {

/// `step(in, out, i, stream)`, or `step(x, i, stream)`, which changes x.
template <class Step, class State, class Stream>
[[nodiscard]] consteval step_form device_step_form() {
  if constexpr (std::is_invocable_r_v<void, Step&, State const&, State&, step_index, Stream>) return step_form::out_of_place;
  else if constexpr (std::is_invocable_r_v<void, Step&, State&, step_index, Stream>) return step_form::in_place;
  else return step_form::none;
}

/// Our sentences for what a sweep on a device cannot use.
template <class State, class Stream, class Step, class Start, class Plan, class Seed, class Adjoint, class Bar>
[[nodiscard]] consteval bool check_device_sweep() {
  constexpr bool steps = device_step_form<Step, State, Stream>() != step_form::none;
  constexpr bool starts = std::is_same_v<std::remove_cv_t<Start>, State> || std::is_invocable_v<Start&, State&, Stream>;
  constexpr bool plans = schedule<Plan>;
  constexpr bool seeds = std::is_invocable_v<Seed&, State const&, Bar&, Stream>;
  constexpr bool reverses = std::is_invocable_v<Adjoint&, State const&, Bar&, step_index, Stream>;
  static_assert(steps, "cairn: the step on a device must be `step(x, x1, i, stream)` with x const& or, in place, `step(x, i, stream)`");
  static_assert(starts, "cairn: the initial state on a device must be a state like the frames, or `start(x, stream)` that writes it");
  static_assert(plans, "cairn: the plan must be a schedule with steps(), slots(), leaf() and walk()");
  static_assert(seeds, "cairn: the seed on a device must be `seed(x, bar, stream)`, which writes bar, the adjoint of the final state x");
  static_assert(reverses, "cairn: the adjoint on a device must be `adjoint(x, bar, i, stream)`, where x is const& and bar is changed");
  return steps && starts && plans && seeds && reverses;
}

}  // namespace cairn::detail
