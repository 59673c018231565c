// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file jump_kinds.hpp  The jumps of a loop: each with its map, the adjoint of that, and when it is due.
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/detail/signature.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/reversal.hpp>

namespace cairn::detail {

/// `f(x, x1[, p][, i])`, which writes all of x1: the one place from which a loop with jumps calls such a step.
template <class Fn, class State, class Params>
[[gnu::noinline]] void move_to(Fn& f, State const& x, State& x1, Params const& p, step_index const i) {
  call_step<State, step_in_loop<Fn, State, Params>().indexed>(f, p, i, x, x1);
}
/// Advances x by a step or a jump. Forward and backward sweep call the same instantiation, and so the same machine
/// code: see call.hpp. Returns the step's result if the step may end its loop.
template <class Fn, class State, class Params>
[[gnu::noinline]] auto move_on(Fn& f, State& x, Params const& p, step_index const i)
    -> std::conditional_t<step_in_loop<Fn, State, Params>().stops, bool, void> {
  static constexpr auto shape = step_in_loop<Fn, State, Params>();
  if constexpr (shape.form == step_form::by_value) x = call_step<State, shape.indexed>(f, p, i, std::as_const(x));
  else return call_step<State, shape.indexed>(f, p, i, x);
}

/// p, or what stands for none.
template <bool Takes, class Params>
[[nodiscard]] auto& if_taken([[maybe_unused]] Params& p) noexcept {
  if constexpr (Takes) return p;
  else if constexpr (std::is_const_v<Params>) return no_parameters;
  else return no_gradient;
}
/// What all jumps have: the map of the state, and its adjoint. In a loop with parameters each may take them.
template <class KeptJump, class KeptAdjoint>
struct jump_maps {
  using Jump = std::remove_reference_t<KeptJump>;
  using Adjoint = std::remove_reference_t<KeptAdjoint>;
  kept_callable<KeptJump> jump;
  kept_callable<KeptAdjoint> adjoint;

  template <class State, class Params>
  static constexpr bool jump_takes = !no_p<Params> && step_in_loop<Jump, State, Params>().wrong == fault::none;
  template <class State, class Params>
  static constexpr step_shape jump_shape =
      step_in_loop<Jump, State, std::conditional_t<jump_takes<State, Params>, Params, no_params>>();
  template <class State, class Bar, class Params, class DP>
  static constexpr bool adjoint_takes =
      !no_p<Params> && adjoint_in_loop<Adjoint, State, Bar, Params, DP>().wrong == fault::none;
  template <class State, class Bar, class Params, class DP>
  static constexpr adjoint_shape back_shape =
      adjoint_in_loop<Adjoint, State, Bar, std::conditional_t<adjoint_takes<State, Bar, Params, DP>, Params, no_params>,
                      std::conditional_t<adjoint_takes<State, Bar, Params, DP>, DP, no_params>>();

  /// Whether the map can be called in a loop with these parameters, and its adjoint.
  template <class State, class Params>
  static consteval bool jump_fits() {
    constexpr auto shape = jump_shape<State, Params>;
    return (shape.form == step_form::in_place || shape.form == step_form::by_value) && !shape.stops;
  }
  template <class State, class Bar, class Params, class DP>
  static consteval bool adjoint_fits() { return back_shape<State, Bar, Params, DP>.form == adjoint_form::one_step; }
  template <class State, class Params>
  static consteval bool check_jump() {
    constexpr bool jumps = jump_fits<State, Params>();
    static_assert(jumps,
                  "cairn: a jump must be `jump(x)` or `jump(x, i)`, which changes x or returns the new state; with "
                  "cairn::wrt it may take p before i");
    return jumps;
  }
  template <class State, class Bar, class Params, class DP>
  static consteval bool check_adjoint() {
    constexpr bool reverses = adjoint_fits<State, Bar, Params, DP>();
    static_assert(reverses,
                  "cairn: the adjoint of a jump must be `adjoint(x, bar)` or `adjoint(x, bar, i)`, where x is the "
                  "state before the jump; with cairn::wrt it may take p and dp before i");
    return reverses;
  }

  template <class State, class Params>
  void run(State& x, Params const& p, step_index i) const {
    if constexpr (check_jump<State, Params>()) move_on(*jump, x, if_taken<jump_takes<State, Params>>(p), i);
  }
  /// \param x  the state before the jump
  template <class Input, class Bar, class Params, class DP>
  void reverse(Input& x, Bar& bar, Params const& p, DP& dp, step_index const i) const {
    using State = std::remove_const_t<Input>;
    static constexpr bool takes = adjoint_takes<State, Bar, Params, DP>;
    if constexpr (check_adjoint<State, Bar, Params, DP>())
      call_back<State>(*adjoint, x, nullptr, bar, if_taken<takes>(p), if_taken<takes>(dp), i, i + 1);
  }
};

/// A jump before or after one step.
template <class Jump, class Adjoint>
struct jump_of_step : jump_maps<Jump, Adjoint> {
  step_index step = 0;
  bool after = false;
  template <class Look>
  void each_function(Look const& look) const { look(*this->jump), look(*this->adjoint), look(step), look(after); }

