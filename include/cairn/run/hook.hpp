// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file hook.hpp  Calls a function after the adjoint of each step, for example to add a running objective.
#include <type_traits>
#include <utility>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/forms.hpp>
#include <cairn/core/replay_check.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/detail/cached_object.hpp>
#include <cairn/run/detail/come_back.hpp>
#include <cairn/run/detail/plans_inside.hpp>

namespace cairn {
namespace detail {

template <class Adjoint, class Hook>
struct hooked_adjoint {
  kept_callable<Adjoint> adjoint;
  kept_callable<Hook> hook;
  mutable cached_object memory;  // for a snapshot of an object that the adjoint changes

  static constexpr bool moves_object = false;
  using called = std::remove_reference_t<Adjoint>;
  template <class State, class Bar>
  static constexpr adjoint_form form = shape_of_adjoint<called, State, Bar>().form;
  template <class State, class Bar, class Params, class DP>
  static constexpr adjoint_form form_with = shape_of_adjoint_with<called, State, Bar, Params, DP>().form;

  /// After the adjoint of a leaf the hook gets its range: it is never called as if a leaf were one step.
  template <class State, class Bar>
  static consteval bool hook_fits() {
    using after = std::remove_reference_t<Hook>;
    if constexpr (form<State, Bar> != adjoint_form::leaf) return true;
    else if constexpr (std::is_same_v<Bar, library_bar>)
      return calls<after, lent_state<State>, step_index const&, step_index const&>;
    else return calls<after, lent_state<State>, Bar&, step_index const&, step_index const&>;
  }

  template <class State, class Bar>
    requires(!saved_state<State> && form<State, Bar> == adjoint_form::one_step)
  void operator()(State const& x, Bar& bar, step_index i) const {
    reverse<State>(x, bar, i);
    (*hook)(x, bar, std::as_const(i));
  }
  template <class State, class Bar>
    requires(!saved_state<State> && form<State, Bar> == adjoint_form::leaf)
  void operator()(State const& x, Bar& bar, step_index first, step_index last) const {
    reverse<State>(x, bar, first, last);
    (*hook)(x, bar, std::as_const(first), std::as_const(last));
  }
  template <class State, class Bar>
    requires(form<State, Bar> == adjoint_form::with_next)
  void operator()(State const& x, State const& x1, Bar& bar, step_index i) const {
    pull_back(*adjoint, bar, x, x1, bar, std::as_const(i));
    (*hook)(x, bar, std::as_const(i));
  }
  template <class State, class Bar>
    requires(saved_state<State> && form<State, Bar> == adjoint_form::one_step)
  void operator()(State& x, Bar& bar, step_index i) const {
    reverse<State>(x, bar, i);
    (*hook)(x, bar, std::as_const(i));
  }
  template <class State, class Bar>
    requires(saved_state<State> && form<State, Bar> == adjoint_form::leaf)
  void operator()(State& x, Bar& bar, step_index first, step_index last) const {
    reverse<State>(x, bar, first, last);
    (*hook)(x, bar, std::as_const(first), std::as_const(last));
  }
  template <class State>
    requires(saved_state<State> && form<State, library_bar> == adjoint_form::one_step)
  void operator()(State& x, step_index i) const {
    library_bar bar;
    reverse<State>(x, bar, i);
    (*hook)(x, std::as_const(i));
  }
  template <class State>
    requires(saved_state<State> && form<State, library_bar> == adjoint_form::leaf)
  void operator()(State& x, step_index first, step_index last) const {
    library_bar bar;
    reverse<State>(x, bar, first, last);
    (*hook)(x, std::as_const(first), std::as_const(last));
  }
  // With the parameters of a `wrt`.
  template <class State, class Bar, class Params, class DP>
    requires(!saved_state<State> && form_with<State, Bar, Params, DP> == adjoint_form::one_step)
  void operator()(State const& x, Bar& bar, Params const& p, DP& dp, step_index i) const {
    reverse_with<State>(x, bar, p, dp, i);
    after(x, bar, p, dp, i);
  }
  template <class State, class Bar, class Params, class DP>
    requires(saved_state<State> && form_with<State, Bar, Params, DP> == adjoint_form::one_step)
  void operator()(State& x, Bar& bar, Params const& p, DP& dp, step_index i) const {
    reverse_with<State>(x, bar, p, dp, i);
    after(x, bar, p, dp, i);
  }
  template <class State, class Bar>
  void check_plans() const { check_plans_inside<State, Bar>(*adjoint); }
  void ends_in(end_hash end) const
    requires takes_end_hash<called>
  {
    (*adjoint).ends_in(end);
  }

