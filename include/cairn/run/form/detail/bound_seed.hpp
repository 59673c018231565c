// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file bound_seed.hpp  The seed of a loop or of a chain with its parameters.
#include <type_traits>
#include <utility>
#include <cairn/door/detail/lending.hpp>
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

}  // namespace cairn::detail