  template <class State, class Params>
  static consteval bool fits() { return jump_of_step::template jump_fits<State, Params>(); }
  template <class State, class Params>
  [[nodiscard]] bool due_before(State const&, Params const&, step_index i) const noexcept {
    return !after && i == step;
  }
  [[nodiscard]] bool due_after(step_index i) const noexcept { return after && i == step; }
  /// The first step > i before which the jump may be due, known once step i has run; otherwise `none`.
  [[nodiscard]] step_index next(step_index i, step_index none) const noexcept {
    return step + (after ? 1 : 0) > i ? step + (after ? 1 : 0) : none;
  }
  void check(char const* operation) const {
    if (step < 0)
      throw invalid_call{operation, "a jump has a negative step number", {{"step", step}}, "steps count from 0"};
  }
  void check_loop(step_index steps) const {
    if (step >= steps)
      throw invalid_call{
          "cairn::with_jumps",
          "the loop has no step at which this jump would run",
          {{"step", step}, {"steps", steps}},
          "the jump of the final state is cairn::jump_after(n - 1, jump, adjoint), n being the number of steps"};
  }
};

/// How a condition is called in a loop with these parameters: `condition(x[, p][, i])`.
template <class Fn, class State, class Params>
struct condition_form {
  template <class... Index>
  static consteval bool takes_p() {
    using reads = reads_before<Fn, arguments<State const&>, Params const&>;
    if constexpr (no_p<Params>) return false;
    else return reads::template before<Index...> && !narrows<Fn, Params, arguments<State const&>, Index...>;
  }
  static constexpr bool p_indexed = takes_p<step_index>(), with_p = p_indexed || takes_p<>(),
                        indexed = with_p ? p_indexed : calls<Fn, State const&, step_index const&>;
  static decltype(auto) call(Fn& f, State const& x, [[maybe_unused]] Params const& p,
                             [[maybe_unused]] step_index const i) {
    if constexpr (with_p && indexed) return call_lending(f, x, p, i);
    else if constexpr (with_p) return call_lending(f, x, p);
    else if constexpr (indexed) return call_lending(f, x, i);
    else return call_lending(f, x);
  }
  static constexpr fault wrong = [] {
    if constexpr (with_p) return fault_of_question<Fn, State, Params>();
    else return fault_of_question<Fn, State>();
  }();
  static consteval bool answers() {
    if constexpr (!with_p && !indexed && !calls<Fn, State const&>) return false;
    else
      return std::is_same_v<std::remove_cvref_t<decltype(call(std::declval<Fn&>(), std::declval<State const&>(),
                                                              std::declval<Params const&>(), 0))>, bool>;
  }
};
/// A jump before every step at which a condition holds.
template <class KeptCondition, class Jump, class Adjoint>
struct jump_on_condition : jump_maps<Jump, Adjoint> {
  using Condition = std::remove_reference_t<KeptCondition>;
  kept_callable<KeptCondition> condition;
  template <class Look>
  void each_function(Look const& look) const { look(*this->jump), look(*this->adjoint), look(*condition); }

  template <class State, class Params>
  static consteval bool fits() {
    return jump_on_condition::template jump_fits<State, Params>() &&
           condition_form<Condition, State, Params>::answers();
  }
  template <class State, class Params>
  static consteval bool check_condition() {
    using form = condition_form<Condition, State, Params>;
    constexpr bool answers = form::answers();
    static_assert(answers,
                  "cairn: the condition of a jump must be `condition(x)` or `condition(x, i)`, with x const&, and "
                  "return bool; with cairn::wrt it may take p before i");
    constexpr bool takes = !answers || form::wrong == fault::none;
    static_assert(takes,
                  "cairn: the condition of a jump takes a number of a narrower type than it is given, or its index as "
                  "a floating-point or short number, a bool or a default argument; take the number's own type, and "
                  "`cairn::step_index i`");
    return answers && takes;
  }

  template <class State, class Params>
  [[nodiscard]] bool due_before(State const& x, Params const& p, step_index const i) const {
    if constexpr (!check_condition<State, Params>()) return false;
    else return condition_form<Condition, State, Params>::call(*condition, x, p, i);
  }
  [[nodiscard]] static constexpr bool due_after(step_index) noexcept { return false; }
  [[nodiscard]] static constexpr step_index next(step_index i, step_index) noexcept { return i + 1; }
  static constexpr void check_loop(step_index) noexcept {}
};

/// Calls `f(jump, k)` for jump after jump; k counts from 0.
template <class... Jump, class Fn>
void each_jump(std::tuple<Jump...> const& jumps, Fn const& f) {
  std::size_t k = 0;
  std::apply([&](auto const&... jump) { (f(jump, k++), ...); }, jumps);
}
/// Calls `look(jump)` with each.
template <class... Jump, class Look>
void look_at_jumps(std::tuple<Jump...> const& jumps, Look const& look) {
  each_jump(jumps, [&](auto const& jump, std::size_t) { look(jump); });
}
}  // namespace cairn::detail
