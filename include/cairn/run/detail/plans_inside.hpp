// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plans_inside.hpp  The plans of loops inside an adjoint.

namespace cairn::detail {

/// Refuses the plan of an inner loop that its adjoint is not for, before any step runs. An adjoint that has an inner
/// loop, or an adjoint with one inside, has a member `check_plans<State, Bar>()`.   \throws invalid_plan
template <class State, class Bar, class Adjoint>
void check_plans_inside([[maybe_unused]] Adjoint const& adjoint) {
  if constexpr (requires { adjoint.template check_plans<State, Bar>(); }) adjoint.template check_plans<State, Bar>();
}

}  // namespace cairn::detail
