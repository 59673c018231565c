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

/// `f(x, x1, i)`, which writes all of x1: the one place from which a loop with jumps calls such a step.
template <class Fn, class State>
[[gnu::noinline]] void move_to(Fn& f, State const& x, State& x1, step_index const i) {
  if constexpr (shape_of_step<Fn, State>().indexed) call_lending(f, x, x1, i);
  else call_lending(f, x, x1);
}
/// Advances x by a step or a jump. Forward and backward sweep call the same instantiation, and so the same machine
/// code: see call.hpp. Returns the step's result if the step may end its loop.
template <class Fn, class State>
[[gnu::noinline]] auto move_on(Fn& f, State& x, step_index const i)
    -> std::conditional_t<shape_of_step<Fn, State>().stops, bool, void> {
  static constexpr auto shape = shape_of_step<Fn, State>();
  if constexpr (shape.form == step_form::by_value) {
    if constexpr (shape.indexed) x = call_lending(f, std::as_const(x), i);
    else x = call_lending(f, std::as_const(x));
  } else {
    if constexpr (shape.indexed) return f(x, i);
    else return f(x);
  }
}

/// What all jumps have: the map of the state, and its adjoint. In a loop with parameters each may take them.
template <class KeptJump, class KeptAdjoint>
struct jump_maps {
  using Jump = std::remove_reference_t<KeptJump>;
  using Adjoint = std::remove_reference_t<KeptAdjoint>;
  kept_callable<KeptJump> jump;
  kept_callable<KeptAdjoint> adjoint;

  template <class State>
  static consteval bool check_jump() {
    constexpr auto shape = shape_of_step<Jump, State>();
    constexpr bool jumps =
        (shape.form == step_form::in_place || shape.form == step_form::by_value) && !shape.stops;
    static_assert(jumps,
                  "cairn: a jump must be `jump(x)` or `jump(x, i)`, which changes x or returns the new state; with "
                  "cairn::wrt it may take p before i");
    return jumps;
  }
  template <class State, class Bar>
  static consteval bool check_adjoint() {
    constexpr bool reverses = shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step;
    static_assert(reverses,
                  "cairn: the adjoint of a jump must be `adjoint(x, bar)` or `adjoint(x, bar, i)`, where x is the "
                  "state before the jump; with cairn::wrt it may take p and dp before i");
    return reverses;
  }

  /// Whether the map can be called in a loop with parameters, and its adjoint.
  template <class State, class Params>
  static consteval bool jump_fits() {
    constexpr auto with = shape_of_step_with<Jump, State, Params>(), without = shape_of_step<Jump, State>();
    if constexpr (with.wrong == fault::none) return with.form != step_form::out_of_place && !with.stops;
    else return without.wrong == fault::none && without.form != step_form::out_of_place && !without.stops;
  }
  template <class State, class Bar, class Params, class DP>
  static consteval bool adjoint_fits() {
    if constexpr (constexpr auto with = shape_of_adjoint_with<Adjoint, State, Bar, Params, DP>();
                  with.wrong == fault::none)
      return with.form == adjoint_form::one_step;
    else return shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step;
  }

  template <class State>
  void run(State& x, step_index i) const {
    if constexpr (check_jump<State>()) move_on(*jump, x, i);
  }
  /// \param x  the state before the jump
  template <class Input, class Bar>
  void reverse(Input& x, Bar& bar, step_index const i) const {
    using State = std::remove_const_t<Input>;
    if constexpr (!check_adjoint<State, Bar>()) return;
    else pull_back_step<shape_of_adjoint<Adjoint, State, Bar>().indexed>(*adjoint, bar, x, i);
  }

