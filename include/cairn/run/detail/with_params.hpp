// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file with_params.hpp  Steps, adjoints and seeds with the parameters of their loop: as the executors call them,
/// without parameters.
#include <type_traits>
#include <utility>
#include <cairn/core/detail/leaf_bytes.hpp>
#include <cairn/core/forms.hpp>
#include <cairn/core/wrt.hpp>
#include <cairn/run/detail/plans_inside.hpp>

namespace cairn::detail {

/// Calls f with p, or with p and dp, before the index, if f takes one.
template <bool Indexed, class Fn, class... Args>
constexpr decltype(auto) call_indexed(Fn& f, [[maybe_unused]] step_index const i, Args&&... args) {
  if constexpr (Indexed) return call_lending(f, std::forward<Args>(args)..., i);
  else return call_lending(f, std::forward<Args>(args)...);
}

/// Calls a step with p. One that is made of others is bound anew for each call: this copies a few pointers.
template <class State, class Fn, class Params, class... States>
constexpr decltype(auto) call_step_with(Fn& given, Params const& p, step_index const i, States&... x) {
  auto& f = referred_to(given);
  using called = std::remove_reference_t<decltype(f)>;
  if constexpr (binds_step<called, State, Params>) return f.template with_params<State>(p)(x..., i);
  else return call_indexed<shape_of_step_with<called, State, Params>().indexed>(f, i, x..., p);
}

/// What the forms of a step share: the user's step, a copy or a reference as `Fn` says, and its parameters.
template <class Fn, class Params>
struct step_and_params {
  [[no_unique_address]] Fn step;
  Params const* p;
  void begin(loop_begins loop) { begin_loop(step, loop); }
  [[nodiscard]] wide choice_bytes(step_index steps) const { return choice_bytes_of(step, steps); }
};
/// A step that takes p, called without.   \tparam Form  each has a single signature, which the checks of steps read
template <step_form Form, class Fn, class State, class Params, bool Stops = false>
struct step_with_params;
template <class Fn, class State, class Params, bool Stops>
struct step_with_params<step_form::in_place, Fn, State, Params, Stops> : step_and_params<Fn, Params> {
  auto operator()(State& x, step_index const i) -> std::conditional_t<Stops, bool, void> {
    return call_step_with<State>(this->step, *this->p, i, x);
  }
};
template <class Fn, class State, class Params>
struct step_with_params<step_form::by_value, Fn, State, Params> : step_and_params<Fn, Params> {
  State operator()(State const& x, step_index const i) {
    return call_step_with<State>(this->step, *this->p, i, x);
  }
};
template <class Fn, class State, class Params>
struct step_with_params<step_form::out_of_place, Fn, State, Params> : step_and_params<Fn, Params> {
  void operator()(State const& x, State& x1, step_index const i) {
    call_step_with<State>(this->step, *this->p, i, x, x1);
  }
};

/// The user's step in the step of a run.
template <class Step>
struct given_in {
  static auto& step(auto& from) noexcept { return from; }
};
template <step_form Form, class Fn, class State, class Params, bool Stops>
struct given_in<step_with_params<Form, Fn, State, Params, Stops>> {
  static auto& step(auto& from) noexcept { return from.step; }
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
    referred_to(adjoint).ends_in(end);
  }
  template <class State, class Bar>
  void check_plans() const {
    auto& f = referred_to(adjoint);
    if constexpr (binds_adjoint<std::remove_reference_t<decltype(f)>, State, Bar, Params, DP>)
      check_plans_inside<State, Bar>(f.template with_params<State, Bar>(p, dp));
  }
  [[nodiscard]] wide leaf_bytes(step_index steps) const
    requires tells_leaf_bytes<Fn>
  {
    return function_in(adjoint).leaf_bytes(steps);
  }
};
/// Calls an adjoint with p and dp; one that is made of others is bound anew, as by `call_step_with`.
/// \param index  one of a step, two of a leaf
template <class State, class Bar, class Fn, class Params, class DP, class Input, class... Index>
constexpr void call_adjoint_with(Fn& given, Bar& bar, Params const& p, DP& dp, Input& x, Index const&... index) {
  auto& f = referred_to(given);
  using called = std::remove_reference_t<decltype(f)>;
  if constexpr (binds_adjoint<called, State, Bar, Params, DP>) {
    auto const bound = f.template with_params<State, Bar>(p, dp);
    if constexpr (std::is_same_v<Bar, library_bar>) bound(x, index...);
    else bound(x, bar, index...);
  } else if constexpr (sizeof...(Index) == 2 || shape_of_adjoint_with<called, State, Bar, Params, DP>().indexed)
    pull_back(f, bar, x, bar, p, dp, index...);
  else pull_back(f, bar, x, bar, p, dp);
}
/// An adjoint that takes p and dp, called without.
template <adjoint_form Form, class Fn, class State, class Bar, class Params, class DP>
struct adjoint_with_params;
template <class Fn, class State, class Bar, class Params, class DP>
struct adjoint_with_params<adjoint_form::one_step, Fn, State, Bar, Params, DP> : adjoint_and_params<Fn, Params, DP> {
  static constexpr bool moves_object = detail::moves_object<Fn, State, Bar, Params const&, DP&>();
  void operator()(lent_state<State> x, Bar& bar, step_index const i) const {
    call_adjoint_with<State>(this->adjoint, bar, this->p, this->dp, x, i);
  }
  void operator()(lent_state<State> x, step_index const i) const
    requires std::is_same_v<Bar, library_bar>
  {
    Bar bar;
    (*this)(x, bar, i);
  }
};
template <class Fn, class State, class Bar, class Params, class DP>
struct adjoint_with_params<adjoint_form::with_next, Fn, State, Bar, Params, DP> : adjoint_and_params<Fn, Params, DP> {
  void operator()(State const& x, State const& x1, Bar& bar, step_index const i) const {
    auto& f = referred_to(this->adjoint);
    if constexpr (binds_adjoint<std::remove_reference_t<decltype(f)>, State, Bar, Params, DP>)
      f.template with_params<State, Bar>(this->p, this->dp)(x, x1, bar, i);
    else pull_back(f, bar, x, x1, bar, this->p, this->dp, i);
  }
};
template <class Fn, class State, class Bar, class Params, class DP>
struct adjoint_with_params<adjoint_form::leaf, Fn, State, Bar, Params, DP> : adjoint_and_params<Fn, Params, DP> {
  static constexpr bool moves_object = detail::moves_object<Fn, State, Bar, Params const&, DP&>();
  void operator()(lent_state<State> x, Bar& bar, step_index const first, step_index const last) const {
    call_adjoint_with<State>(this->adjoint, bar, this->p, this->dp, x, first, last);
  }
  void operator()(lent_state<State> x, step_index const first, step_index const last) const
    requires std::is_same_v<Bar, library_bar>
  {
    Bar bar;
    (*this)(x, bar, first, last);
  }
};

