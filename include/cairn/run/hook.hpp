// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file hook.hpp  Calls a function after the adjoint of each step, for example to add a running objective.
#include <type_traits>
#include <utility>
#include <cairn/core/forms.hpp>
#include <cairn/core/replay_check.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/detail/cached_object.hpp>
#include <cairn/run/detail/come_back.hpp>

namespace cairn {
namespace detail {

template <class Adjoint, class Hook>
struct hooked_adjoint {
  mutable Adjoint adjoint;  // mutable, so that a const pair of mutable lambdas works
  mutable Hook hook;
  mutable cached_object memory;  // for a snapshot of an object that the adjoint changes

  static constexpr bool moves_object = false;

  template <class State, class Bar>
    requires(!saved_state<State> && shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step)
  void operator()(State const& x, Bar& bar, step_index i) const {
    call_adjoint(x, bar, i);
    hook(x, bar, std::as_const(i));
  }
  template <class State, class Bar>
    requires(saved_state<State> && shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step)
  void operator()(State& x, Bar& bar, step_index i) const {
    reverse_and_come_back(x, bar, i);
    hook(x, bar, std::as_const(i));
  }
  template <class State>
    requires(saved_state<State> && shape_of_adjoint<Adjoint, State, library_bar>().form == adjoint_form::one_step)
  void operator()(State& x, step_index i) const {
    library_bar bar;
    reverse_and_come_back(x, bar, i);
    hook(x, std::as_const(i));
  }
  void ends_in(end_hash end) const
    requires takes_end_hash<Adjoint>
  {
    adjoint.ends_in(end);
  }

 private:
  template <class State, class Bar>
  void call_adjoint(State& x, Bar& bar, step_index const i) const {
    pull_back_step<shape_of_adjoint<Adjoint, std::remove_const_t<State>, Bar>().indexed>(adjoint, bar, x, i);
  }
  /// Restores the object, because the adjoint may change it and the hook is to see state i.
  template <class State, class Bar>
  void reverse_and_come_back(State& x, Bar& bar, step_index i) const {
    if constexpr (!detail::moves_object<Adjoint, State, Bar>()) call_adjoint(x, bar, i);
    else {
      auto const& before = kept_state_of(std::as_const(x), memory);
      call_adjoint(x, bar, i);
      restore_state(x, before);
    }
  }
};

}  // namespace detail

/// Adds `hook(x, bar, i)` after the adjoint of each step i, when bar belongs to state i. A running objective adds its
/// own gradient to bar there; a sweep that must survive a stop notes (i, bar). For adjoints `(x, bar, i)`; keeps copies
/// of both callables. The hook sees an object in state i: if the adjoint may change the object, that is, takes x by
/// non-const reference, a snapshot is taken before the adjoint and restored after it. This takes one snapshot more than
/// plans count. If the library stores bar, hook is called as `hook(x, i)`.
template <class Adjoint, class Hook>
[[nodiscard]] constexpr auto hooked(Adjoint adjoint, Hook hook) {
  return detail::hooked_adjoint<Adjoint, Hook>{std::move(adjoint), std::move(hook), {}};
}

}  // namespace cairn
