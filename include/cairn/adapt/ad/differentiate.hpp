// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file differentiate.hpp  The value of a loop's objective, and its gradient with respect to the initial state and the
/// parameters, in one call.
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/adapt/ad/detail/model_call.hpp>
#include <cairn/adapt/ad/params.hpp>
#include <cairn/adapt/ad/plan_for.hpp>
#include <cairn/adapt/ad/taped.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/door/objective.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/run/differentiate.hpp>
#include <cairn/schedule/any.hpp>

namespace cairn {

namespace detail {

/// The checks of the argument types, one error message for each misuse.
template <class Tool, class Model, class State, class Params, class Objective>
[[nodiscard]] consteval bool check_differentiate() {
  constexpr bool tool = ad_tape<Tool>;
  static_assert(tool,
                "cairn: the tool must be a tape that can be recorded and reversed, such as cairn::adolc_tape{}; see "
                "cairn::ad_tape");
  if constexpr (!tool) return false;
  else {
    using scalar = typename Tool::scalar;
    using own = typename params_parts<Params>::own;
    using control = typename params_parts<Params>::control;
    constexpr bool rebound = differentiable_by<State, scalar>;
    static_assert(rebound,
                  "cairn: this state has no double that a tool's number can replace; make it std::vector<double>, "
                  "std::array, a matrix of Eigen, a tuple or a class template over its scalar, or specialise "
                  "cairn::rebind_scalar");
    if constexpr (!rebound) return false;
    else {
      using data = step_data_of<Model, State, own, control>;
      constexpr bool visited = scalars_of<State, scalar>::visits_all() && scalars_of<own, scalar>::visits_all() &&
                               scalars_of<control, scalar>::visits_all() && scalars_of<data, scalar>::visits_all();
      constexpr bool plain = is_model<Model, State, own, control, data>();
      constexpr bool generic_model =
          is_model<Model, rebound_scalar<State, scalar>, rebound_scalar<own, scalar>, rebound_scalar<control, scalar>,
                   rebound_scalar<data, scalar>>();
      constexpr bool fits = Objective::template fits<State, own, double> &&
                            Objective::template fits<rebound_scalar<State, scalar>, rebound_scalar<own, scalar>,
                                                     scalar>;
      static_assert(visited,
                    "cairn: this class template cannot be taken apart to find its scalars; give cairn::rebind_scalar "
                    "of it the functions shape(from, into) and visit(x, f)");
      static_assert(!visited || plain,
                    "cairn: the model must be `model(x, params, i)`, where x is the state and changes; with "
                    "cairn::with_controls it is `model(x, params, u, i)`, with cairn::no_params `model(x, i)`");
      static_assert(!visited || !plain || generic_model,
                    "cairn: the model takes only numbers of type double; make it a template over its scalar, `template "
                    "<class T> void operator()(state<T>& x, params<T> const& p, step_index i) const`");
      static_assert(!visited || !generic_model || !plain || fits,
                    "cairn: the objective must be `f(x)`, `f(x, params)` or `f(x, params, i)` for states of any "
                    "scalar, and return that scalar itself, `[]<class T>(state<T> const& x) -> T`; or cairn::at_end, "
                    "at_every, at_states of one");
      constexpr fault wrong = [] {
        if constexpr (visited && plain && generic_model) return fault_of_model<Model, State, own, control, data>();
        else return fault::none;
      }();
      constexpr bool whole = wrong != fault::preset, wide = wrong != fault::floating && wrong != fault::short_index,
                     changed = wrong == fault::none || !whole || !wide;
      static_assert(changed,
                    "cairn: the model must take x, which it changes, by non-const reference, and return nothing");
      static_assert(whole,
                    "cairn: a default argument of this model would get the index; leave the default out, or wrap the "
                    "model in a lambda without that argument");
      static_assert(wide,
                    "cairn: the model would get its index as a floating-point or short number, a bool or a character; "
                    "take `cairn::step_index i`, `T const& i`, or leave it out");
      return visited && plain && generic_model && fits && wrong == fault::none;
    }
  }
}

/// Refuses, before any step runs, wrong numbers that types cannot reveal.
template <class Params, class Objective>
void check_length(step_index steps, Objective const& of, [[maybe_unused]] Params const& params) {
  if (steps < 0) return;  // the plan's own checks give a better message
  check_reached(steps, of);
  if constexpr (params_parts<Params>::controlled) {
    if (params.controls.size() != std::size_t(steps))
      throw invalid_call{"cairn::differentiate", "each step has one control",
                         {{"controls", params.controls.size()}, {"steps", steps}}, "give as many controls as steps"};
  }
}

/// A budget in the place of a plan, for the loop of a tool: its sweep keeps it also where a tape grows.
template <class Loop, class Budget>
struct budget_of_tool {
  Loop& loop;
  Budget budget;
  using measures = any_schedule;
  template <class State, class Bar, class Step, class X0, class Seed, class Adjoint, class Options, class Beside>
  [[nodiscard]] any_schedule plan_for_loop(Step&, X0& x0, Seed&, Adjoint&, sweep_form, sweep_sizes const&,
                                           Options const& asked, sweep_parts& held, Beside const& beside) const {
    planned best = plan_of_tool(loop, x0, budget, check_asked(asked), beside);
    held = best.memory;
    return std::move(best.schedule);
  }
};

/// The reverse of a tool's loop that ends when its state says so.
template <class Loop, class X0, class Place, class... Rest>
auto reverse_taped_until(Loop& loop, X0 const& x0, Place const& place, Rest&&... rest) {
  auto const by = [&](auto&& keep_going) {
    auto run = checkpointed_while(loop.step, x0, keep_going, place.plan, std::forward<Rest>(rest)...);
    check_length(run.steps(), loop.objective(), loop.params());
    return run.reverse(loop.seed(), loop.adjoint);
  };
  return by(question_with<X0>(place.keep_going, loop.params()));
}

}  // namespace detail

/// The value of the objective of a `taped` loop, and its gradient with respect to x0 and the loop's parameters. For
/// optimisers: memory and tape of `loop` are reused from call to call; change `loop.params()` between calls. Otherwise
/// as below.
template <class Tool, class Model, class Params, objective Objective, class X0, class Plan, class... Rest>
auto differentiate(taped<Tool, Model, Params, Objective>& loop, X0 const& x0, Plan const& plan, Rest&&... rest) {
  using State = X0;
  if constexpr (!detail::check_differentiate<std::remove_reference_t<Tool>, Model, State, Params, Objective>())
    return derivatives<State, Params>{};
  else if constexpr (std::same_as<Plan, budget_of<>> || detail::filed_budget<Plan>) {
    detail::check_length(plan.steps, loop.objective(), loop.params());
    detail::budget_of_tool<std::remove_reference_t<decltype(loop)>, Plan> const place{loop, plan};
    return differentiate(loop, x0, place, std::forward<Rest>(rest)...);
  } else {
    if constexpr (detail::plan_or_steps<Plan>)
      detail::check_length(detail::steps_of(plan), loop.objective(), loop.params());
    auto all = [&] {
      if constexpr (!detail::is_run_while<Plan>)
        return gradient(loop.step, x0, plan, loop.seed(), loop.adjoint, std::forward<Rest>(rest)...);
      else return detail::reverse_taped_until(loop, x0, plan, std::forward<Rest>(rest)...);
    }();
    if constexpr (detail::no_p<Params>) return derivatives<State>{loop.value(), std::move(all.state)};
    else return derivatives<State, Params>{loop.value(), std::move(all.state), std::move(all.params)};
  }
}

/// A step written once, as a template over its scalar, with its adjoint by a tool: a model for `differentiate`.
/// \tparam Tool  an `ad_tape`, or a reference to one
template <class Tool, class Step>
struct tool_model {
  using tool_of_model = Tool;  ///< says that the model has no adjoint of its own
  Tool tool;                   ///< such as `adolc_tape{}`
  Step step;  ///< `template <class T> void operator()(state<T>& x, params<T> const& p, step_index i) const`
};
/// The model of a step whose adjoint a tool makes: `differentiate(by_tool(adolc_tape{}, step), x0, p, plan, objective)`.
/// \param tool  an `ad_tape`; an lvalue is referred to, and keeps its memory for the next call
/// \param step  `template <class T> void operator()(state<T>& x, params<T> const& p, step_index i) const`; without i, or
///   with `T const& i`, one recording of ADOL-C or CppAD serves all leaves: see `taped`
template <class Tool, class Step>
[[nodiscard]] tool_model<Tool, Step> by_tool(Tool&& tool, Step step) {
  return {std::forward<Tool>(tool), std::move(step)};
}

namespace detail {
template <class Tool, class Model, class X0, class Params, class Plan, class Fn, class... Rest>
auto differentiate_by_tool(Tool&& tool, Model model, X0 const& x0, Params params, Plan const& plan, Fn f,
                           Rest&&... rest) {
  using Terms = objective_type<Fn>;
  taped<Tool, Model, Params, Terms> loop{std::forward<Tool>(tool), std::move(model), std::move(params),
                                         as_objective(std::move(f))};
  return differentiate(loop, x0, plan, std::forward<Rest>(rest)...);
}
}  // namespace detail

/// The value of an objective of the loop `step(x, params, i)`, i = 0..n-1, whose adjoint a tool makes, and its gradient
/// with respect to x0 and params.
///
/// \param model  `by_tool(adolc_tape{}, step)`
/// \param x0  the initial state   \param params  the point at which the gradient is taken; `no_params{}` for none,
///   `with_controls{params, controls}` if each step has its own control
/// \param plan  a schedule, the number of steps, or `budget_of{steps, "64MiB"}`: then leaves of different lengths are
///   measured, and the plan stays within the budget, tape included; with files for a `disk run`, `budget_of{steps,
///   "64MiB", run}`; or `run_while{keep_going, online{slots}}`
/// \param f  `f(x)`, `f(x, params)` or `f(x, params, i)` of the final state, or an `objective`: `at_every`, `at_states`;
///   generic in the scalar. Derivatives of terms are not used
/// \param rest  workspace or store, observer and options, as for `gradient`
/// Bits: as for `taped`. \throws invalid_call   before any step runs, if the objective names a state after the loop's
/// end, or the number of controls is wrong; infeasible_budget; what `gradient` throws
template <class Tool, class Step, class X0, class Params, class Plan, class Fn, class... Rest>
  requires(detail::plan_place<Plan>)
auto differentiate(tool_model<Tool, Step> model, X0 const& x0, Params params, Plan const& plan, Fn f, Rest&&... rest) {
  if constexpr (!detail::check_differentiate<std::remove_reference_t<Tool>, Step, X0, Params,
                                             detail::objective_type<Fn>>())
    return derivatives<X0, Params>{};
  else
    return detail::differentiate_by_tool(std::forward<Tool>(model.tool), std::move(model.step), x0, std::move(params),
                                         plan, std::move(f), std::forward<Rest>(rest)...);
}
/// The same without parameters.
template <class Tool, class Step, class X0, class Plan, class Fn, class... Rest>
  requires(detail::plan_place<Plan>)
auto differentiate(tool_model<Tool, Step> model, X0 const& x0, Plan const& plan, Fn f, Rest&&... rest) {
  return differentiate(std::move(model), x0, no_params{}, plan, std::move(f), std::forward<Rest>(rest)...);
}
/// The same with the tool in front: `differentiate(adolc_tape{}, step, x0, params, plan, f)`.
template <class Tool, class Step, class X0, class Params, class Plan, class Fn, class... Rest>
  requires(detail::plan_place<Plan> && !detail::plan_place<Params> && !detail::has_its_tool<Tool>)
auto differentiate(Tool&& tool, Step step, X0 const& x0, Params params, Plan const& plan, Fn f, Rest&&... rest) {
  return differentiate(tool_model<Tool, Step>{std::forward<Tool>(tool), std::move(step)}, x0, std::move(params), plan,
                       std::move(f), std::forward<Rest>(rest)...);
}

/// Refused: another order, or an argument too few.
template <class Tool, class Step, class X0, class... Rest>
  requires(!detail::places_plan<std::remove_cvref_t<Rest>...>)
auto differentiate(tool_model<Tool, Step>, X0&&, Rest&&...) {
  (void)detail::check_order<std::remove_cvref_t<Rest>...>();
  return derivatives<std::remove_cvref_t<X0>, double>{};
}

}  // namespace cairn
