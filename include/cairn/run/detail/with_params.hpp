// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file with_params.hpp  Steps, adjoints and seeds with the parameters of their loop: as the executors call them,
/// without parameters.
#include <type_traits>
#include <utility>
#include <cairn/core/forms.hpp>
#include <cairn/core/wrt.hpp>

namespace cairn::detail {

/// Calls f with p, or with p and dp, before the index, if f takes one.
template <bool Indexed, class F, class... A>
constexpr decltype(auto) call_indexed(F& f, [[maybe_unused]] step_index const i, A&&... args) {
  if constexpr (Indexed) return call_lending(f, std::forward<A>(args)..., i);
  else return call_lending(f, std::forward<A>(args)...);
}

/// What the forms of a step share: the user's step, a copy or a reference as `F` says, and its parameters.
template <class F, class P>
struct step_and_params {
  [[no_unique_address]] F step;
  P const* p;
  void begin(loop_begins loop) { begin_loop(step, loop); }
};
/// A step that takes p, called without.   \tparam Form  each has a single signature, which the checks of steps read
template <step_form Form, class F, class State, class P, bool Stops = false>
struct step_with_params;
template <class F, class State, class P, bool Stops>
struct step_with_params<step_form::in_place, F, State, P, Stops> : step_and_params<F, P> {
  auto operator()(State& x, step_index const i) -> std::conditional_t<Stops, bool, void> {
    return call_indexed<shape_of_step_with<std::remove_reference_t<F>, State, P>().indexed>(this->step, i, x, *this->p);
  }
};
template <class F, class State, class P>
struct step_with_params<step_form::by_value, F, State, P> : step_and_params<F, P> {
  State operator()(State const& x, step_index const i) {
    return call_indexed<shape_of_step_with<std::remove_reference_t<F>, State, P>().indexed>(this->step, i, x, *this->p);
  }
};
template <class F, class State, class P>
struct step_with_params<step_form::out_of_place, F, State, P> : step_and_params<F, P> {
  void operator()(State const& x, State& x1, step_index const i) {
    call_indexed<shape_of_step_with<std::remove_reference_t<F>, State, P>().indexed>(this->step, i, x, x1, *this->p);
  }
};

/// The step with its parameters.   \tparam F  a reference for a step that outlives the result
template <class State, class F, class P>
[[nodiscard]] auto bind_step(F&& step, P const& p) {
  constexpr auto shape = shape_of_step_with<std::remove_reference_t<F>, State, P>();
  return step_with_params<shape.form, F, State, P, shape.stops>{{std::forward<F>(step), &p}};
}

/// What the forms of an adjoint share.
template <class F, class P, class DP>
struct adjoint_and_params {
  F& adjoint;
  P const& p;
  DP& dp;
  void ends_in(end_hash end) const
    requires takes_end_hash<F>
  {
    adjoint.ends_in(end);
  }
};
/// An adjoint that takes p and dp, called without.
template <adjoint_form Form, class F, class State, class Bar, class P, class DP>
struct adjoint_with_params;
template <class F, class State, class Bar, class P, class DP>
struct adjoint_with_params<adjoint_form::one_step, F, State, Bar, P, DP> : adjoint_and_params<F, P, DP> {
  static constexpr bool moves_object = detail::moves_object<F, State, Bar, P const&, DP&>();
  void operator()(lent_state<State> x, Bar& bar, step_index const i) const {
    if constexpr (shape_of_adjoint_with<F, State, Bar, P, DP>().indexed)
      pull_back(this->adjoint, bar, x, bar, this->p, this->dp, i);
    else pull_back(this->adjoint, bar, x, bar, this->p, this->dp);
  }
};
template <class F, class State, class P, class DP>
struct adjoint_with_params<adjoint_form::one_step, F, State, library_bar, P, DP> : adjoint_and_params<F, P, DP> {
  static constexpr bool moves_object = detail::moves_object<F, State, library_bar, P const&, DP&>();
  void operator()(lent_state<State> x, step_index const i) const {
    call_indexed<shape_of_adjoint_with<F, State, library_bar, P, DP>().indexed>(this->adjoint, i, x, this->p, this->dp);
  }
};
template <class F, class State, class Bar, class P, class DP>
struct adjoint_with_params<adjoint_form::with_next, F, State, Bar, P, DP> : adjoint_and_params<F, P, DP> {
  void operator()(State const& x, State const& x1, Bar& bar, step_index const i) const {
    pull_back(this->adjoint, bar, x, x1, bar, this->p, this->dp, i);
  }
};
template <class F, class State, class Bar, class P, class DP>
struct adjoint_with_params<adjoint_form::leaf, F, State, Bar, P, DP> : adjoint_and_params<F, P, DP> {
  static constexpr bool moves_object = detail::moves_object<F, State, Bar, P const&, DP&>();
  void operator()(lent_state<State> x, Bar& bar, step_index const first, step_index const last) const {
    pull_back(this->adjoint, bar, x, bar, this->p, this->dp, first, last);
  }
};
template <class F, class State, class P, class DP>
struct adjoint_with_params<adjoint_form::leaf, F, State, library_bar, P, DP> : adjoint_and_params<F, P, DP> {
  static constexpr bool moves_object = detail::moves_object<F, State, library_bar, P const&, DP&>();
  void operator()(lent_state<State> x, step_index const first, step_index const last) const {
    call_lending(this->adjoint, x, this->p, this->dp, first, last);
  }
};


template <class F, class State, class P>
using tape_with_params =
    std::remove_cvref_t<decltype(call_indexed<reads_one_with<record_of<F>, State, P, step_index>>(
        std::declval<record_of<F>&>(), 0, std::declval<State&>(), std::declval<P const&>()))>;
template <class F, class State, class P>
struct record_with_params {
  F& adjoint;
  P const& p;
  decltype(auto) operator()(State& x, step_index const i) const {
    return call_indexed<reads_one_with<record_of<F>, State, P, step_index>>(adjoint.record, i, x, p);
  }
};
template <class F, class State, class Bar, class P, class DP>
struct reverse_with_params {
  F& adjoint;
  P const& p;
  DP& dp;
  static constexpr bool indexed = shape_of_adjoint_with<F, State, Bar, P, DP>().reverse_indexed;
  void operator()(tape_with_params<F, State, P>& tape, Bar& bar, step_index const i) const {
    if constexpr (indexed) pull_back(adjoint.reverse, bar, tape, bar, p, dp, i);
    else pull_back(adjoint.reverse, bar, tape, bar, p, dp);
  }
};
template <class F, class State, class P, class DP>
struct reverse_with_params<F, State, library_bar, P, DP> {
  F& adjoint;
  P const& p;
  DP& dp;
  static constexpr bool indexed = shape_of_adjoint_with<F, State, library_bar, P, DP>().reverse_indexed;
  void operator()(tape_with_params<F, State, P>& tape, step_index const i) const {
    call_indexed<indexed>(adjoint.reverse, i, tape, p, dp);
  }
};
template <class F>
concept says_restart = requires(F& f) { sizeof(f.restart); };
template <class F>
struct restart_of {
  F& adjoint;
  template <class Tape>
    requires calls<decltype((std::declval<F&>().restart)), Tape const&>
  decltype(auto) operator()(Tape const& tape) const { return adjoint.restart(tape); }
};

/// The adjoint with p and dp, for bars of type Bar. Refers to all three.
template <class State, class Bar, class F, class P, class DP>
[[nodiscard]] auto bind_adjoint(F& adjoint, P const& p, DP& dp) {
  constexpr auto shape = shape_of_adjoint_with<F, State, Bar, P, DP>();
  if constexpr (shape.form == adjoint_form::recorded) {
    record_with_params<F, State, P> record{adjoint, p};
    reverse_with_params<F, State, Bar, P, DP> reverse{adjoint, p, dp};
    if constexpr (says_restart<F>) return recorded{std::move(record), std::move(reverse), restart_of<F>{adjoint}};
    else return recorded{std::move(record), std::move(reverse)};
  } else {
    adjoint_with_params<shape.form, F, State, Bar, P, DP> bound{{adjoint, p, dp}};
    if constexpr (shape.form == adjoint_form::one_step) return bound;
    else return tagged<shape.form, decltype(bound)>{bound};
  }
}

/// The seed as a function of the final state: `seed(x, p, dp)`, `seed(x, p)`, `seed(x)`, or a value as it is.
template <class State, class Seed, class P, class DP>
[[nodiscard]] constexpr decltype(auto) bind_seed(Seed&& seed, P const& p, DP& dp) {
  using F = std::remove_reference_t<Seed>;
  if constexpr (range_like<std::remove_cv_t<F>>) return std::forward<Seed>(seed);
  else if constexpr (calls<F, lent_state<State>, P const&, DP&>)
    return [&](lent_state<State> x) -> decltype(auto) { return call_lending(seed, x, p, dp); };
  else if constexpr (calls<F, lent_state<State>, P const&>)
    return [&](lent_state<State> x) -> decltype(auto) { return call_lending(seed, x, p); };
  else return std::forward<Seed>(seed);
}
template <class Seed, class State, class Wrt>
struct bound_seed { using type = Seed; };
template <class Seed, class State, class P, class DP>
struct bound_seed<Seed, State, wrt<P, DP>> {
  using type = decltype(bind_seed<State>(std::declval<Seed>(), std::declval<P const&>(), std::declval<DP&>()));
};

}  // namespace cairn::detail