/// `tape = record(x, p[, i])`, called without p.
template <class Record, class State, class Params>
struct record_with_params {
  Record& record;
  Params const& p;
  decltype(auto) operator()(State& x, step_index const i) const {
    if constexpr (binds_record<Record, State, Params>) return record.template with_params<State>(p)(x, i);
    else return call_indexed<reads_one_with<Record, State, Params, step_index>>(record, i, x, p);
  }
};
template <class State, class Record, class Params>
[[nodiscard]] auto bind_record(Record& record, Params const& p) {
  return record_with_params<Record, State, Params>{record, p};
}
/// `reverse(tape, bar, p, dp[, i])`, called without p and dp.
template <class Reverse, class Tape, class Bar, class Params, class DP>
struct reverse_with_params {
  Reverse& reverse;
  Params const& p;
  DP& dp;
  void operator()(Tape& tape, Bar& bar, step_index const i) const {
    if constexpr (binds_reverse<Reverse, Tape, Bar, Params, DP>)
      reverse.template with_params<Tape, Bar>(p, dp)(tape, bar, i);
    else if constexpr (reads_index<Reverse, arguments<Tape&, Bar&>, Params const&, DP&>)
      pull_back(reverse, bar, tape, bar, p, dp, i);
    else pull_back(reverse, bar, tape, bar, p, dp);
  }
};
template <class Reverse, class Tape, class Params, class DP>
struct reverse_with_params<Reverse, Tape, library_bar, Params, DP> {
  Reverse& reverse;
  Params const& p;
  DP& dp;
  void operator()(Tape& tape, step_index const i) const {
    if constexpr (binds_reverse<Reverse, Tape, library_bar, Params, DP>)
      reverse.template with_params<Tape, library_bar>(p, dp)(tape, i);
    else call_indexed<reads_index<Reverse, arguments<Tape&>, Params const&, DP&>>(reverse, i, tape, p, dp);
  }
};
template <class Tape, class Bar, class Reverse, class Params, class DP>
[[nodiscard]] auto bind_reverse(Reverse& reverse, Params const& p, DP& dp) {
  return reverse_with_params<Reverse, Tape, Bar, Params, DP>{reverse, p, dp};
}
template <class Fn>
concept says_restart = requires(Fn& f) { sizeof(f.restart); };
/// `x1 = restart(tape)`; one that is made of others gets p.
template <class Fn, class State, class Params>
struct restart_of {
  Fn& adjoint;
  Params const& p;
  using called = std::remove_reference_t<decltype((std::declval<Fn&>().restart))>;
  template <class Tape>
    requires calls<called, Tape const&>
  decltype(auto) operator()(Tape const& tape) const {
    if constexpr (binds_record<called, State, Params>) return adjoint.restart.template with_params<State>(p)(tape);
    else return adjoint.restart(tape);
  }
};

/// The adjoint with p and dp, for bars of type Bar. Refers to all three.
template <class State, class Bar, class Fn, class Params, class DP>
[[nodiscard]] auto bind_adjoint(Fn& adjoint, Params const& p, DP& dp) {
  constexpr auto shape = shape_of_adjoint_with<Fn, State, Bar, Params, DP>();
  if constexpr (shape.form == adjoint_form::recorded) {
    auto record = bind_record<State>(adjoint.record, p);
    using tape = std::remove_cvref_t<decltype(record(std::declval<State&>(), step_index{}))>;
    auto reverse = bind_reverse<tape, Bar>(adjoint.reverse, p, dp);
    if constexpr (says_restart<Fn>)
      return recorded{std::move(record), std::move(reverse), restart_of<Fn, State, Params>{adjoint, p}};
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
