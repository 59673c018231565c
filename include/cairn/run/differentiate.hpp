// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file differentiate.hpp  The value of a loop's objective, and its gradient with respect to the initial state and the
/// parameters, in one call.
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/error.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/door/model.hpp>
#include <cairn/door/objective.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/run/form/detail/last_arguments.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/parts_of_leaf.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/run_while.hpp>
#include <cairn/run/sweep/detail/plan_place.hpp>
#include <cairn/run/while.hpp>

namespace cairn {

/// The result of `differentiate`: `auto [value, by_state, by_params] = differentiate(...)`.
template <class State, class Params = no_params>
struct derivatives {
  double value = 0;  ///< the objective
  State state{};     ///< its gradient with respect to the initial state; parts that are not differentiated are copies
  Params params{};   ///< its gradient with respect to the parameters; parts that are not differentiated are copies
};
/// Without parameters: `auto [value, by_state] = differentiate(...)`.
template <class State>
struct derivatives<State, no_params> {
  double value = 0;  ///< the objective
  State state{};     ///< its gradient with respect to the initial state; parts that are not differentiated are copies
};

namespace detail {

/// What may stand in the place of a plan.
template <class T>
concept plan_place = plan_or_steps<T> || is_run_while<T>;

/// Refuses, before any step runs, a term at a state that the loop does not reach, and an objective without any term.
template <class Objective>
void check_reached(step_index steps, Objective const& of) {
  step_index const last_state = of.last_state();
  if (steps >= 0 && last_state > steps)  // the plan's own checks give a better message for negative numbers
    throw invalid_call{"cairn::differentiate", "the objective has a term at a state that the loop does not reach",
                       {{"state", last_state}, {"steps", steps}}, "name states from 0 to the number of steps"};
  if (!Objective::has_end && steps > 0 && of.next_after(-1) > steps)
    throw invalid_call{"cairn::differentiate", "the objective has no term at any state of the loop",
                       {{"steps", steps}}, "name states of the loop: cairn::at_every(k, f, df) with k <= steps"};
}
/// The memory of `differentiate` that outlives a call, if its caller keeps it: the result, and parts of it that are
/// used during the sweep.
template <class Bar, class ParamsGiven>
struct result_memory {
  derivatives<Bar, ParamsGiven> result;
  [[nodiscard]] auto& params() noexcept {
    if constexpr (no_p<ParamsGiven>) return none;
    else return result.params;
  }
  [[no_unique_address]] no_params none = {};
};

/// p and x0 stand in each other's place.
template <class ModelType, class State, class ParamsGiven>
[[nodiscard]] consteval bool p_comes_first() {
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
[[nodiscard]] consteval bool writes_other_bar() {
  using Adjoint = std::remove_reference_t<decltype(adjoint_in(std::declval<ModelType&>()))>;
  using Bar = bar_in<ModelType, State>;
  using written = nth_parameter<Adjoint, 1>;
  if constexpr (!std::is_class_v<written> || std::is_same_v<written, Bar> || std::is_same_v<written, State>) return false;
  else return adjoint_in_loop<Adjoint, State, Bar, ParamsGiven, ParamsGiven>().wrong != fault::none;
}

/// The checks of a model and an objective. One function: each function called adds lines to the compiler's message.
template <class ModelType, class State, class ParamsGiven, class Objective>
[[nodiscard]] consteval bool check_model() {
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
        "cairn: a term of the objective must be `f(x)`, `f(x, p)` or `f(x, p, i)` and return a number: p comes "
        "before i, and a generic f takes it by reference; without parameters `f(x)` or `f(x, i)`");
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

/// The keep_going of a `run_while`.
template <class Place>
struct keep_going_in {
  using type = no_terms;
  static constexpr type const* of(Place const&) noexcept { return nullptr; }
};
template <class KeepGoing, class Plan>
struct keep_going_in<run_while<KeepGoing, Plan>> {
  using type = std::remove_reference_t<decltype(std::declval<run_while<KeepGoing, Plan> const&>().keep_going)>;
  static constexpr auto of(run_while<KeepGoing, Plan> const& place) noexcept {
    return __builtin_addressof(place.keep_going);
  }
};

/// The `wrt` that a model with these parameters is called with.
template <class ParamsGiven> struct model_wrt { using type = wrt<ParamsGiven, ParamsGiven>; };
template <> struct model_wrt<no_params> { using type = no_wrt; };

/// A loop whose keep_going is asked before each step.
template <class State, class Parts, class Step, class X0, class Place, class Seed, class Adjoint, class Params,
          class... Last>
auto reverse_until(Parts const& parts, Step& step, X0& x0, Place const& place, Params const& p, Seed const& seed,
                   Adjoint& adjoint, Last&&... last) {
  auto const with = [&](auto&& keep_going) {
    if constexpr (!kept_on_disk<Last...>)
      return checkpointed_while(step, x0, keep_going, place.plan, std::forward<Last>(last)...).reverse(seed, adjoint);
    else
      return checkpointed_while(step, x0, keep_going, place.plan, known_by(std::forward<Last>(last), parts)...)
          .reverse(seed, adjoint);
  };
  if constexpr (no_p<Params>) return with(place.keep_going);
  else return with(asked_with<std::remove_const_t<decltype(place.keep_going)> const, State, wrt<Params, Params>>{place.keep_going, p});
}

/// One sweep over a model, into memory that may be kept.
/// \tparam X0  the state, const if it is copied
template <class ModelType, class X0, class ParamsGiven, class Place, class Objective, class... Last>
void differentiate_into(result_memory<bar_in<ModelType, std::remove_const_t<X0>>, ParamsGiven>& memory, ModelType& m,
                        X0& x0, ParamsGiven const& p, Place const& place, Objective const& objective, Last&&... last) {
  using State = std::remove_const_t<X0>;
  using Bar = bar_in<ModelType, State>;
  auto& dp = memory.params();
  auto&& user_step = step_in(m);
  auto&& user_back = adjoint_in(m);
  using step_type = std::remove_reference_t<decltype(user_step)>;
  using back_type = std::remove_reference_t<decltype(user_back)>;
  losses terms{objective, p, dp};
  State* object = nullptr;
  auto step = bind_step<State>(static_cast<step_type&>(user_step), p, terms);
  auto adjoint = bind_adjoint<State, Bar>(user_back, p, dp, terms, step, &object);
  watched_params const watch{p};
  set_zero(p, dp);
  auto const seed = [&](State const& x) -> Bar {  // a zero adjoint in kept memory, and the terms of the last state
    watch.check("cairn::differentiate");
    if constexpr (is_run_while<Place>) check_reached(terms.steps(), objective);
    make_bar(m, x, memory.result.state);
    terms.end(x, memory.result.state);
    return std::move(memory.result.state);
  };
  given_parts<ModelType, ModelType, Objective, ParamsGiven, ParamsGiven, Objective, decltype(terms),
              typename keep_going_in<Place>::type> const parts{&m, &m, &objective, &p, &dp, &objective, &terms,
                                                             keep_going_in<Place>::of(place)};
  try {
    if constexpr (is_run_while<Place>)
      memory.result.state = reverse_until<State>(parts, step, x0, place, p, seed, adjoint, std::forward<Last>(last)...);
    else {
      using Plan = plan_type<Place>;
      auto const asked = sort_last<State, Plan>(std::forward<Last>(last)...);
      static constexpr sweep_form form = form_of<decltype(step), back_type, State, Bar, ParamsGiven, ParamsGiven>();
      auto const by = [&] {
        if constexpr (no_p<ParamsGiven>) return no_wrt{};
        else return wrt<ParamsGiven, ParamsGiven>{p, dp};
      }();
      maybe<Bar> sized;  // an adjoint, for its size
      auto const& like = [&]() -> auto const& {
        if constexpr (!makes_bar<ModelType, State>) return x0;
        else {
          emplace_by(sized, [&] { return m.bar(std::as_const(x0)); });
          return *sized;
        }
      }();
      auto const values = values_for<Bar>(step, std::as_const(x0), like, adjoint, by, asked.options, form);
      sweep_parts measured;
      Plan const& plan = [&]() -> decltype(auto) {
        if constexpr (!measured_budget<Place>) return values.plan_from(place);
        else {  // a probe never adds to the result
          auto scratch = copy_of(dp);
          losses probed{objective, p, scratch};
          auto probed_step = bind_step<State>(static_cast<step_type&>(user_step), p, probed);
          auto probed_back = bind_adjoint<State, Bar>(user_back, p, scratch, probed, probed_step, &object);
          auto const probed_seed = [&](State const& x) -> Bar {
            Bar bar = copy_of(memory.result.state);
            make_bar(m, x, bar);
            return bar;
          };
          return place.template plan_for_loop<State, Bar>(probed_step, x0, probed_seed, probed_back, form,
                                                          values.others(steps_of(place)), asked.options, measured);
        }
      }();
      auto const limit = limit_of(place, values, predict<Place>(asked, plan, values, measured));
      sized.reset();
      if constexpr (!decltype(asked)::on_disk)
        memory.result.state = one_sweep<Bar, State>(asked, parts, limit, step, x0, plan, seed, adjoint);
      else {
        auto within = parts;
        if constexpr (is_limit<std::remove_const_t<decltype(limit)>>) within.limit = limit;
        memory.result.state = sweep_of<decltype(asked.work)>::template sweep<Bar, State>(
            asked.work, one_process{}, asked, within, step, x0, plan, seed, adjoint);
      }
      count_gradient(asked, dp);
    }
  } catch (nondeterminism_error const&) {
    watch.check("cairn::differentiate");  // it would be the cause
    throw;
  }
  watch.check("cairn::differentiate");
  memory.result.value = terms.value();
}

/// The type of the plan for the last arguments of a verb.
template <class Place> struct plan_of_place : plan_obeyed<Place> {};
template <class KeepGoing, class Plan>
struct plan_of_place<run_while<KeepGoing, Plan>> { using type = open_plan<Plan>; };

/// Refuses a plan in the place of p.
template <class Objective, class... Last>
[[nodiscard]] consteval bool check_p_before_plan() {
  constexpr bool placed = !(objective<std::remove_cvref_t<Last>> || ... || false);
  static_assert(placed,
                "cairn: p comes before the plan: differentiate(model, x0, p, plan, objective); several objectives are "
                "added, a + b");
  return placed;
}

/// All checks of `differentiate`.
template <class ModelType, class X0, class ParamsGiven, class Place, class Objective, class... Last>
[[nodiscard]] consteval bool check_differentiated() {
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
    else if constexpr (!check_initial<X0>()) return false;
    else if constexpr (!check_sweep_options<State, options_asked<State, Plan, Last...>>()) return false;
    else if constexpr (!check_wrt<Wrt>()) return false;
    else if constexpr (!check_adjoint<AdjointF, State, Bar, Wrt>()) return false;
    else if constexpr (!check_last_or_disk<State, Plan, Last...>()) return false;
    else
      return check_counted<State, Bar, Bar, shapes_with<Wrt>::template adjoint<AdjointF, State, Bar>().form, Place,
                           Wrt>();
  }
}

/// The same as one sweep of all ranks: run(others...) calls the verb without them.
template <class Refused, class Place, class Run, class... Last>
[[nodiscard]] auto differentiated_by_ranks(Place const& plan, Run const& run, Last&&... last) {
  constexpr bool known = !is_run_while<Place>;
  static_assert(known,
                "cairn: ranks do not agree on the length of a loop in differentiate; give a plan of known length, or use "
                "checkpointed_while, which asks one rank");
  if constexpr (!known || !check_together<!any_budget<Place>, true, Last...>()) return Refused{};
  else {
    auto const one = [&](auto const&, auto&&... given) { return run(std::forward<decltype(given)>(given)...); };
    return by_ranks("cairn::differentiate", plan, one, std::forward<Last>(last)...);
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
[[nodiscard]] consteval bool check_order() {
  constexpr bool aimed = (objective<Rest> || ... || false), planned = (plan_place<Rest> || ... || false);
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

/// A model whose adjoint is made by a tool.
template <class ModelType>
concept has_its_tool = requires { typename std::remove_cvref_t<ModelType>::tool_of_model; };
/// A model whose adjoint is written by hand, and none that holds an objective.
template <class ModelType>
concept written_model = has_parts<std::remove_cvref_t<ModelType>> && !has_its_tool<ModelType> &&
                        !requires(ModelType& m) { m.objective(); };

}  // namespace detail

/// The value of an objective of the loop `step(x, p, i)`, i = 0..n-1, and its gradient with respect to x0 and p:
/// `auto [value, by_state, by_params] = differentiate(model, x0, p, plan, objective)`.
///
/// Runs exactly the plan's steps, and each term and its derivative once. The result is bit for bit the same for every
/// plan and store.
/// \param m  the step and its adjoint: `model{step, adjoint}`, an object with members `step(x, p, i)` and `adjoint(x,
///   bar, p, dp, i)`, or `by_tool(tape, step)`. Forms as for `gradient`; objects also have `bar(x)`
/// \param x0  the initial state; an object is a variable, and runs itself   \param p  the parameters: any value whose
///   bytes can be hashed; it must not change during the call
/// \param plan  a schedule; the number of steps; `budget_of{n, "64MB"}`; or `run_while{keep_going, online{slots}}`
/// \param f  an objective: `at_end`, `at_every`, `at_states`, or a sum of them. States 0 and n are like any other
/// \param last  as for `gradient`, without `wrt`
/// A leaf adjoint whose leaf has terms at states inside is called once for each part between them; the states there
/// are made by running the step once more, and held meanwhile. A recording adjoint keeps a copy of each state with a
/// term beside its tape.
/// \throws invalid_call   before any step runs, if the objective names a state after the loop's end; if p changes; what
///   `gradient` throws
/// \ingroup start
template <class ModelType, class X0, class ParamsGiven, class Place, class Fn, class... Last>
  requires(detail::plan_place<Place> && !detail::has_its_tool<ModelType>)
auto differentiate(ModelType&& m, X0&& x0, ParamsGiven const& p, Place const& plan, Fn f, Last&&... last) {
  using Model = std::remove_reference_t<ModelType>;
  using State = std::remove_cvref_t<X0>;
  using refused = derivatives<typename detail::first_returned<State>::type, ParamsGiven>;
  if constexpr (detail::together<Last...>)
    return detail::differentiated_by_ranks<refused>(
        plan,
        [&](auto&&... given) {
          return differentiate(m, std::forward<X0>(x0), p, plan, std::move(f), std::forward<decltype(given)>(given)...);
        },
        std::forward<Last>(last)...);
  else if constexpr (!detail::check_differentiated<Model, X0, ParamsGiven, Place, detail::objective_type<Fn>, Last...>())
    return refused{};
  else {
    auto const objective = detail::as_objective(std::move(f));
    if constexpr (!detail::is_run_while<Place>) detail::check_reached(detail::steps_of(plan), objective);
    detail::result_memory<detail::bar_in<Model, State>, ParamsGiven> memory;
    detail::differentiate_into(memory, m, x0, p, plan, objective, std::forward<Last>(last)...);
    return std::move(memory.result);
  }
}
/// The same without parameters: `auto [value, by_state] = differentiate(model, x0, plan, objective)`.
template <class ModelType, class X0, class Place, class Fn, class... Last>
  requires(detail::plan_place<Place> && !detail::has_its_tool<ModelType>)
auto differentiate(ModelType&& m, X0&& x0, Place const& plan, Fn f, Last&&... last) {
  using Model = std::remove_reference_t<ModelType>;
  using State = std::remove_cvref_t<X0>;
  using refused = derivatives<typename detail::first_returned<State>::type>;
  if constexpr (detail::together<Last...>)
    return detail::differentiated_by_ranks<refused>(
        plan,
        [&](auto&&... given) {
          return differentiate(m, std::forward<X0>(x0), plan, std::move(f), std::forward<decltype(given)>(given)...);
        },
        std::forward<Last>(last)...);
  else if constexpr (!detail::check_differentiated<Model, X0, no_params, Place, detail::objective_type<Fn>, Last...>())
    return refused{};
  else {
    auto const objective = detail::as_objective(std::move(f));
    if constexpr (!detail::is_run_while<Place>) detail::check_reached(detail::steps_of(plan), objective);
    detail::result_memory<detail::bar_in<Model, State>, no_params> memory;
    detail::differentiate_into(memory, m, x0, detail::no_parameters, plan, objective, std::forward<Last>(last)...);
    return std::move(memory.result);
  }
}

/// Refused: another order, or an argument too few.
template <class ModelType, class X0, class... Rest>
  requires(detail::written_model<ModelType> && !detail::places_plan<std::remove_cvref_t<Rest>...>)
auto differentiate(ModelType&&, X0&&, Rest&&...) {
  (void)detail::check_order<std::remove_cvref_t<Rest>...>();
  return derivatives<typename detail::first_returned<std::remove_cvref_t<X0>>::type, double>{};
}

}  // namespace cairn
