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

/// As long as it lives, an adjoint whose step keeps something for it knows the step of a run that is kept.
template <class Adjoint, class Step>
class met_step {
  static constexpr bool meets = requires(Adjoint const& f, Step const* step) { f.meets(step); };

 public:
  met_step(Adjoint const& adjoint, [[maybe_unused]] Step const& step) : adjoint_{adjoint} {
    if constexpr (meets) adjoint_.meets(__builtin_addressof(step));
  }
  met_step(met_step const&) = delete;
  ~met_step() {
    if constexpr (meets) adjoint_.meets(static_cast<Step const*>(nullptr));
  }

 private:
  Adjoint const& adjoint_;
};

}  // namespace cairn::detail
