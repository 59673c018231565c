// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plans_inside.hpp  The plans of loops inside an adjoint.
#include <cairn/door/detail/step_shape.hpp>
#include <cairn/door/wrt.hpp>

namespace cairn::detail {

/// Refuses the plan of an inner loop that its adjoint is not for, before any step runs. An adjoint that has an inner
/// loop, or an adjoint with one inside, has a member `check_plans<State, Bar, Params, DP>()`.   \throws invalid_plan
template <class State, class Bar, class Params = no_params, class DP = no_params, class Adjoint>
void check_plans_inside(Adjoint const& adjoint) {
  [[maybe_unused]] auto& f = referred_to(adjoint);
  if constexpr (requires { f.template check_plans<State, Bar, Params, DP>(); })
    f.template check_plans<State, Bar, Params, DP>();
}

}  // namespace cairn::detail
