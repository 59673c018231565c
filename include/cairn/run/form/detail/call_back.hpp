// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file call_back.hpp  The one place from which adjoints are called: steps [from, to), whatever the user wrote.
#include <type_traits>
#include <cairn/door/forms.hpp>
#include <cairn/door/wrt.hpp>

namespace cairn::detail {

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
