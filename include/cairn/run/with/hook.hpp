// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file hook.hpp  Calls a function after the adjoint of each step, for example to add a running objective.
#include <type_traits>
#include <utility>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/plans_inside.hpp>
#include <cairn/run/sweep/detail/cached_object.hpp>
#include <cairn/run/sweep/detail/end_hash.hpp>
#include <cairn/run/sweep/detail/kept_snapshot.hpp>
#include <cairn/run/with/detail/adjoint_over.hpp>

namespace cairn {
namespace detail {

/// Calls a hook after what it follows: with p and dp, if the loop has them and the hook takes them.
template <class... Before>
struct hook_after {
  template <class Hook, class Params, class DP, class... Index>
  static constexpr bool with = !no_p<Params> && calls<Hook, Before..., Params const&, DP&, Index...>;
  template <class Hook, class Params, class DP, class... Index>
  static constexpr bool takes = with<Hook, Params, DP, Index...> || calls<Hook, Before..., Index...>;
  template <class Hook, class Params, class DP, class... Index>
  static void call(Hook& hook, Params const& p, DP& dp, Before... before, Index const&... index) {
    if constexpr (with<Hook, Params, DP, Index const&...>) hook(before..., p, dp, index...);
    else hook(before..., index...);
  }
  /// What is wrong with it; `shape` if it does not take what there is. It may take bar and dp by value, to note them.
  template <class Hook, class Params, class DP, class... Index>
  static consteval fault wrong(arguments<Index...> index) {
    constexpr call_with<std::conditional_t<std::is_const_v<std::remove_reference_t<Before>>,
                                           reads<std::remove_cvref_t<Before>>,
                                           may_change<std::remove_reference_t<Before>>>...>
        before;
    if constexpr (with<Hook, Params, DP, Index const&...>)
      return fault_of_call<Hook>(before + call_with<reads_params<Params>, may_change<DP>>{} + counts_in(index));
    else if constexpr (takes<Hook, Params, DP, Index const&...>) return fault_of_call<Hook>(before + counts_in(index));
    else return fault::shape;
  }
};

template <class Adjoint, class Hook>
struct hooked_adjoint : adjoint_over<hooked_adjoint<Adjoint, Hook>> {
  hooked_adjoint(kept_callable<Adjoint> f, kept_callable<Hook> h) : adjoint{std::move(f)}, hook{std::move(h)} {}
  kept_callable<Adjoint> adjoint;
  kept_callable<Hook> hook;
  mutable lent_object memory{};  // for a snapshot of an object that the adjoint changes

  static constexpr bool moves_object = false;
  using called = std::remove_reference_t<Adjoint>;
  using after = std::remove_reference_t<Hook>;
  template <class State, class Bar>
  static consteval adjoint_shape shape_on() { return shape_of_adjoint<called, State, Bar>(); }
  template <class State, class Bar, class Params, class DP>
  static consteval adjoint_shape adjoint_with() {
    return shape_over(shape_of_adjoint_with<called, State, Bar, Params, DP>());
  }
  /// After the adjoint of a leaf the hook gets its range: it is never called as if a leaf were one step.
  template <class State, class Bar, class Params, class DP>
  static consteval fault hook_fault() {
    using x = lent_state<State>;
    using before = std::conditional_t<barless<Bar>, hook_after<x>, hook_after<x, Bar&>>;
    constexpr bool leaf = adjoint_in_loop<called, State, Bar, Params, DP>().form == adjoint_form::leaf;
    using index = std::conditional_t<leaf, arguments<step_index, step_index>, arguments<step_index>>;
    return before::template wrong<after, Params, DP>(index{});
  }
  /// Restores an object that the adjoint may change, because the hook is to see the state before the steps.
  template <class State, class Input, class Bar, class Params, class DP>
  void back(Input& x, State const* x1, Bar& bar, Params const& p, DP& dp, step_index const from,
            step_index const to) const {
    if constexpr (!moves_in_loop<called, State, Bar, Params, DP>())
      call_back<State>(*adjoint, x, x1, bar, p, dp, from, to);
    else {
      auto const& before = kept_state_of(std::as_const(x), memory.object());
      call_back<State>(*adjoint, x, x1, bar, p, dp, from, to);
      restore_state(x, before);
    }
    auto const call = [&](auto const&... index) {
      if constexpr (barless<Bar>) hook_after<Input&>::call(*hook, p, dp, x, index...);
      else hook_after<Input&, Bar&>::call(*hook, p, dp, x, bar, index...);
    };
    if constexpr (adjoint_in_loop<called, State, Bar, Params, DP>().form == adjoint_form::leaf) call(from, to);
    else call(from);
  }
  template <class State, class Bar, class Params, class DP>
  void check_plans() const { check_plans_inside<State, Bar, Params, DP>(*adjoint); }
  void ends_in(end_hash end) const
    requires takes_end_hash<called>
  {
    referred_to(*adjoint).ends_in(end);
  }
  template <class Look>
  void each_function(Look const& look) const { look(*adjoint), look(*hook); }
};

/// The `reverse` of a recording adjoint, and the hook after it.
template <class Reverse, class Hook>
struct hooked_reverse {
  kept_callable<Reverse> reverse;
  kept_callable<Hook> hook;
  using called = std::remove_reference_t<Reverse>;
  using after = std::remove_reference_t<Hook>;

  template <class Tape, class Bar, class Given, class Sum>
  static consteval fault hook_fault() {
    using bar = std::conditional_t<barless<Bar>, arguments<>, arguments<Bar&>>;
    constexpr auto read = []<class... Before>(arguments<Before...>) {
      constexpr auto whole = hook_after<Tape&, Before...>::template wrong<after, Given, Sum>(arguments<step_index>{});
      if constexpr (whole != fault::shape) return whole;
      else return hook_after<Before...>::template wrong<after, Given, Sum>(arguments<step_index>{});
    };
    return read(bar{});
  }
  template <class Tape, class Bar, class Given, class Sum>
  static consteval bool reverse_with() { return reverse_takes<called, Tape, Bar, Given, Sum>(); }
  template <class Tape, class Bar, class Params, class DP>
  void back(Tape& tape, Bar& bar, Params const& p, DP& dp, step_index const i) const {
    bind_reverse<Tape, Bar>(*reverse, p, dp)(tape, bar, i);
    if constexpr (barless<Bar>) follow(p, dp, i, tape);
    else follow(p, dp, i, tape, bar);
  }
  template <class Tape, class Bar>
    requires(calls_with_index<called, Tape&, Bar&> || calls<called, Tape&, Bar&>)
  void operator()(Tape& tape, Bar& bar, step_index const i) const {
    back(tape, bar, no_parameters, no_gradient, i);
  }
  template <class Tape>
    requires(calls_with_index<called, Tape&> || calls<called, Tape&>)
  void operator()(Tape& tape, step_index const i) const {
    library_bar bar;
    back(tape, bar, no_parameters, no_gradient, i);
  }
  template <class Look>
  void each_function(Look const& look) const { look(*reverse), look(*hook); }

 private:
  template <class Params, class DP, class Tape, class... Bar>
  void follow(Params const& p, DP& dp, step_index const& i, Tape& tape, Bar&... bar) const {
    if constexpr (hook_after<Tape&, Bar&...>::template takes<after, Params, DP, step_index const&>)
      hook_after<Tape&, Bar&...>::call(*hook, p, dp, tape, bar..., i);
    else hook_after<Bar&...>::call(*hook, p, dp, bar..., i);
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
        std::forward<Adjoint>(adjoint), std::forward<Hook>(hook)};
}

}  // namespace cairn
