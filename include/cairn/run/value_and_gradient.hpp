// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file value_and_gradient.hpp  A function of the initial state and the parameters, for optimisers.
#include <type_traits>
#include <utility>
#include <cairn/run/differentiate.hpp>

namespace cairn {
namespace detail {

/// What `value_and_gradient` keeps between calls for one state type and one parameter type.
template <class Model, class State, class Params, class Plan>
struct kept_sweeps {
  result_memory<bar_in<Model, State>, Params> memory;
  workspace<State, Plan> work;
};

/// The objective at the end of a loop that runs forward once, from a copy of x0; an object is brought back.
template <class Model, class X0, class Params, class Place, class Objective>
[[nodiscard]] double value_of_loop(Model& m, X0& x0, Params const& p, Place const& place, Objective const& objective) {
  using State = std::remove_const_t<X0>;
  no_params none;
  losses terms{objective, p, none};
  auto&& given = step_in(m);
  auto step = bind_step<State>(static_cast<std::remove_reference_t<decltype(given)>&>(given), p, terms);
  constexpr auto shape = decltype(step)::bound_shape;
  step_index n = -1;
  if constexpr (is_run_while<Place>) step.begin({});
  else step.begin({n = steps_of(place), 1});
  [[maybe_unused]] bool more = true;
  auto const goes_on = [&](State const& x, step_index i) {
    if constexpr (!is_run_while<Place>) return i < n;
    else {
      auto&& question = question_with<State>(place.keep_going, p);
      return ask(question, x, i) && more;
    }
  };
  auto const run = [&](State& x) {
    [[maybe_unused]] maybe<State> other;
    if constexpr (shape.form == step_form::out_of_place) emplace_by(other, [&] { return copy_of(x); });
    for (step_index i = 0; goes_on(x, i); ++i) {
      if constexpr (shape.form == step_form::out_of_place) {
        using std::swap;
        step(x, *other, i);
        swap(x, *other);
      } else if constexpr (shape.form == step_form::by_value) x = step(x, i);
      else if constexpr (shape.stops) more = step(x, i);
      else step(x, i);
    }
    terms.end(x);
  };
  if constexpr (copied_state<State>) {
    State x = copy_of(std::as_const(x0));
    run(x);
  } else {
    auto const before = taken_snapshot(std::as_const(x0));
    run(x0);
    restore_state(x0, before);
  }
  if constexpr (is_run_while<Place>) check_reached(terms.steps(), objective);
  return terms.value();
}

}  // namespace detail

/// `differentiate` as a function: `value_and_gradient f{model, plan_or_budget, objective}; auto [value, by_state,
/// by_params] = f(x0, p);`, or `f(x0)` without parameters.
///
/// Keeps the plan, the memory of its sweeps and the result. A call after the first allocates nothing if sizes do not
/// change. Steps that choose, as those of `adaptive` do, choose anew in each call. `auto [...] = f(x0, p)` copies the
/// result; `auto const& [...] = f(x0, p)` refers to it, until the next call.
/// A budget is planned at the first call; call `clear()` before states of another size. One object serves one call at a
/// time.
/// \ingroup start
template <class Model, class Place, class Objective>
class value_and_gradient {
  static_assert(objective<Objective>);

 public:
  /// \param m, plan, f  as for `differentiate`; kept as copies. Plan and objective come in either order
  template <class Fn>
  value_and_gradient(Model m, Place plan, Fn f)
      : model_{std::move(m)}, place_{std::move(plan)}, objective_{detail::as_objective(std::move(f))} {}

  /// The same with the plan behind the objective.
  value_and_gradient(Model m, Objective f, Place plan)
    requires(!std::is_same_v<Objective, Place>)
      : value_and_gradient(std::move(m), std::move(plan), std::move(f)) {}
  /// Refused: the objective is missing.
  value_and_gradient(Model m, Place plan) : model_{std::move(m)}, place_{std::move(plan)} {
    constexpr bool aimed = std::is_void_v<Place>;
    static_assert(aimed,
                  "cairn: value_and_gradient needs an objective after the plan: value_and_gradient f{model, plan, "
                  "objective}");
  }

