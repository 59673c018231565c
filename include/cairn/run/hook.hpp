#pragma once
/// \file hook.hpp  Running objectives: something to do after the adjoint of each step.
#include <utility>
#include <cairn/core/forms.hpp>
#include <cairn/core/replay_check.hpp>

namespace cairn {
namespace detail {

template <class Adjoint, class Hook>
struct hooked_adjoint {
  mutable Adjoint adjoint;  // mutable, so that a const pair of mutable lambdas works
  mutable Hook hook;

  template <class State, class Bar>
    requires(shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step)
  void operator()(State const& x, Bar& bar, step_index i) const {
    if constexpr (shape_of_adjoint<Adjoint, State, Bar>().indexed) pull_back(adjoint, bar, x, bar, std::as_const(i));
    else pull_back(adjoint, bar, x, bar);
    hook(x, bar, std::as_const(i));
  }
  void ends_in(end_hash end) const
    requires takes_end_hash<Adjoint>
  {
    adjoint.ends_in(end);
  }
};

}  // namespace detail

/// Adds `hook(x, bar, i)` after the adjoint of each step i, when bar belongs to state i: a running objective adds its
/// own gradient to bar there, and a sweep that must survive a stop notes (i, bar). For adjoints `(x, bar, i)`; keeps
/// copies of both callables.
template <class Adjoint, class Hook>
[[nodiscard]] constexpr auto hooked(Adjoint adjoint, Hook hook) {
  return detail::hooked_adjoint<Adjoint, Hook>{std::move(adjoint), std::move(hook)};
}

}  // namespace cairn
