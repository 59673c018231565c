// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file bound_seed.hpp  The seed of a loop or of a chain with its parameters, and the type of its adjoint.
#include <type_traits>
#include <utility>
#include <cairn/door/detail/checks.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/detail/refused.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/wrt.hpp>

namespace cairn::detail {

/// The seed as a function of the final state: `seed(x, p, dp)`, `seed(x, p)`, `seed(x)`, or a value as it is.
template <class State, class Seed, class Params, class DP>
[[nodiscard]] constexpr decltype(auto) bind_seed(Seed&& seed, Params const& p, DP& dp) {
  using Fn = std::remove_reference_t<Seed>;
  if constexpr (no_p<Params>) return std::forward<Seed>(seed);
  else if constexpr (range_like<std::remove_cv_t<Fn>>) return std::forward<Seed>(seed);
  else if constexpr (calls<Fn, lent_state<State>, Params const&, DP&>)
    return [&](lent_state<State> x) -> decltype(auto) { return call_lending(seed, x, p, dp); };
  else if constexpr (calls<Fn, lent_state<State>, Params const&>)
    return [&](lent_state<State> x) -> decltype(auto) { return call_lending(seed, x, p); };
  else return std::forward<Seed>(seed);
}
template <class Seed, class State, class Wrt>
struct bound_seed { using type = Seed; };
template <class Seed, class State, class Params, class DP>
struct bound_seed<Seed, State, wrt<Params, DP>> {
  using type = decltype(bind_seed<State>(std::declval<Seed>(), std::declval<Params const&>(), std::declval<DP&>()));
};

/// The adjoint's type.
template <class Seed, class State> using bar_type = typename bar_of<std::remove_reference_t<Seed>, State>::type;
/// The same for a seed that may take the parameters of a `wrt`.
template <class Seed, class State, class Wrt>
using bar_type_with = bar_type<typename bound_seed<Seed, State, Wrt>::type, State>;

/// The likely result type of a refused call: the seed's type, or the state's if the seed is not an adjoint.
template <class Seed, class State>
struct refused_bar {
  static constexpr bool is_seed = !function_like<bar_type<Seed, State>> && !generic<bar_type<Seed, State>>;
  using type = typename first_returned<std::conditional_t<is_seed, bar_type<Seed, State>, void>, State>::type;
};
/// The state; if step and initial state are swapped, the argument in the step's place.
template <class Step, class StateType, bool = swapped<Step, StateType>()>
struct refused_state { using type = StateType; };
template <class Step, class StateType>
struct refused_state<Step, StateType, true> { using type = Step; };
/// The step for that question; with parameters it is not asked.
template <class Step, class Wrt> using step_refused = std::conditional_t<is_wrt<Wrt>, no_wrt, Step>;

}  // namespace cairn::detail