  /// The value, and the gradient with respect to x0 and p. \param last  as for `differentiate`, without a workspace
  template <class X0, class Params, class... Last>
  auto const& operator()(X0&& x0, Params const& p, Last&&... last) {
    static constexpr no_params none{};
    if constexpr (detail::keeps_runs<Params const&>) return run(x0, none, p, std::forward<Last>(last)...);
    else return run(x0, p, std::forward<Last>(last)...);
  }
  /// The same without parameters; a run on disk may follow x0.
  template <class X0>
  auto const& operator()(X0&& x0) {
    static constexpr no_params none{};
    return run(x0, none);
  }
  /// The value alone, bit for bit that of `f(x0, p)`, as line searches ask for it: each step and each term once, in the
  /// memory of one state, or two if the step is out of place. An object is brought back to x0.
  template <class X0, class Params>
  [[nodiscard]] double value(X0&& x0, Params const& p) {
    using State = std::remove_cvref_t<X0>;
    using Plan = typename detail::plan_of_place<Place>::type;
    if constexpr (std::is_same_v<Objective, no_objective>) return 0;  // refused before
    else if constexpr (!detail::check_differentiated<Model, X0&, Params, Place, Objective, workspace<State, Plan>&>())
      return 0;
    else {
      if constexpr (!detail::is_run_while<Place>) detail::check_reached(detail::steps_of(place_), objective_);
      begin_anew();
      return detail::value_of_loop(model_, x0, p, place_, objective_);
    }
  }
  /// The same without parameters.
  template <class X0>
  [[nodiscard]] double value(X0&& x0) {
    static constexpr no_params none{};
    return value(std::forward<X0>(x0), none);
  }
  /// Frees the memory, and forgets the plan of a budget.
  void clear() { kept_.clear(); }

 private:
  void begin_anew() {
    auto&& step = detail::step_in(model_);
    detail::begin_loop(step, {.anew = true});
  }
  template <class X0, class Params, class... Last>
  auto const& run(X0& x0, Params const& p, Last&&... last) {
    using State = std::remove_const_t<X0>;
    using Plan = typename detail::plan_of_place<Place>::type;
    using kept = detail::kept_sweeps<Model, State, Params, Plan>;
    constexpr bool fits = [] {
      if constexpr (std::is_same_v<Objective, no_objective>) return false;  // refused before
      else if constexpr (detail::kept_on_disk<Last...>)
        return detail::check_differentiated<Model, X0&, Params, Place, Objective, Last...>();
      else
        return detail::check_differentiated<Model, X0&, Params, Place, Objective, workspace<State, Plan>&, Last...>();
    }();
    if constexpr (!fits) return *detail::refuse<derivatives<State, Params> const*>();
    else {
      kept& all = kept_.template get<kept>();
      if constexpr (!detail::is_run_while<Place>)
        detail::check_reached(detail::steps_of(place_), objective_);
      begin_anew();
      if constexpr (detail::kept_on_disk<Last...>)  // it has a workspace of its own
        detail::differentiate_into(all.memory, model_, x0, p, place_, objective_, std::forward<Last>(last)...);
      else
        detail::differentiate_into(all.memory, model_, x0, p, place_, objective_, all.work,
                                   std::forward<Last>(last)...);
      return std::as_const(all.memory.result);
    }
  }
  Model model_;
  Place place_;
  Objective objective_;
  detail::cached_object kept_;
};
/// The types are those of the arguments; a function is a term `at_end`.
template <class Model, class Place, class Fn>
value_and_gradient(Model, Place, Fn) -> value_and_gradient<Model, Place, detail::objective_type<Fn>>;
/// The same in another order.
template <class Model, objective Fn, detail::plan_place Place>
value_and_gradient(Model, Fn, Place) -> value_and_gradient<Model, Place, Fn>;
/// Refused: the objective is missing.
template <class Model, class Place>
value_and_gradient(Model, Place) -> value_and_gradient<Model, Place, no_objective>;

}  // namespace cairn
