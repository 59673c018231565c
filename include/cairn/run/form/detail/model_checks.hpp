// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file model_checks.hpp  The checks of verbs over a model and an objective.
#include <concepts>
#include <type_traits>
#include <utility>
#include <cairn/door/detail/adjoint_checks.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/door/model.hpp>
#include <cairn/door/objective.hpp>
#include <cairn/door/run_while.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/run/form/detail/last_arguments.hpp>
#include <cairn/run/form/detail/loop_step.hpp>
#include <cairn/run/form/detail/open_loop.hpp>
#include <cairn/run/sweep/detail/plan_place.hpp>

namespace cairn::detail {

/// What may stand in the place of a plan.
template <class T>
concept plan_place = plan_or_steps<T> || is_run_while<T>;

/// p and x0 stand in each other's place.
template <class ModelType, class State, class ParamsGiven>
consteval bool p_comes_first() {
  if constexpr (no_p<ParamsGiven> || !state<State> || !state<ParamsGiven>) return false;
  else {
    using Step = std::remove_reference_t<decltype(step_in(std::declval<ModelType&>()))>;
    if constexpr (!one_signature<Step>) return false;
    else
      return shape_of_step_with<Step, State, ParamsGiven>().wrong != fault::none &&
             shape_of_step_with<Step, ParamsGiven, State>().wrong == fault::none;
  }
}
/// The adjoint is written for a bar of another type than the one that it would be given.
template <class ModelType, class State, class ParamsGiven>
consteval bool writes_other_bar() {
  using Adjoint = std::remove_reference_t<decltype(adjoint_in(std::declval<ModelType&>()))>;
  using Bar = bar_in<ModelType, State>;
  using written = nth_parameter<Adjoint, 1>;
  if constexpr (!std::is_class_v<written> || std::is_same_v<written, Bar> || std::is_same_v<written, State>) return false;
  else return adjoint_in_loop<Adjoint, State, Bar, ParamsGiven, ParamsGiven>().wrong != fault::none;
}

/// The checks of a model and an objective. One function: each function called adds lines to the compiler's message.
template <class ModelType, class State, class ParamsGiven, class Objective>
consteval bool check_model() {
  constexpr bool model = has_parts<ModelType>;
  static_assert(model,
                "cairn: the first argument must be a model: cairn::model{step, adjoint}, an object with members step "
                "and adjoint, or cairn::by_tool(tape, step)");
  if constexpr (!model) return false;
  else if constexpr (p_comes_first<ModelType, State, ParamsGiven>()) {
    constexpr bool state_first = !p_comes_first<ModelType, State, ParamsGiven>();
    static_assert(state_first,
                  "cairn: the parameters are in the place of the initial state; x0 comes first, and then p: "
                  "differentiate(model, x0, p, plan, objective)");
    return false;
  } else if constexpr (writes_other_bar<ModelType, State, ParamsGiven>()) {
    constexpr bool bar = !writes_other_bar<ModelType, State, ParamsGiven>();
    static_assert(bar,
                  "cairn: the adjoint of this model takes another type of bar than it would be given, which is that of "
                  "the state, or of what its member bar(x) returns; give cairn::model{step, adjoint, bar}, where bar(x) "
                  "returns a bar of that type whose numbers are zero");
    return false;
  } else {
    using Bar = bar_in<ModelType, State>;
    constexpr bool bar = (makes_bar<ModelType, State> || (copied_state<State> && numbered<State>)) &&
                         std::default_initializable<Bar>;
    constexpr bool params = copied_state<ParamsGiven> && std::default_initializable<ParamsGiven>;
    constexpr bool value = Objective::template fits<State, ParamsGiven, double>, given = Objective::has_derivatives;
    constexpr fault wrong = [] {
      if constexpr (given && bar && value) return Objective::template wrong<State, Bar, ParamsGiven, ParamsGiven>;
      else return fault::none;
    }();
    constexpr bool derives = wrong != fault::shape, adds = wrong != fault::unchanged && wrong != fault::sum,
                   returns = wrong != fault::result, number = wrong != fault::both,
                   wide_enough = wrong != fault::narrow && wrong != fault::params,
                   counts = wrong != fault::floating && wrong != fault::short_index, preset = wrong != fault::preset;
    static_assert(bar,
                  "cairn: the adjoint is to be a copy of the state with its numbers set to zero, but this state's numbers "
                  "are not known, its copies share data, or it has no default constructor; give the model a member "
                  "bar(x), or declare the type by cairn::flat or cairn::state_traits");
    static_assert(params,
                  "cairn: the gradient of these parameters is to be an object of their type, but that has no default "
                  "constructor, or its copies share data; give parameters that own their data, or call gradient with "
                  "cairn::wrt{p, dp}");
    static_assert(
        value,
        "cairn: a term of the objective must be `f(x)`, `f(x, p)` or `f(x, p, i)` and return a number, one of a class "
        "as double(number): p comes before i, and a generic f takes it by reference; without parameters `f(x)` or "
        "`f(x, i)`");
    static_assert(
        given,
        "cairn: with an adjoint by hand each term needs its derivative; give cairn::at_end(f, df), at_every(k, "
        "f, df) or at_states(states, f, df), or objects with members value and add_gradient");
    static_assert(
        derives,
        "cairn: the derivative of a term must be `df(x, bar)`, `df(x, bar, p, dp)` or `df(x, bar, p, dp, i)`, "
        "and add to bar and dp; without parameters `df(x, bar)` or `df(x, bar, i)`");
    static_assert(adds,
                  "cairn: the derivative of a term adds to bar and dp, so it takes both by a reference that is not "
                  "const; take `auto& bar`, and `auto& dp` if there are parameters");
    static_assert(returns,
                  "cairn: the derivative of a term must return nothing: what it returns would be lost; it adds to bar, "
                  "which it takes by reference");
    static_assert(number, "cairn: a term of the objective must return a number, and not a bool");
    static_assert(wide_enough,
                  "cairn: a term of the objective or its derivative takes a number of a narrower type than it is "
                  "given, which would truncate it; take the number's own type");
    static_assert(counts,
                  "cairn: a term of the objective or its derivative would get the number of its state as a "
                  "floating-point or short number or as a bool; take `cairn::step_index i`, or leave it out");
    static_assert(preset,
                  "cairn: a default argument of a term of the objective or of its derivative would get the number of "
                  "the state; leave the default out, or wrap the function in a lambda without that argument");
    return bar && params && value && given && wrong == fault::none;
  }
}

/// The `wrt` that a model with these parameters is called with.
template <class ParamsGiven> struct model_wrt { using type = wrt<ParamsGiven, ParamsGiven>; };
template <> struct model_wrt<no_params> { using type = no_wrt; };

/// The type of the plan for the last arguments of a verb.
template <class Place> struct plan_of_place : plan_obeyed<Place> {};
template <class KeepGoing, class Plan>
struct plan_of_place<run_while<KeepGoing, Plan>> { using type = open_plan<Plan>; };

/// Refuses a plan in the place of p.
template <class Objective, class... Last>
consteval bool check_p_before_plan() {
  constexpr bool placed = !(objective<std::remove_cvref_t<Last>> || ... || false);
  static_assert(placed,
                "cairn: p comes before the plan: differentiate(model, x0, p, plan, objective); several objectives are "
                "added, a + b");
  return placed;
}

/// All checks of `differentiate`.
template <class ModelType, class X0, class ParamsGiven, class Place, class Objective, class... Last>
consteval bool check_differentiated() {
  using State = std::remove_cvref_t<X0>;
  using Wrt = typename model_wrt<ParamsGiven>::type;
  if constexpr (!check_p_before_plan<Objective, Last...>()) return false;
  else if constexpr (!check_model<ModelType, State, ParamsGiven, Objective>()) return false;
  else {
    using Plan = typename plan_of_place<Place>::type;
    using Bar = bar_in<ModelType, State>;
    using StepF = std::remove_reference_t<decltype(step_in(std::declval<ModelType&>()))>;
    using AdjointF = std::remove_reference_t<decltype(adjoint_in(std::declval<ModelType&>()))>;
    constexpr bool may_stop = is_run_while<Place>;
    using Known = std::conditional_t<may_stop, step_index, Place>;
    if constexpr (!check_forward<StepF, State, Known, may_stop, Wrt>()) return false;
    else if constexpr (!check_begun<X0, Wrt, Plan, Last...>()) return false;
    else if constexpr (!check_adjoint<AdjointF, State, Bar, Wrt>()) return false;
    else if constexpr (!check_last<true, StepF, State, Plan, Last...>()) return false;
    else {
      constexpr adjoint_form form = shapes_with<Wrt>::template adjoint<AdjointF, State, Bar>().form;
      if constexpr (!check_leaves<AdjointF, form, State, Last...>()) return false;
      else return check_counted<State, Bar, Bar, form, Place, Wrt>();
    }
  }
}

/// Whether the plan is where it belongs: after x0, or after p.
template <class... Rest> inline constexpr bool places_plan = false;
template <class First, class Second, class... Rest>
inline constexpr bool places_plan<First, Second, Rest...> = plan_place<First> || plan_place<Second>;
template <class First, class Second>
inline constexpr bool places_plan<First, Second> = plan_place<First>;
/// Which order of the arguments after x0 was meant.
template <class... Rest>
consteval bool check_order() {
  constexpr bool aimed = ((objective<Rest> || function_like<Rest> || generic<Rest>) || ... || false),
                 planned = (plan_place<Rest> || ... || false);
  constexpr bool whole = planned || !(std::is_floating_point_v<Rest> || ... || false) || !aimed;
  static_assert(aimed,
                "cairn: differentiate needs an objective after the plan: cairn::at_end(f, df), at_every(k, f, df) or "
                "at_states(states, f, df)");
  static_assert(whole,
                "cairn: there is no plan between x0 and the objective; it is a schedule, a whole number of steps (1000, "
                "and not 1e3), cairn::budget_of{n, budget} or cairn::run_while");
  static_assert(!aimed || !whole,
                "cairn: the order is differentiate(model, x0, p, plan, objective), without p for a model without "
                "parameters; the plan is a schedule, a whole number of steps, cairn::budget_of{n, budget} or "
                "cairn::run_while");
  return false;
}

}  // namespace cairn::detail
