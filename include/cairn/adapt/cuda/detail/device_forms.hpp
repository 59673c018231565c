// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_forms.hpp  The forms in which a step, an adjoint, a seed and an initial state on a device may be
/// written.
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/callable.hpp>
#include <cairn/core/frames_needed.hpp>

namespace cairn::detail {

/// Whether `f(Before..., x, After...)` can write to x, a State. A trivially copyable state may be a handle, and a copy
/// of it can write.
template <class Fn, class State, class Before, class... After>
inline constexpr bool writes_to =
    std::is_trivially_copyable_v<State> || !only_reads<Fn, void, State, Before, After...> ||
    forwards<Fn, State, Before, After...>;

/// `step(in, out, i, stream)`, or `step(x, i, stream)`, which changes x. A step must return nothing, because its result
/// would be lost.
template <class Step, class State, class Stream>
[[nodiscard]] consteval step_form device_step_form() {
  using index = step_index const&;
  if constexpr (calls_void<Step, State const&, State&, index, Stream>)
    return writes_to<Step, State, arguments<State const&>, index, Stream> ? step_form::out_of_place : step_form::none;
  else if constexpr (calls_void<Step, State&, index, Stream>)
    return writes_to<Step, State, arguments<>, index, Stream> ? step_form::in_place : step_form::none;
  else return step_form::none;
}
template <class Start, class State, class Stream>
[[nodiscard]] consteval bool starts_on_device() {
  if constexpr (std::is_same_v<std::remove_cv_t<Start>, State>) return true;
  else if constexpr (calls_void<Start, State&, Stream>) return writes_to<Start, State, arguments<>, Stream>;
  else return false;
}

/// Stands for a missing plan.
struct no_plan {};

/// The error messages for what a loop on a device cannot use.
template <class State, class Stream, class Step, class Start, class Plan, class Seed, class Adjoint, class Bar>
[[nodiscard]] consteval bool check_device_sweep() {
  constexpr bool steps = device_step_form<Step, State, Stream>() != step_form::none;
  constexpr bool starts = starts_on_device<Start, State, Stream>();
  constexpr bool plans = std::is_same_v<Plan, no_plan> || schedule<Plan>;
  constexpr bool seeds = calls_void<Seed, State const&, Bar&, Stream>;
  constexpr bool reverses = calls_void<Adjoint, State const&, Bar&, step_index const&, Stream>;
  static_assert(
      steps,
      "cairn: the step on a device must be `step(x, x1, i, stream)` with x const& or, in place, `step(x, i, stream)`");
  static_assert(
      starts,
      "cairn: the initial state on a device must be a state like the frames, or `start(x, stream)` that writes it");
  static_assert(plans, "cairn: the plan must be a schedule with steps(), slots(), leaf() and walk()");
  static_assert(
      seeds,
      "cairn: the seed on a device must be `seed(x, bar, stream)`, which writes bar, the adjoint of the final state x");
  static_assert(
      reverses,
      "cairn: the adjoint on a device must be `adjoint(x, bar, i, stream)`, where x is const& and bar is changed");
  return steps && starts && plans && seeds && reverses;
}

}  // namespace cairn::detail
