// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file differentiate.hpp  The value of a loop's objective, and its gradient with respect to the initial state and the
/// parameters, in one call.
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/checks.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wrt.hpp>
#include <cairn/run/detail/last_arguments.hpp>
#include <cairn/run/detail/plan_place.hpp>
#include <cairn/run/detail/with_losses.hpp>
#include <cairn/run/detail/with_params.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/model.hpp>
#include <cairn/run/objective.hpp>
#include <cairn/run/run_while.hpp>
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

/// Refuses, before any step runs, a term at a state that the loop does not reach.
inline void check_reached(step_index steps, step_index last_state) {
  if (steps >= 0 && last_state > steps)  // the plan's own checks give a better message for negative numbers
    throw invalid_call{"cairn::differentiate", "the objective has a term at a state that the loop does not reach",
                       {{"state", last_state}, {"steps", steps}}, "name states from 0 to the number of steps"};
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

/// The checks of a model and an objective. One function: each function called adds lines to the compiler's message.
template <class ModelType, class State, class ParamsGiven, class Objective>
[[nodiscard]] consteval bool check_model() {
  constexpr bool model = has_parts<ModelType>;
  static_assert(model,
                "cairn: the first argument must be a model: cairn::model{step, adjoint}, an object with members step "
                "and adjoint, or cairn::by_tool(tape, step)");
  if constexpr (!model) return false;
  else {
    using Bar = bar_in<ModelType, State>;
    constexpr bool bar = (makes_bar<ModelType, State> || (copied_state<State> && numbered<State>)) &&
                         std::default_initializable<Bar>;
    constexpr bool params = copied_state<ParamsGiven> && std::default_initializable<ParamsGiven>;
    constexpr bool value = Objective::template fits<State, ParamsGiven, double>, given = Objective::has_derivatives;
    constexpr bool derives =
        !given || !bar || !value || Objective::template derives<State, Bar, ParamsGiven, ParamsGiven>;
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
    return bar && params && value && given && derives;
  }
}

/// The `wrt` that a model with these parameters is called with.
template <class ParamsGiven> struct model_wrt { using type = wrt<ParamsGiven, ParamsGiven>; };
template <> struct model_wrt<no_params> { using type = no_wrt; };

/// Everything that a sweep over a model needs: the functions with parameters and losses bound.
template <class State, class Bar, class ModelType, class ParamsGiven, class Objective>
class model_sweep {
 public:
  model_sweep(ModelType& m, ParamsGiven const& p, ParamsGiven& dp, Objective const& objective)
      : model_{m}, losses_{objective, p, dp}, step_{step_in(m)}, adjoint_{adjoint_in(m)}, bound_{bind(step_, p)},
        back_{bind_back(adjoint_, p, dp)} {}
  model_sweep(model_sweep const&) = delete;

  using losses_type = losses<Objective, ParamsGiven, ParamsGiven>;
  [[nodiscard]] auto step() { return with_losses<State>(bound_, losses_); }
  template <class Step>
  [[nodiscard]] auto adjoint(Step& step) { return with_losses<State, Bar>(back_, losses_, step, object_); }
  /// The seed: a zero adjoint in the memory of `kept`, with the derivatives of the last terms.
  [[nodiscard]] auto seed(Bar& kept) {
    return [this, &kept](State const& x) -> Bar {
      make_bar(model_, x, kept);
      losses_.end(x, kept);
      return std::move(kept);
    };
  }
  [[nodiscard]] losses_type& terms() noexcept { return losses_; }

 private:
  template <class Fn>
  static decltype(auto) bind(Fn& f, [[maybe_unused]] ParamsGiven const& p) {
    if constexpr (no_p<ParamsGiven>) return (f);
    else return bind_step<State>(f, p);
  }
  template <class Fn>
  static decltype(auto) bind_back(Fn& f, [[maybe_unused]] ParamsGiven const& p, [[maybe_unused]] ParamsGiven& dp) {
    if constexpr (no_p<ParamsGiven>) return (f);
    else return bind_adjoint<State, Bar>(f, p, dp);
  }
  ModelType& model_;
  losses_type losses_;
  decltype(step_in(std::declval<ModelType&>())) step_;
  decltype(adjoint_in(std::declval<ModelType&>())) adjoint_;
  decltype(bind(std::declval<std::remove_reference_t<decltype(step_in(std::declval<ModelType&>()))>&>(),
                std::declval<ParamsGiven const&>())) bound_;
  decltype(bind_back(std::declval<std::remove_reference_t<decltype(adjoint_in(std::declval<ModelType&>()))>&>(),
                     std::declval<ParamsGiven const&>(), std::declval<ParamsGiven&>())) back_;
  State* object_ = nullptr;
};

/// One sweep over a model, into memory that may be kept.
/// \tparam X0  the state, const if it is copied
template <class ModelType, class X0, class ParamsGiven, class Place, class Objective, class... Last>
void differentiate_into(result_memory<bar_in<ModelType, std::remove_const_t<X0>>, ParamsGiven>& memory, ModelType& m,
                        X0& x0, ParamsGiven const& p, Place const& place, Objective const& objective, Last&&... last) {
  using State = std::remove_const_t<X0>;
  using Bar = bar_in<ModelType, State>;
  using back_type = std::remove_reference_t<decltype(adjoint_in(m))>;
  using Wrt = typename model_wrt<ParamsGiven>::type;
  auto& dp = memory.params();
  model_sweep<State, Bar, ModelType, ParamsGiven, Objective> sweep{m, p, dp, objective};
  auto step = sweep.step();
  auto adjoint = sweep.adjoint(step);
  auto seed = sweep.seed(memory.result.state);
  auto const run = [&](auto const& check) {
    if constexpr (!no_p<ParamsGiven>) set_zero(p, dp);
    auto const at_seed = [&](State const& x) -> Bar {
      check();
      if constexpr (is_run_while<Place>) check_reached(sweep.terms().steps(), objective.last_state());
      return seed(x);
    };
    if constexpr (is_run_while<Place>) {
      using asked = asked_with<std::remove_const_t<decltype(place.keep_going)> const, State, Wrt>;
      auto const go = [&](auto&& keep_going) {
        auto const with = [&](auto&&... given) {
          auto loop = checkpointed_while(step, x0, keep_going, place.plan, std::forward<decltype(given)>(given)...);
          memory.result.state = loop.reverse(at_seed, adjoint);
        };
        if constexpr (!kept_on_disk<Last...>) with(std::forward<Last>(last)...);
        else {
          using asked_for = std::remove_reference_t<decltype(place.keep_going)>;
          given_parts<ModelType, ModelType, Objective, ParamsGiven, ParamsGiven, Objective,
                      typename decltype(sweep)::losses_type, asked_for> const
              parts{&m, &m, &objective, &p, &dp, &objective, &sweep.terms(), __builtin_addressof(place.keep_going)};
          with(known_by(std::forward<Last>(last), parts)...);
        }
      };
      if constexpr (no_p<ParamsGiven>) go(place.keep_going);
      else go(asked{place.keep_going, p});
    } else {
      using Plan = plan_type<Place>;
      static constexpr auto back = shapes_with<Wrt>::template adjoint<back_type, State, Bar>();
      sweep_form const form{.step = shape_of_step<decltype(step), State>().form,
                            .adjoint = back.form, .adjoint_by_value = back.by_value};
      auto const options = last_of<last_kind::options, State, Plan>(no_options{}, last...);
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
      auto const values = values_for<Bar>(step, std::as_const(x0), like, adjoint, by, options, form);
      sweep_parts measured;
      Plan const& plan = [&]() -> decltype(auto) {
        if constexpr (!measured_budget<Place>) return values.plan_from(place);
        else {  // a probe never adds to the result
          auto scratch = copy_of(dp);
          model_sweep<State, Bar, ModelType, ParamsGiven, Objective> probed{m, p, scratch, objective};
          auto probed_step = probed.step();
          auto probed_back = probed.adjoint(probed_step);
          auto const probed_seed = [&](State const& x) -> Bar {
            Bar bar = copy_of(memory.result.state);
            make_bar(m, x, bar);
            return bar;
          };
          return place.template plan_for_loop<State, Bar>(probed_step, x0, probed_seed, probed_back, form,
                                                          values.others(steps_of(place)), options, measured);
        }
      }();
      auto const limit = limit_of(place, values, predict<State, Place>(plan, values, measured, last...));
      sized.reset();
      given_parts<ModelType, ModelType, Objective, ParamsGiven, ParamsGiven, Objective,
                  typename decltype(sweep)::losses_type> const parts{&m,         &m,  &objective,    &p, &dp,
                                                                   &objective, &sweep.terms()};
      memory.result.state =
          sweep_with<Bar, State, Plan>(parts, limit, step, x0, plan, at_seed, adjoint, std::forward<Last>(last)...);
      if constexpr (!no_p<ParamsGiven>) count_gradient<State, Plan>(dp, last...);
    }
    check();
  };
  if constexpr (no_p<ParamsGiven>) run([] {});
  else {
    watched_params const watch{p};
    watch.blamed("cairn::differentiate", [&] { run([&] { watch.check("cairn::differentiate"); }); });
  }
  memory.result.value = sweep.terms().value();
}

/// The type of the plan for the last arguments of a verb.
template <class Place> struct plan_of_place : plan_obeyed<Place> {};
template <class KeepGoing, class Plan>
struct plan_of_place<run_while<KeepGoing, Plan>> { using type = open_plan<Plan>; };

/// All checks of `differentiate`.
template <class ModelType, class X0, class ParamsGiven, class Place, class Objective, class... Last>
[[nodiscard]] consteval bool check_differentiated() {
  using State = std::remove_cvref_t<X0>;
  using Wrt = typename model_wrt<ParamsGiven>::type;
  if constexpr (!check_model<ModelType, State, ParamsGiven, Objective>()) return false;
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

template <class ModelType, class X0, class ParamsGiven, class Place, class Fn, class... Last>
[[nodiscard]] auto differentiated(ModelType& m, X0& x0, ParamsGiven const& p, Place const& plan, Fn f, Last&&... last) {
  auto const objective = as_objective(std::move(f));
  if constexpr (!is_run_while<Place>) check_reached(steps_of(plan), objective.last_state());
  result_memory<bar_in<ModelType, std::remove_const_t<X0>>, ParamsGiven> memory;
  differentiate_into(memory, m, x0, p, plan, objective, std::forward<Last>(last)...);
  return std::move(memory.result);
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

/// A model whose adjoint is made by a tool.
template <class ModelType>
concept has_its_tool = requires { typename std::remove_cvref_t<ModelType>::tool_of_model; };

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
  else return detail::differentiated(m, x0, p, plan, std::move(f), std::forward<Last>(last)...);
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
  else return detail::differentiated(m, x0, no_params{}, plan, std::move(f), std::forward<Last>(last)...);
}

}  // namespace cairn
