// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file differentiate.hpp  The value of a loop's objective, and its gradient with respect to the initial state and the
/// parameters, in one call.
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/model.hpp>
#include <cairn/door/objective.hpp>
#include <cairn/door/run_while.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/run/form/detail/last_arguments.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/losses.hpp>
#include <cairn/run/form/detail/model_checks.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/sweep/detail/advanced_copy.hpp>
#include <cairn/run/sweep/detail/call.hpp>
#include <cairn/run/sweep/detail/plan_place.hpp>
#include <cairn/run/while.hpp>

namespace cairn {
namespace detail {

/// The states there are made by the step, which runs from the leaf's first state to the last of them once more.
/// \tparam Copies  of states in an `advanced_copy`
template <class State, class Bar, wide Copies, class Adjoint>
void reverse_in_parts(Adjoint const& adjoint, lent_state<State> x, Bar& bar, step_index const first, step_index last) {
  auto& terms = adjoint.loop.terms;
  using step_type = std::remove_reference_t<decltype(adjoint.loop.step)>;
  step_index count = 0;
  for (step_index i = terms.next_after(first); i < last; i = terms.next_after(i)) ++count;
  std::vector<state_in_leaf<State>> cuts;
  cuts.reserve(std::size_t(count));
  wide held = wide(cuts.capacity()) * sizeof(state_in_leaf<State>);
  auto const each = [&](wide making, auto const& run_to, auto const& now) {
    for (step_index from = first, at; (at = terms.next_after(from)) < last; from = at) {
      run_to(from, at);
      cuts.push_back({at, now()});
      held += heap_if_known(cuts.back().state);
    }
    terms.held(held + making, cuts.back().at - first);
  };
  auto const back_to = [&](auto&& at_cut) {
    adjoint.back(at_cut, nullptr, bar, cuts.back().at, last, held);
    last = cuts.back().at;
    held -= heap_if_known(cuts.back().state);
  };
  step_index failed = first;
  if constexpr (copied_state<State>) {
    {
      advanced_copy<State> live{x, step_type::given.form};
      each(Copies * (heap_if_known(std::as_const(x)) + sizeof(State) + bytes_a_frame),
           [&](step_index from, step_index to) { live.run(adjoint.loop.step, from, to, failed); },
           [&] { return copy_of(std::as_const(live).state()); });
    }
    for (; !cuts.empty(); cuts.pop_back()) back_to(cuts.back().state);
  } else {
    auto const before = taken_snapshot(std::as_const(x));
    held += heap_if_known(before);
    each(0, [&](step_index from, step_index to) { run_in_place(adjoint.loop.step, x, from, to, failed); },
         [&] { return taken_snapshot(std::as_const(x)); });
    for (; !cuts.empty(); cuts.pop_back()) {
      restore_state(x, cuts.back().state);
      back_to(x);
    }
    restore_state(x, before);
  }
  adjoint.back(x, nullptr, bar, first, last, held);
}

}  // namespace detail

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
  return with(question_with<State>(place.keep_going, p));
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
        if constexpr (!measured_budget<Place>) return values.plan_from(place, asked);
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
                                                          values.others(steps_of(place)), asked.options, measured,
                                                          values.beside(asked));
        }
      }();
      auto const limit = limit_of(place, values, predict<Place>(asked, plan, values, measured));
      sized.reset();
      if constexpr (!decltype(asked)::on_disk)
        memory.result.state = one_sweep<Bar, State>(asked, parts, limit, step, x0, plan, seed, adjoint);
      else
        memory.result.state = sweep_of<decltype(asked.work)>::template sweep<Bar, State>(
            asked.work, one_process{}, asked, within(parts, limit), step, x0, plan, seed, adjoint);
    }
  } catch (nondeterminism_error const&) {
    watch.check("cairn::differentiate");  // it would be the cause
    throw;
  }
  watch.check("cairn::differentiate");
  memory.result.value = terms.value();
}

/// The same as one sweep of all ranks: run(others...) calls the verb without them.
template <class Refused, class Place, class Run, class... Last>
[[nodiscard]] auto differentiated_by_ranks(Place const& plan, Run const& run, Last&&... last) {
  constexpr bool known = !is_run_while<Place> || !(of_ranks<Last> || ...);
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
    return detail::refuse<refused>();
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
  using refused = derivatives<typename detail::first_returned<std::remove_cvref_t<X0>>::type>;
  if constexpr (detail::together<Last...>)
    return differentiate(m, std::forward<X0>(x0), detail::no_parameters, plan, std::move(f), std::forward<Last>(last)...);
  else if constexpr (!detail::check_differentiated<std::remove_reference_t<ModelType>, X0, no_params, Place,
                                                   detail::objective_type<Fn>, Last...>())
    return detail::refuse<refused>();  // here, too: its sentence is then one line nearer to the user's own
  else
    return differentiate(m, std::forward<X0>(x0), detail::no_parameters, plan, std::move(f), std::forward<Last>(last)...);
}

/// Refused: another order, or an argument too few.
template <class ModelType, class X0, class... Rest>
  requires(detail::written_model<ModelType> && !detail::places_plan<std::remove_cvref_t<Rest>...>)
auto differentiate(ModelType&&, X0&&, Rest&&...) {
  (void)detail::check_order<std::remove_cvref_t<Rest>...>();
  return derivatives<typename detail::first_returned<std::remove_cvref_t<X0>>::type, double>{};
}

}  // namespace cairn
