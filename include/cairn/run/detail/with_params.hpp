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
template <bool Indexed, class Fn, class... Args>
constexpr decltype(auto) call_indexed(Fn& f, [[maybe_unused]] step_index const i, Args&&... args) {
  if constexpr (Indexed) return call_lending(f, std::forward<Args>(args)..., i);
  else return call_lending(f, std::forward<Args>(args)...);
}

/// What the forms of a step share: the user's step, a copy or a reference as `Fn` says, and its parameters.
template <class Fn, class Params>
struct step_and_params {
  [[no_unique_address]] Fn step;
  Params const* p;
  void begin(loop_begins loop) { begin_loop(step, loop); }
};
/// A step that takes p, called without.   \tparam Form  each has a single signature, which the checks of steps read
template <step_form Form, class Fn, class State, class Params, bool Stops = false>
struct step_with_params;
template <class Fn, class State, class Params, bool Stops>
struct step_with_params<step_form::in_place, Fn, State, Params, Stops> : step_and_params<Fn, Params> {
  auto operator()(State& x, step_index const i) -> std::conditional_t<Stops, bool, void> {
    return call_indexed<shape_of_step_with<std::remove_reference_t<Fn>, State, Params>().indexed>(this->step, i, x,
                                                                                                  *this->p);
  }
};
template <class Fn, class State, class Params>
struct step_with_params<step_form::by_value, Fn, State, Params> : step_and_params<Fn, Params> {
  State operator()(State const& x, step_index const i) {
    return call_indexed<shape_of_step_with<std::remove_reference_t<Fn>, State, Params>().indexed>(this->step, i, x,
                                                                                                  *this->p);
  }
};
template <class Fn, class State, class Params>
struct step_with_params<step_form::out_of_place, Fn, State, Params> : step_and_params<Fn, Params> {
  void operator()(State const& x, State& x1, step_index const i) {
    call_indexed<shape_of_step_with<std::remove_reference_t<Fn>, State, Params>().indexed>(this->step, i, x, x1,
                                                                                           *this->p);
  }
};

/// The step with its parameters.   \tparam Fn  a reference for a step that outlives the result
template <class State, class Fn, class Params>
[[nodiscard]] auto bind_step(Fn&& step, Params const& p) {
  constexpr auto shape = shape_of_step_with<std::remove_reference_t<Fn>, State, Params>();
  return step_with_params<shape.form, Fn, State, Params, shape.stops>{{std::forward<Fn>(step), &p}};
}

/// What the forms of an adjoint share.
template <class Fn, class Params, class DP>
struct adjoint_and_params {
  Fn& adjoint;
  Params const& p;
  DP& dp;
  void ends_in(end_hash end) const
    requires takes_end_hash<Fn>
  {
    adjoint.ends_in(end);
  }
};
/// An adjoint that takes p and dp, called without.
template <adjoint_form Form, class Fn, class State, class Bar, class Params, class DP>
struct adjoint_with_params;
template <class Fn, class State, class Bar, class Params, class DP>
struct adjoint_with_params<adjoint_form::one_step, Fn, State, Bar, Params, DP> : adjoint_and_params<Fn, Params, DP> {
  static constexpr bool moves_object = detail::moves_object<Fn, State, Bar, Params const&, DP&>();
  void operator()(lent_state<State> x, Bar& bar, step_index const i) const {
    if constexpr (shape_of_adjoint_with<Fn, State, Bar, Params, DP>().indexed)
      pull_back(this->adjoint, bar, x, bar, this->p, this->dp, i);
    else pull_back(this->adjoint, bar, x, bar, this->p, this->dp);
  }
};
template <class Fn, class State, class Params, class DP>
struct adjoint_with_params<adjoint_form::one_step, Fn, State, library_bar, Params, DP>
    : adjoint_and_params<Fn, Params, DP> {
  static constexpr bool moves_object = detail::moves_object<Fn, State, library_bar, Params const&, DP&>();
  void operator()(lent_state<State> x, step_index const i) const {
    call_indexed<shape_of_adjoint_with<Fn, State, library_bar, Params, DP>().indexed>(this->adjoint, i, x, this->p,
                                                                                      this->dp);
  }
};
template <class Fn, class State, class Bar, class Params, class DP>
struct adjoint_with_params<adjoint_form::with_next, Fn, State, Bar, Params, DP> : adjoint_and_params<Fn, Params, DP> {
  void operator()(State const& x, State const& x1, Bar& bar, step_index const i) const {
    pull_back(this->adjoint, bar, x, x1, bar, this->p, this->dp, i);
  }
};
template <class Fn, class State, class Bar, class Params, class DP>
struct adjoint_with_params<adjoint_form::leaf, Fn, State, Bar, Params, DP> : adjoint_and_params<Fn, Params, DP> {
  static constexpr bool moves_object = detail::moves_object<Fn, State, Bar, Params const&, DP&>();
  void operator()(lent_state<State> x, Bar& bar, step_index const first, step_index const last) const {
    pull_back(this->adjoint, bar, x, bar, this->p, this->dp, first, last);
  }
};
template <class Fn, class State, class Params, class DP>
struct adjoint_with_params<adjoint_form::leaf, Fn, State, library_bar, Params, DP>
    : adjoint_and_params<Fn, Params, DP> {
  static constexpr bool moves_object = detail::moves_object<Fn, State, library_bar, Params const&, DP&>();
  void operator()(lent_state<State> x, step_index const first, step_index const last) const {
    call_lending(this->adjoint, x, this->p, this->dp, first, last);
  }
};