 private:
  template <class Input, class Bar, class Params, class DP>
  void after(Input& x, Bar& bar, Params const& p, DP& dp, step_index const i) const {
    if constexpr (calls<std::remove_reference_t<Hook>, Input&, Bar&, Params const&, DP&, step_index const&>)
      (*hook)(x, bar, p, dp, i);
    else (*hook)(x, bar, i);
  }
  template <class State, class Input, class Bar, class Params, class DP>
  void reverse_with(Input& x, Bar& bar, Params const& p, DP& dp, step_index const i) const {
    auto const call = [&] {
      if constexpr (shape_of_adjoint_with<called, State, Bar, Params, DP>().indexed)
        pull_back(*adjoint, bar, x, bar, p, dp, i);
      else pull_back(*adjoint, bar, x, bar, p, dp);
    };
    if constexpr (!detail::moves_object<called, State, Bar, Params const&, DP&>()) call();
    else {
      auto const& before = kept_state_of(std::as_const(x), memory);
      call();
      restore_state(x, before);
    }
  }
  /// Restores an object that the adjoint may change, because the hook is to see the state before the steps.
  template <class State, class Input, class Bar, class... Index>
  void reverse(Input& x, Bar& bar, Index... index) const {
    auto const call = [&] {
      if constexpr (sizeof...(Index) == 2) pull_back(*adjoint, bar, x, bar, std::as_const(index)...);
      else pull_back_step<shape_of_adjoint<called, State, Bar>().indexed>(*adjoint, bar, x, index...);
    };
    if constexpr (!detail::moves_object<called, State, Bar>()) call();
    else {
      auto const& before = kept_state_of(std::as_const(x), memory);
      call();
      restore_state(x, before);
    }
  }
};

/// The `reverse` of a recording adjoint, and the hook after it.
template <class Reverse, class Hook>
struct hooked_reverse {
  kept_callable<Reverse> reverse;
  kept_callable<Hook> hook;

  template <class Tape, class Bar>
  static consteval bool hook_fits() {
    using after = std::remove_reference_t<Hook>;
    if constexpr (std::is_same_v<Bar, library_bar>)
      return calls<after, Tape&, step_index const&> || calls<after, step_index const&>;
    else return calls<after, Tape&, Bar&, step_index const&> || calls<after, Bar&, step_index const&>;
  }

  template <class Tape, class Bar>
    requires(calls_with_index<std::remove_reference_t<Reverse>, Tape&, Bar&> ||
             calls<std::remove_reference_t<Reverse>, Tape&, Bar&>)
  void operator()(Tape& tape, Bar& bar, step_index const i) const {
    pull_back_step<calls_with_index<std::remove_reference_t<Reverse>, Tape&, Bar&>>(*reverse, bar, tape, i);
    after(i, tape, bar);
  }
  template <class Tape>
    requires(calls_with_index<std::remove_reference_t<Reverse>, Tape&> ||
             calls<std::remove_reference_t<Reverse>, Tape&>)
  void operator()(Tape& tape, step_index const i) const {
    library_bar bar;
    pull_back_step<calls_with_index<std::remove_reference_t<Reverse>, Tape&>>(*reverse, bar, tape, i);
    after(i, tape);
  }

 private:
  template <class Tape, class... Bar>
  void after(step_index const i, Tape& tape, Bar&... bar) const {
    if constexpr (calls<std::remove_reference_t<Hook>, Tape&, Bar&..., step_index const&>) (*hook)(tape, bar..., i);
    else (*hook)(bar..., i);
  }
};

}  // namespace detail

/// Adds `hook(x, bar, i)` after the adjoint of each step i, when bar belongs to state i. A running objective adds its
/// own gradient to bar there; a sweep that must survive a stop notes (i, bar). For adjoints in any form:
/// - `(x, bar[, i])` and `(x, x1, bar, i)`: `hook(x, bar, i)`, x being state i
/// - `(x, bar, first, last)`: `hook(x, bar, first, last)`, x being state `first`. The states after it are the adjoint's:
///   what each step of a leaf adds belongs there
/// - `recorded`: `hook(tape, bar, i)`, the tape as `reverse` leaves it, or `hook(bar, i)`
/// - `(x, bar, p, dp[, i])` of a verb with `wrt`: `hook(x, bar, p, dp, i)` or `hook(x, bar, i)`
///
/// If the library stores bar, the hook is called without it. The hook sees an object in state i: if the adjoint may
/// change the object, that is, takes x by non-const reference, a snapshot is taken before the adjoint and restored
/// after it. This takes one snapshot more than plans count.
///
/// Like everything that is made of callables (`nested`, `with_jumps`, `each_bar`, `recorded`, tags such as `leaf`), it
/// keeps a reference to an lvalue, which must outlive it, and moves an rvalue: what a function object sums is found in
/// the object that was given. A class without members is copied.
template <class Adjoint, class Hook>
[[nodiscard]] constexpr auto hooked(Adjoint&& adjoint, Hook&& hook) {
  using kept_hook = detail::kept_as<Hook>;
  if constexpr (detail::recorder<std::remove_reference_t<Adjoint>>) {
    using reverse = detail::kept_as<decltype((std::forward<Adjoint>(adjoint).reverse))>;
    detail::hooked_reverse<reverse, kept_hook> after{std::forward<Adjoint>(adjoint).reverse, std::forward<Hook>(hook)};
    if constexpr (requires { adjoint.restart; })
      return recorded{std::forward<Adjoint>(adjoint).record, std::move(after), std::forward<Adjoint>(adjoint).restart};
    else return recorded{std::forward<Adjoint>(adjoint).record, std::move(after)};
  } else
    return detail::hooked_adjoint<detail::kept_as<Adjoint>, kept_hook>{
        std::forward<Adjoint>(adjoint), std::forward<Hook>(hook), {}};
}

}  // namespace cairn
