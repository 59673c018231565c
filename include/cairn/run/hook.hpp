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
#include <cairn/run/detail/with_params.hpp>

namespace cairn {
namespace detail {

/// A hook of a loop with parameters, called without: it may take p and dp before its index.
template <class Hook, class Params, class DP>
struct hook_with_params {
  Hook& hook;
  Params const& p;
  DP& dp;

  template <class... Before>
  struct of {
    template <class... Index>
    static constexpr bool with = calls<Hook, Before..., Params const&, DP&, Index...>;
    template <class... Index>
    static constexpr bool takes = with<Index...> || calls<Hook, Before..., Index...>;
  };
  template <class... Before>
    requires(of<Before&...>::template takes<step_index const&>)
  void after(arguments<Before...>, step_index const& i, Before&... before) const {
    if constexpr (of<Before&...>::template with<step_index const&>) hook(before..., p, dp, i);
    else hook(before..., i);
  }
  // Of one step: x and bar, a tape and bar, or one of them.
  template <class First, class Second>
    requires(of<First&, Second&>::template takes<step_index const&>)
  void operator()(First& first, Second& second, step_index const& i) const {
    after(arguments<First, Second>{}, i, first, second);
  }
  template <class First>
    requires(of<First&>::template takes<step_index const&>)
  void operator()(First& first, step_index const& i) const { after(arguments<First>{}, i, first); }
  void operator()(step_index const& i) const
    requires(of<>::template takes<step_index const&>)
  {
    after(arguments<>{}, i);
  }
  // Of a leaf.
  template <class State, class Bar>
    requires(of<State&, Bar&>::template takes<step_index const&, step_index const&>)
  void operator()(State& x, Bar& bar, step_index const& first, step_index const& last) const {
    if constexpr (of<State&, Bar&>::template with<step_index const&, step_index const&>)
      hook(x, bar, p, dp, first, last);
    else hook(x, bar, first, last);
  }
  template <class State>
    requires(of<State&>::template takes<step_index const&, step_index const&>)
  void operator()(State& x, step_index const& first, step_index const& last) const {
    if constexpr (of<State&>::template with<step_index const&, step_index const&>) hook(x, p, dp, first, last);
    else hook(x, first, last);
  }
};

template <class Adjoint, class Hook>
struct hooked_adjoint {
  kept_callable<Adjoint> adjoint;
  kept_callable<Hook> hook;
  mutable lent_object memory;  // for a snapshot of an object that the adjoint changes

  static constexpr bool moves_object = false;
  using called = std::remove_reference_t<Adjoint>;
  template <class State, class Bar>
  static constexpr adjoint_form form = shape_of_adjoint<called, State, Bar>().form;

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
  template <class State, class Bar, class Params, class DP>
  static consteval adjoint_shape adjoint_with() {
    constexpr auto read = shape_of_adjoint_with<called, State, Bar, Params, DP>();
    if constexpr (read.form == adjoint_form::none) return read;
    else return {read.form, true, false, false, false, fault::none};
  }
  template <class State, class Bar, class Params, class DP>
  auto with_params(Params const& p, DP& dp) const {
    auto bound = bind_adjoint<State, Bar>(*adjoint, p, dp);
    hook_with_params<std::remove_reference_t<Hook>, Params, DP> last{*hook, p, dp};
    return hooked_adjoint<decltype(bound), decltype(last)>{bound, last, lent_object{&memory}};
  }
  template <class State, class Bar>
  void check_plans() const { check_plans_inside<State, Bar>(*adjoint); }
  void ends_in(end_hash end) const
    requires takes_end_hash<called>
  {
    referred_to(*adjoint).ends_in(end);
  }
  template <class Look>
  void each_function(Look const& look) const { look(*adjoint), look(*hook); }

 private:
  /// Restores an object that the adjoint may change, because the hook is to see the state before the steps.
  template <class State, class Input, class Bar, class... Index>
  void reverse(Input& x, Bar& bar, Index... index) const {
    auto const call = [&] {
      if constexpr (sizeof...(Index) == 2) pull_back(*adjoint, bar, x, bar, std::as_const(index)...);
      else pull_back_step<shape_of_adjoint<called, State, Bar>().indexed>(*adjoint, bar, x, index...);
    };
    if constexpr (!detail::moves_object<called, State, Bar>()) call();
    else {
      auto const& before = kept_state_of(std::as_const(x), memory.object());
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

  template <class Tape, class Bar, class Params, class DP>
  static consteval bool reverse_with() {
    return reverse_takes<std::remove_reference_t<Reverse>, Tape, Bar, Params, DP>();
  }
  template <class Tape, class Bar, class Params, class DP>
  auto with_params(Params const& p, DP& dp) const {
    auto bound = bind_reverse<Tape, Bar>(*reverse, p, dp);
    hook_with_params<std::remove_reference_t<Hook>, Params, DP> last{*hook, p, dp};
    return hooked_reverse<decltype(bound), decltype(last)>{bound, last};
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
  template <class Look>
  void each_function(Look const& look) const { look(*reverse), look(*hook); }

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
///
/// In a verb with `wrt` a hook may take p and dp, too, before the index or the range.
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