template <class Fn, class State, class Params>
using tape_with_params =
    std::remove_cvref_t<decltype(call_indexed<reads_one_with<record_of<Fn>, State, Params, step_index>>(
        std::declval<record_of<Fn>&>(), 0, std::declval<State&>(), std::declval<Params const&>()))>;
template <class Fn, class State, class Params>
struct record_with_params {
  Fn& adjoint;
  Params const& p;
  decltype(auto) operator()(State& x, step_index const i) const {
    return call_indexed<reads_one_with<record_of<Fn>, State, Params, step_index>>(adjoint.record, i, x, p);
  }
};
template <class Fn, class State, class Bar, class Params, class DP>
struct reverse_with_params {
  Fn& adjoint;
  Params const& p;
  DP& dp;
  static constexpr bool indexed = shape_of_adjoint_with<Fn, State, Bar, Params, DP>().reverse_indexed;
  void operator()(tape_with_params<Fn, State, Params>& tape, Bar& bar, step_index const i) const {
    if constexpr (indexed) pull_back(adjoint.reverse, bar, tape, bar, p, dp, i);
    else pull_back(adjoint.reverse, bar, tape, bar, p, dp);
  }
};
template <class Fn, class State, class Params, class DP>
struct reverse_with_params<Fn, State, library_bar, Params, DP> {
  Fn& adjoint;
  Params const& p;
  DP& dp;
  static constexpr bool indexed = shape_of_adjoint_with<Fn, State, library_bar, Params, DP>().reverse_indexed;
  void operator()(tape_with_params<Fn, State, Params>& tape, step_index const i) const {
    call_indexed<indexed>(adjoint.reverse, i, tape, p, dp);
  }
};
template <class Fn>
concept says_restart = requires(Fn& f) { sizeof(f.restart); };
template <class Fn>
struct restart_of {
  Fn& adjoint;
  template <class Tape>
    requires calls<decltype((std::declval<Fn&>().restart)), Tape const&>
  decltype(auto) operator()(Tape const& tape) const { return adjoint.restart(tape); }
};

/// The adjoint with p and dp, for bars of type Bar. Refers to all three.
template <class State, class Bar, class Fn, class Params, class DP>
[[nodiscard]] auto bind_adjoint(Fn& adjoint, Params const& p, DP& dp) {
  constexpr auto shape = shape_of_adjoint_with<Fn, State, Bar, Params, DP>();
  if constexpr (shape.form == adjoint_form::recorded) {
    record_with_params<Fn, State, Params> record{adjoint, p};
    reverse_with_params<Fn, State, Bar, Params, DP> reverse{adjoint, p, dp};
    if constexpr (says_restart<Fn>) return recorded{std::move(record), std::move(reverse), restart_of<Fn>{adjoint}};
    else return recorded{std::move(record), std::move(reverse)};
  } else {
    adjoint_with_params<shape.form, Fn, State, Bar, Params, DP> bound{{adjoint, p, dp}};
    if constexpr (shape.form == adjoint_form::one_step) return bound;
    else return tagged<shape.form, decltype(bound)>{bound};
  }
}

/// The seed as a function of the final state: `seed(x, p, dp)`, `seed(x, p)`, `seed(x)`, or a value as it is.
template <class State, class Seed, class Params, class DP>
[[nodiscard]] constexpr decltype(auto) bind_seed(Seed&& seed, Params const& p, DP& dp) {
  using Fn = std::remove_reference_t<Seed>;
  if constexpr (range_like<std::remove_cv_t<Fn>>) return std::forward<Seed>(seed);
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
