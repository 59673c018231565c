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

}  // namespace detail

/// `differentiate` as a function: `value_and_gradient f{model, plan_or_budget, objective}; auto [value, by_state,
/// by_params] = f(x0, p);`, or `f(x0)` without parameters.
///
/// Keeps the plan, the memory of its sweeps and the result. A call after the first allocates nothing if sizes do not
/// change. `auto [...] = f(x0, p)` copies the result; `auto const& [...] = f(x0, p)` refers to it, until the next call.
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
  /// Frees the memory, and forgets the plan of a budget.
  void clear() { kept_.clear(); }

 private:
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
