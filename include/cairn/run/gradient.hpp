// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file gradient.hpp  The adjoint of a whole loop in one call.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/checks.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/run/detail/given_parts.hpp>
#include <cairn/run/detail/last_arguments.hpp>
#include <cairn/run/detail/plan_place.hpp>
#include <cairn/run/detail/plans_inside.hpp>
#include <cairn/run/detail/reversal.hpp>
#include <cairn/run/detail/sweep.hpp>
#include <cairn/run/detail/with_params.hpp>
#include <cairn/run/workspace.hpp>

/// Reverse-mode differentiation of long loops in bounded memory. A *plan* is a schedule with its steps and slots. A
/// verb such as `gradient` runs it over your step and your adjoint. `estimate` predicts its cost before any step runs.
/// Begin with \ref start. `cairn/cairn.hpp` has the verbs and the schedules of most loops, `cairn/planning.hpp` all
/// schedules and the planners, `cairn/chains.hpp` chains and graphs. Adapters are in `cairn/adapt/`.
namespace cairn {
namespace detail {

/// The adjoint's type.
template <class Seed, class State> using bar_type = typename bar_of<std::remove_reference_t<Seed>, State>::type;
/// The same for a seed that may take the parameters of a `wrt`.
template <class Seed, class State, class Wrt>
using bar_type_with = bar_type<typename bound_seed<Seed, State, Wrt>::type, State>;

/// The likely result type of a refused call: the seed's type, or the state's if the seed is not an adjoint.
template <class Seed, class State>
struct refused_bar {
  static constexpr bool is_seed = !function_like<bar_type<Seed, State>> && !generic<bar_type<Seed, State>>;
  using type = typename first_returned<std::conditional_t<is_seed, bar_type<Seed, State>, void>, State>::type;
};
/// The state; if step and initial state are swapped, the argument in the step's place.
template <class Step, class StateType, bool = swapped<Step, StateType>()>
struct refused_state { using type = StateType; };
template <class Step, class StateType>
struct refused_state<Step, StateType, true> { using type = Step; };
/// The step for that question; with parameters it is not asked.
template <class Step, class Wrt> using step_refused = std::conditional_t<is_wrt<Wrt>, no_wrt, Step>;

/// Detects a number of checkpoints after the number of steps, which moves seed and adjoint one place back.
template <class PlanGiven, class Count, class Seed, class Adjoint, class StateType>
[[nodiscard]] consteval bool check_no_count() {
  if constexpr (std::is_integral_v<PlanGiven> && std::is_integral_v<Count> && !is_options<Adjoint> &&
                !is_wrt<Adjoint>) {
    constexpr bool counted =
        shape_of_adjoint<std::remove_reference_t<Adjoint>, StateType, bar_type<Seed, StateType>>().wrong == fault::none;
    static_assert(!counted,
                  "cairn: a number of checkpoints is a part of the plan; give cairn::uniform{n, {.checkpoints = "
                  "count}} as the third argument");
    return !counted;
  } else return true;
}
template <class Step, class X0, class Seed>
auto refuse_gradient() {
  return refuse<typename refused_bar<
      Seed, typename refused_state<std::remove_cvref_t<Step>, std::remove_cvref_t<X0>>::type>::type>();
}

template <class Bar, class State, class Plan, class Step, class X0, class Seed, class Adjoint, class Work,
          class Observer, class Options>
Bar one_sweep(Step& step, X0&& x0, Plan const& plan, Seed&& seed, Adjoint& adjoint, Work&& work, Observer& observer,
              Options options, byte_limit const& limit = {}) {
  static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
  using way_back = reversal<State, Step, Adjoint, Bar, true>;
  check_adjoint_fits("cairn::gradient", plan.leaf(), tapes_of(plan), shape.form, tapes_restart(plan),
                     way_back::can_restart);
  check_plans_inside<State, Bar>(adjoint);
  sweep run{work, "cairn::gradient", options};
  run.keep_within(limit);
  run.begin(step, std::forward<X0>(x0), plan, {shape_of_step<Step, State>().form, shape.form});
  way_back user{step, adjoint, run.tapes(), tapes_of(plan)};
  run.run_plan(step, user, observer);
  run.template make_room<Bar>(user);
  run.template turn_back<shape.form>(user.bar, std::forward<Seed>(seed));
  run.run_plan(step, user, observer);
  run.ended();
  end_report(observer, plan.steps(), plan.slots(), work.step_calls(), user);
  return std::move(*user.bar);
}

/// A sweep with its last arguments, whose parameters are bound.   \param plan  a schedule   \param limit  of a budget
template <class Bar, class State, class Plan, class Parts, class Step, class X0, class Seed, class Adjoint,
          class... Last>
Bar sweep_with([[maybe_unused]] Parts const& parts, [[maybe_unused]] byte_limit const& limit, Step& step, X0&& x0,
               Plan const& plan, Seed&& seed, Adjoint& adjoint, Last&&... last) {
  if constexpr (kept_on_disk<Last...>) {
    auto const& keeper = last_of<last_kind::work, State, Plan>(own_workspace{}, last...);
    using keeping = typename std::remove_cvref_t<decltype(keeper)>::keeps_runs;
    return keeping::template sweep<Bar, State>(keeper, parts, step, x0, plan, std::forward<Seed>(seed), adjoint,
                                               std::forward<Last>(last)...);
  } else {
    auto const run = [&]<class Used, class Watching, class Asked>(Used&& used, Watching&& watching,
                                                                  Asked asked) -> Bar {
      return one_sweep<Bar, State, Plan>(step, std::forward<X0>(x0), plan, std::forward<Seed>(seed), adjoint,
                                         workspace_from<State, Plan, Asked>(used), watching, asked, limit);
    };
    return in_their_places<State, Plan>(run, std::forward<Last>(last)...);
  }
}

/// Notes what the sweep of a plan holds in a report, if one is asked for.
/// \tparam PlanGiven  in the place of the plan
/// \param values  see `counted_values`   \param measured  if the plan was: what its sweep holds
template <class State, class PlanGiven, class Plan, class Values, class... Last>
void predict([[maybe_unused]] Plan const& plan, [[maybe_unused]] Values const& values,
             [[maybe_unused]] sweep_parts const& measured, [[maybe_unused]] Last&... last) {
  if constexpr (count_of_last<last_kind::report, State, Plan, Last&...> > 0) {
    sweep_report& report = last_of<last_kind::report, State, Plan>(own_workspace{}, last...);
    slot_index in_memory = plan.slots();
    wide files = 0;
    if constexpr (kept_on_disk<Last...>) {
      for (slot_index slot = 0; slot < plan.slots(); ++slot) in_memory -= slot_tier(plan, slot) != tier::memory;
      auto const& keeper = last_of<last_kind::work, State, Plan>(own_workspace{}, last...);
      files = std::remove_cvref_t<decltype(keeper)>::keeps_runs::memory_bytes(keeper, plan.slots(),
                                                                               values.form.keeps_run);
    }
    sweep_parts parts = measured;
    if constexpr (!measured_budget<PlanGiven>) {
      parts = values.predicted(plan, in_memory);
      // A plan of the caller's is the caller's, but for its copy on disk.
      if constexpr ((any_budget<PlanGiven> || kept_on_disk<Last...>) && requires { plan.own_bytes(); })
        parts.plan += plan.own_bytes();
    }
    parts.files = files;
    note_predicted(report, parts);
    report.counted = parts;
    report.counted.states = report.counted.adjoints = report.counted.tapes = report.counted.terms = 0;
  }
}
/// What a sweep within a budget keeps to, if its states grow. Files are not part of it.
template <class PlanGiven, class Values, class Plan>
[[nodiscard]] byte_limit limit_of([[maybe_unused]] PlanGiven const& place, [[maybe_unused]] Values const& values,
                                  [[maybe_unused]] Plan const& plan, [[maybe_unused]] sweep_parts const& measured) {
  auto const within = [&](wide budget, sweep_parts const& parts, sweep_sizes const& sizes) -> byte_limit {
    return {budget, parts.total() - parts.states, sizes.state, sizes.adjoint, values.form.adjoint_by_value ? 2 : 1};
  };
  if constexpr (counted_budget<PlanGiven>) {
    auto const sizes = values.sizes(plan.steps(), 1);
    return within(place.bytes.count(), parts_with(plan, plan.slots(), values.form, sizes, check_asked(values.options)),
                  sizes);
  } else if constexpr (requires { place.budget.beside; }) return {};
  else if constexpr (measured_budget<PlanGiven>)
    return within(place.budget.bytes.count(), measured, values.sizes(plan.steps(), 1));
  else return {};
}
/// Notes how large dp is when the sweep has ended.
template <class State, class Plan, class DP, class... Last>
void count_gradient([[maybe_unused]] DP const& dp, [[maybe_unused]] Last&... last) {
  if constexpr (count_of_last<last_kind::report, State, Plan, Last&...> > 0)
    last_of<last_kind::report, State, Plan>(own_workspace{}, last...).counted.gradient = bytes_if_known(dp);
}

/// The same where nothing can be predicted.
template <class State, class Plan, class... Last>
void predict_nothing([[maybe_unused]] Last&... last) {
  if constexpr (count_of_last<last_kind::report, State, Plan, Last&...> > 0) {
    sweep_report& report = last_of<last_kind::report, State, Plan>(own_workspace{}, last...);
    sweep_parts nothing;
    sweep_parts::each(nothing, [](char const*, wide& part) { part = unknown_bytes; });
    note_predicted(report, nothing);
    report.counted = {};
  }
}

/// Notes the parameters of a sweep in its workspace, if it was given one, for `resume`.
template <class State, class Plan, class... Last>
void note_params([[maybe_unused]] std::uint64_t hash, [[maybe_unused]] Last&... last) {
  if constexpr ((is_workspace_for<std::remove_cvref_t<Last>, State, Plan> || ... || false))
    params_in::hash(last_of<last_kind::work, State, Plan>(own_workspace{}, last...)) = hash;
}

/// The same with the parameters of `by`, if there are any.
template <class Bar, class State, class Step, class X0, class PlanGiven, class Seed, class Adjoint, class Wrt,
          class... Last>
Bar sweep_by(Step& step, X0&& x0, PlanGiven const& place, Seed&& seed, Adjoint& adjoint, [[maybe_unused]] Wrt& by,
             Last&&... last) {
  using Plan = plan_type<PlanGiven>;
  using shapes = shapes_with<std::remove_const_t<Wrt>>;
  static constexpr auto back = shapes::template adjoint<Adjoint, State, Bar>();
  static constexpr sweep_form form{.step = shapes::template step<Step, State>().form,
                                   .adjoint = back.form, .adjoint_by_value = back.by_value};
  auto const options = last_of<last_kind::options, State, Plan>(no_options{}, last...);
  if constexpr (!is_wrt<Wrt>) {
    auto const values = values_for<Bar>(step, std::as_const(x0), seed, adjoint, by, options, form);
    sweep_parts measured;
    Plan const& plan = [&]() -> decltype(auto) {
      if constexpr (!measured_budget<PlanGiven>) return values.plan_from(place);
      else
        return place.template plan_for_loop<State, Bar>(step, x0, seed, adjoint, form, values.others(steps_of(place)),
                                                        options, measured);
    }();
    predict<State, PlanGiven>(plan, values, measured, last...);
    byte_limit const limit = limit_of(place, values, plan, measured);
    note_params<State, Plan>(0, last...);
    given_parts<Step, Adjoint, std::remove_reference_t<Seed>> const parts{
        __builtin_addressof(step), __builtin_addressof(adjoint), __builtin_addressof(seed)};
    return sweep_with<Bar, State, Plan>(parts, limit, step, std::forward<X0>(x0), plan, std::forward<Seed>(seed),
                                        adjoint, std::forward<Last>(last)...);
  } else {
    auto run_step = bind_step<State>(step, by.p);
    auto run_back = bind_adjoint<State, Bar>(adjoint, by.p, by.dp);
    auto const values = values_for<Bar>(run_step, std::as_const(x0), seed, run_back, by, options, form);
    sweep_parts measured;
    Plan const& plan = [&]() -> decltype(auto) {
      if constexpr (!measured_budget<PlanGiven>) return values.plan_from(place);
      else {
        auto scratch = copy_of(by.dp);  // a probe never adds to the caller's sum
        auto probed_back = bind_adjoint<State, Bar>(adjoint, by.p, scratch);
        auto&& probed_seed = bind_seed<State>(seed, by.p, scratch);
        return place.template plan_for_loop<State, Bar>(run_step, x0, probed_seed, probed_back, form,
                                                        values.others(steps_of(place)), options, measured);
      }
    }();
    predict<State, PlanGiven>(plan, values, measured, last...);
    byte_limit const limit = limit_of(place, values, plan, measured);
    watched_params const watch{by.p};
    note_params<State, Plan>(watch.hash(), last...);
    set_zero(by.p, by.dp);
    given_parts<Step, Adjoint, std::remove_reference_t<Seed>, typename params_types<std::remove_const_t<Wrt>>::p,
                typename params_types<std::remove_const_t<Wrt>>::dp> const
        parts{__builtin_addressof(step), __builtin_addressof(adjoint), __builtin_addressof(seed), &by.p, &by.dp};
    auto&& from = bind_seed<State>(std::forward<Seed>(seed), by.p, by.dp);
    auto const at_seed = [&](lent_state<State> x) -> decltype(auto) {
      watch.check("cairn::gradient");
      if constexpr (seed_function<std::remove_reference_t<decltype(from)>, State>) return call_lending(from, x);
      else if constexpr (kept_on_disk<Last...>) return taken(std::as_const(seed));  // one that begins anew asks again
      else return Bar(std::forward<Seed>(seed));
    };
    return watch.during("cairn::gradient", [&]() -> Bar {
      if constexpr (std::is_same_v<Bar, library_bar>) {
        sweep_with<Bar, State, Plan>(parts, limit, run_step, std::forward<X0>(x0), plan, at_seed, run_back,
                                     std::forward<Last>(last)...);
        count_gradient<State, Plan>(by.dp, last...);
        return Bar{};
      } else {
        Bar bar = sweep_with<Bar, State, Plan>(parts, limit, run_step, std::forward<X0>(x0), plan, at_seed, run_back,
                                               std::forward<Last>(last)...);
        count_gradient<State, Plan>(by.dp, last...);
        return bar;
      }
    });
  }
}

}  // namespace detail

/// The adjoint of the initial state of the loop `x = step(x, i)`, i = 0..n-1.
///
/// Runs exactly the plan's steps (`estimate(plan).step_calls`). The result is bit for bit the same for every plan and
/// store.
/// \param step  `step(x, i)` in place, `x1 = step(x, i)`, or `step(x, x1, i)`, which writes all of x1 (its content
///   before the call is unspecified); i may be omitted. Must depend only on x and i, because it is run more than once;
///   see `sweep_options`
/// \param x0  the initial state; an rvalue is moved from
/// \param plan  a schedule; the number of steps n >= 0: then `uniform{n}`, floor(sqrt n) checkpoints; or
///   `budget_of{n, "64MB"}`
/// \param seed  the adjoint of the final state, or `seed(final_state)` that makes it, called once; n = 0 returns it
///   unchanged
/// \param adjoint  `adjoint(x, bar, i)` in place or by value, `adjoint(x, x1, bar, i)`, `adjoint(x, bar, first, last)`
///   for plans with leaves, or `recorded{record, reverse}` (and `restart`, for plans that restart from tapes); bar
///   belongs to state i+1 before the call and to state i after it
/// \param last  in any order, each kind at most once: a `workspace` to be reused or a store, by default the sweep
///   allocates its own memory; an observer, called with an `event` before and after every action; `sweep_options`; a
///   `sweep_report`; `wrt{p, dp}`: then step and adjoint take p, and adjoint and seed dp, too, before the index; a
///   `collective` of the adapter for MPI: then all ranks run the sweep together
/// \throws invalid_plan, infeasible_budget   before any step runs
/// \throws invalid_call   if the parameters of a `wrt` change
/// \throws nondeterminism_error   if options ask for a replay check and a state differs
/// \throws anything   that step, adjoint, seed, copies or observer throw, unchanged; the workspace can be used again
///   afterwards
/// \ingroup start
template <class Step, class X0, class PlanGiven, class Seed, class Adjoint, class... Last>
auto gradient(Step&& step, X0&& x0, PlanGiven const& plan, Seed&& seed, Adjoint&& adjoint, Last&&... last) {
  using State = std::remove_cvref_t<X0>;
  using StepF = std::remove_reference_t<Step>;
  using AdjointF = std::remove_reference_t<Adjoint>;
  using Plan = detail::plan_type<PlanGiven>;
  using Wrt = detail::wrt_in<State, Plan, Last...>;
  using Asked = detail::step_refused<Step, Wrt>;
  using Settings = detail::options_asked<State, Plan, Last...>;
  if constexpr (detail::together<Last...>) {
    if constexpr (!detail::check_together<!detail::any_budget<PlanGiven>, true, Last...>())
      return detail::refuse_gradient<Asked, X0, Seed>();
    else {
      auto const run = [&](auto const&, auto&&... given) {
        return gradient(step, std::forward<X0>(x0), plan, std::forward<Seed>(seed), adjoint,
                        std::forward<decltype(given)>(given)...);
      };
      return detail::by_ranks("cairn::gradient", plan, run, std::forward<Last>(last)...);
    }
  } else if constexpr (!detail::check_forward<StepF, State, PlanGiven, false, Wrt>())
    return detail::refuse_gradient<Asked, X0, Seed>();
  else if constexpr (!detail::check_initial<X0>()) return detail::refuse_gradient<Asked, X0, Seed>();
  else if constexpr (!detail::check_sweep_options<State, Settings>()) return detail::refuse_gradient<Asked, X0, Seed>();
  else if constexpr (!detail::check_no_count<PlanGiven, std::remove_cvref_t<Seed>, Adjoint,
                                             detail::first_of_last<Last...>, State>())
    return detail::refuse_gradient<Asked, X0, Adjoint>();
  else if constexpr (!detail::check_wrt<Wrt>()) return detail::refuse_gradient<Asked, X0, Seed>();
  else if constexpr (!detail::check_adjoint<AdjointF, State, detail::bar_type_with<Seed, State, Wrt>, Wrt>())
    return detail::refuse_gradient<Asked, X0, Seed>();
  else if constexpr (!detail::check_last_or_disk<State, Plan, Last...>())
    return detail::refuse_gradient<Asked, X0, Seed>();
  else if constexpr (!detail::check_counted<State, detail::bar_type_with<Seed, State, Wrt>, std::remove_cvref_t<Seed>,
                                            detail::shapes_with<Wrt>::template adjoint<
                                                AdjointF, State, detail::bar_type_with<Seed, State, Wrt>>()
                                                .form,
                                            PlanGiven, Wrt>())
    return detail::refuse_gradient<Asked, X0, Seed>();
  else {
    auto by = detail::last_of<detail::last_kind::params, State, Plan>(detail::no_wrt{}, last...);
    return detail::sweep_by<detail::bar_type_with<Seed, State, Wrt>, State>(
        step, std::forward<X0>(x0), plan, std::forward<Seed>(seed), adjoint, by, std::forward<Last>(last)...);
  }
}

/// Refused: the seed is missing.
template <class Step, class X0, class PlanGiven, class Adjoint>
auto gradient(Step&&, X0&&, PlanGiven const&, Adjoint&&) {
  constexpr bool seeded = std::is_void_v<Adjoint>;
  static_assert(seeded,
                "cairn: seed and adjoint are two arguments; give the seed, the adjoint of the final state, as 1.0 or "
                "as `seed(x)`, before the adjoint");
  return detail::refuse_gradient<Step, X0, Adjoint>();
}

}  // namespace cairn
