// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_step.hpp  The step of a loop and its adjoint as a sweep calls them: the step always with its index, and
/// without p.
#include <type_traits>
#include <utility>
#include <cairn/door/detail/leaf_bytes.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/run/form/detail/losses.hpp>

namespace cairn::detail {

/// The form of a step, or of a record, in a loop with these parameters, `no_params` if it has none.
template <class Fn, class State, class Params>
consteval step_shape step_in_loop() {
  if constexpr (no_p<Params>) return shape_of_step<Fn, State>();
  else return shape_of_step_with<Fn, State, Params>();
}

/// Calls the user's step or record with p, if the loop has parameters, and the index, if it takes one.
template <class State, bool Indexed, class Fn, class Params, class... States>
constexpr decltype(auto) call_step(Fn& given, Params const& p, step_index const i,
                                   States&... x) {
  auto& f = referred_to(given);
  using called = std::remove_reference_t<decltype(f)>;
  constexpr bool lends = (lent<States&> || ...) || (!no_p<Params> && lent<Params const&>);
  if constexpr (!no_p<Params> && (binds_step<called, State, Params> || binds_record<called, State, Params>))
    return f.template run<State>(p, i, x...);
  else if constexpr (lends && no_p<Params> && Indexed) return call_lending(f, x..., i);
  else if constexpr (lends && no_p<Params>) return call_lending(f, x...);
  else if constexpr (lends && Indexed) return call_lending(f, x..., p, i);
  else if constexpr (lends) return call_lending(f, x..., p);
  else if constexpr (no_p<Params> && Indexed) return f(x..., i);
  else if constexpr (no_p<Params>) return f(x...);
  else if constexpr (Indexed) return f(x..., p, i);
  else return f(x..., p);
}

/// The step with p, which shows each state to the terms of an objective before it runs.
/// \tparam Fn  a reference for a step that outlives this   \tparam Terms  `losses`, or `no_losses`
template <class Fn, class State, class Params, class Terms>
struct loop_step {
  using called = std::remove_reference_t<Fn>;
  static constexpr step_shape given = step_in_loop<called, State, Params>();
  static constexpr step_shape bound_shape{given.form, true, given.stops, given.wrong};
  static constexpr bool two = given.form == step_form::out_of_place;
  using input = std::conditional_t<given.form == step_form::in_place, State, State const>;
  static constexpr bool plain = !no_p<Params> && !reference_to<called> && !binds_step<called, State, Params> &&
                                !lent<input&> && !lent<Params const&>;
  using result = std::conditional_t<given.form == step_form::by_value, State,
                                    std::conditional_t<given.stops, bool, void>>;

  [[no_unique_address]] Fn step;
  Params const* p;
  [[no_unique_address]] std::conditional_t<std::is_same_v<Terms, no_losses>, no_losses, Terms*> terms{};

  void begin(loop_begins loop) {
    begin_loop(step, loop);
    if constexpr (!std::is_same_v<Terms, no_losses>) terms->begin();
  }
  [[nodiscard]] wide choice_bytes(step_index steps) const { return choice_bytes_of(step, steps); }
  result operator()(input& x, step_index const i)
    requires(!two)
  {
    see(x, i);
    if constexpr (plain && given.indexed) return step(x, *p, i);  // what `call_step` does, without its frame
    else if constexpr (plain) return step(x, *p);
    else return call_step<State, given.indexed>(step, *p, i, x);
  }
  void operator()(State const& x, State& x1, step_index const i)
    requires two
  {
    see(x, i);
    call_step<State, given.indexed>(step, *p, i, x, x1);
  }

 private:
  void see(State const& x, step_index const i) const {
    if constexpr (!std::is_same_v<Terms, no_losses>) terms->see(x, i);
  }
};
/// The user's step in the step of a run.
template <class Step>
struct given_in {
  static auto& step(auto& from) noexcept { return from; }
};
template <class Fn, class State, class Params, class Terms>
struct given_in<loop_step<Fn, State, Params, Terms>> {
  static auto& step(auto& from) noexcept { return from.step; }
};
/// \tparam Fn  a reference for a step that outlives the result   \param p  outlives it, too
template <class State, class Fn, class Params>
[[nodiscard]] auto bind_step(Fn&& step, Params const& p) {
  return loop_step<Fn, State, Params, no_losses>{std::forward<Fn>(step), &p};
}
template <class State, class Fn, class Params, class Terms>
[[nodiscard]] auto bind_step(Fn&& step, Params const& p, Terms& terms) {
  return loop_step<Fn, State, Params, Terms>{std::forward<Fn>(step), &p, &terms};
}

/// The form of an adjoint in a loop with these parameters, `no_params` if it has none.
template <class Fn, class State, class Bar, class Params, class DP>
consteval adjoint_shape adjoint_in_loop() {
  if constexpr (no_p<Params>) return shape_of_adjoint<Fn, State, Bar>();
  else return shape_of_adjoint_with<Fn, State, Bar, Params, DP>();
}
/// Whether its call may leave an object in another state.
template <class Fn, class State, class Bar, class Params, class DP>
consteval bool moves_in_loop() {
  if constexpr (no_p<Params>) return moves_object<Fn, State, Bar>();
  else return moves_object<Fn, State, Bar, Params const&, DP&>();
}

/// An adjoint made of another one says what it does with steps [from, to): `back<State>(x, x1, bar, p, dp, from, to)`.
/// p and dp are `no_params` if the loop has none; x1 is null unless the other adjoint takes it.
template <class Fn>
concept goes_back = requires { typename Fn::goes_back; };

/// Bar becomes the adjoint of x, state `from`, where it was that of state `to`.
template <class State, class Fn, class Input, class Bar, class Params, class DP>
void call_back(Fn& given, Input& x, State const* x1, Bar& bar, Params const& p,
               DP& dp, step_index const from, step_index const to) {
  auto& f = referred_to(given);
  using called = std::remove_reference_t<decltype(f)>;
  static constexpr auto shape = adjoint_in_loop<called, State, Bar, Params, DP>();
  static constexpr bool with = !no_p<Params>;
  if constexpr (goes_back<called> || (with && binds_adjoint<called, State, Bar, Params, DP>)) {
    f.template back<State>(x, x1, bar, p, dp, from, to);
  } else if constexpr (shape.form == adjoint_form::leaf && with) pull_back(f, bar, x, bar, p, dp, from, to);
  else if constexpr (shape.form == adjoint_form::leaf) pull_back(f, bar, x, bar, from, to);
  else if constexpr (shape.form == adjoint_form::with_next && with) pull_back(f, bar, x, *x1, bar, p, dp, from);
  else if constexpr (shape.form == adjoint_form::with_next) pull_back(f, bar, x, *x1, bar, from);
  else if constexpr (shape.indexed && with) pull_back(f, bar, x, bar, p, dp, from);
  else if constexpr (shape.indexed) pull_back(f, bar, x, bar, from);
  else if constexpr (with) pull_back(f, bar, x, bar, p, dp);
  else pull_back(f, bar, x, bar);
}

}  // namespace cairn::detail