 protected:
  template <class State, class Params>
  [[nodiscard]] decltype(auto) bound_jump([[maybe_unused]] Params const& p) const {
    if constexpr (shape_of_step_with<Jump, State, Params>().wrong == fault::none) return bind_step<State>(*jump, p);
    else return *jump;
  }
  template <class State, class Bar, class Params, class DP>
  [[nodiscard]] decltype(auto) bound_adjoint([[maybe_unused]] Params const& p, [[maybe_unused]] DP& dp) const {
    if constexpr (shape_of_adjoint_with<Adjoint, State, Bar, Params, DP>().wrong == fault::none)
      return bind_adjoint<State, Bar>(*adjoint, p, dp);
    else return *adjoint;
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
  /// For the step of a loop with parameters.
  template <class State, class Params>
  [[nodiscard]] auto with_params(Params const& p) const {
    using bound = decltype(this->template bound_jump<State>(p));
    return jump_of_step<bound, std::remove_reference_t<Adjoint>&>{
        {this->template bound_jump<State>(p), *this->adjoint}, step, after};
  }
  /// For its adjoint.
  template <class State, class Bar, class Params, class DP>
  [[nodiscard]] auto with_params(Params const& p, DP& dp) const {
    using bound = decltype(this->template bound_jump<State>(p));
    using back = decltype(this->template bound_adjoint<State, Bar>(p, dp));
    return jump_of_step<bound, back>{
        {this->template bound_jump<State>(p), this->template bound_adjoint<State, Bar>(p, dp)}, step, after};
  }

  template <class State>
  [[nodiscard]] bool due_before(State const&, step_index i) const noexcept { return !after && i == step; }
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

/// A condition `condition(x, p[, i])`, called without p.
template <class Fn, class Params>
struct condition_with_params {
  Fn& condition;
  Params const& p;

  template <class State>
  using reads = reads_before<Fn, arguments<State const&>, Params const&>;
  template <class State>
  static constexpr bool indexed = reads<State>::template before<step_index const&> &&
                                  !narrows<Fn, Params, arguments<State const&>, step_index>;
  template <class State>
  static constexpr bool takes = indexed<State> || (reads<State>::template before<> &&
                                                   !narrows<Fn, Params, arguments<State const&>>);
  template <class State>
  static consteval bool fits() {
    if constexpr (takes<State>) {
      using answer = decltype(std::declval<condition_with_params const&>()(std::declval<State const&>(), step_index{}));
      return std::is_same_v<std::remove_cvref_t<answer>, bool>;
    } else return calls<Fn, State const&, step_index const&> || calls<Fn, State const&>;
  }
  template <class State>
  decltype(auto) operator()(State const& x, step_index const& i) const {
    if constexpr (indexed<State>) return call_lending(condition, x, p, i);
    else return call_lending(condition, x, p);
  }
};
template <class Fn, class... Args>
concept returns_bool = calls<Fn, Args...> && std::is_same_v<std::remove_cvref_t<call_result<Fn, Args...>>, bool>;
template <class Fn, class State>
struct condition_of { static constexpr fault wrong = fault_of_question<Fn, State>(); };
template <class Fn, class Params, class State>
struct condition_of<condition_with_params<Fn, Params>, State> {
  static constexpr fault wrong = fault_of_question<Fn, State, Params>();
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
           condition_with_params<Condition, Params>::template fits<State>();
  }
  template <class State, class Params>
  [[nodiscard]] auto with_params(Params const& p) const {
    using bound = decltype(this->template bound_jump<State>(p));
    using asked = decltype(bound_condition<State>(p));
    return jump_on_condition<asked, bound, std::remove_reference_t<Adjoint>&>{
        {this->template bound_jump<State>(p), *this->adjoint}, bound_condition<State>(p)};
  }
  template <class State, class Bar, class Params, class DP>
  [[nodiscard]] auto with_params(Params const& p, DP& dp) const {
    using bound = decltype(this->template bound_jump<State>(p));
    using back = decltype(this->template bound_adjoint<State, Bar>(p, dp));
    using asked = decltype(bound_condition<State>(p));
    return jump_on_condition<asked, bound, back>{
        {this->template bound_jump<State>(p), this->template bound_adjoint<State, Bar>(p, dp)},
        bound_condition<State>(p)};
  }

  template <class State>
  static constexpr bool indexed = calls<Condition, State const&, step_index const&>;
  template <class State>
  static consteval bool check_condition() {
    constexpr bool answers = indexed<State> ? returns_bool<Condition, State const&, step_index const&>
                                            : returns_bool<Condition, State const&>;
    static_assert(answers,
                  "cairn: the condition of a jump must be `condition(x)` or `condition(x, i)`, with x const&, and "
                  "return bool; with cairn::wrt it may take p before i");
    constexpr bool takes = !answers || condition_of<std::remove_cv_t<Condition>, State>::wrong == fault::none;
    static_assert(takes,
                  "cairn: the condition of a jump takes a number of a narrower type than it is given, or its index as "
                  "a floating-point or short number, a bool or a default argument; take the number's own type, and "
                  "`cairn::step_index i`");
    return answers && takes;
  }

  template <class State>
  [[nodiscard]] bool due_before(State const& x, step_index const i) const {
    if constexpr (!check_condition<State>()) return false;
    else if constexpr (indexed<State>) return call_lending(*condition, x, i);
    else return call_lending(*condition, x);
  }
  [[nodiscard]] static constexpr bool due_after(step_index) noexcept { return false; }
  [[nodiscard]] static constexpr step_index next(step_index i, step_index) noexcept { return i + 1; }
  static constexpr void check_loop(step_index) noexcept {}

 private:
  template <class State, class Params>
  [[nodiscard]] decltype(auto) bound_condition([[maybe_unused]] Params const& p) const {
    using with = condition_with_params<Condition, Params>;
    if constexpr (with::template takes<State>) return with{*condition, p};
    else return *condition;
  }
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
template <class State, class Params, class... Jump>
[[nodiscard]] auto jumps_with_params(std::tuple<Jump...> const& jumps, Params const& p) {
  return std::apply(
      [&](auto const&... jump) { return std::tuple<decltype(jump.template with_params<State>(p))...>{
                                     jump.template with_params<State>(p)...}; },
      jumps);
}
template <class State, class Bar, class Params, class DP, class... Jump>
[[nodiscard]] auto jumps_with_params(std::tuple<Jump...> const& jumps, Params const& p, DP& dp) {
  return std::apply(
      [&](auto const&... jump) { return std::tuple<decltype(jump.template with_params<State, Bar>(p, dp))...>{
                                     jump.template with_params<State, Bar>(p, dp)...}; },
      jumps);
}
/// A class with the types of jumps in a tuple: `Of<First..., Jump...>`.
template <template <class...> class Of, class Jumps, class... First> struct over_jumps;
template <template <class...> class Of, class... Jump, class... First>
struct over_jumps<Of, std::tuple<Jump...>, First...> { using type = Of<First..., Jump...>; };

}  // namespace cairn::detail
