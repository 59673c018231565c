// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file gradient.hpp  The adjoint of a whole loop in one call.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/adjoint_checks.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/run/form/detail/bound_seed.hpp>
#include <cairn/run/form/detail/last_arguments.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/plans_inside.hpp>
#include <cairn/run/form/detail/reversal.hpp>
#include <cairn/run/sweep/detail/given_parts.hpp>
#include <cairn/run/sweep/detail/plan_place.hpp>
#include <cairn/run/sweep/detail/sweep.hpp>
#include <cairn/run/sweep/workspace.hpp>

/// Reverse-mode differentiation of long loops in bounded memory. A *plan* is a schedule with its steps and slots. A
/// verb such as `gradient` runs it over your step and your adjoint. `estimate` predicts its cost before any step runs.
/// Begin with \ref start. `cairn/cairn.hpp` has the verbs and the schedules of most loops, `cairn/planning.hpp` all
/// schedules and the planners, `cairn/chains.hpp` chains and graphs. Adapters are in `cairn/adapt/`.
namespace cairn {
namespace detail {

/// Detects a number of checkpoints after the number of steps, which moves seed and adjoint one place back.
template <class PlanGiven, class Count, class Seed, class Adjoint, class StateType>
inline constexpr bool counts_checkpoints = [] {
  if constexpr (std::is_integral_v<PlanGiven> && std::is_integral_v<Count> && !is_options<Adjoint> && !is_wrt<Adjoint>)
    return shape_of_adjoint<std::remove_reference_t<Adjoint>, StateType, bar_type<Seed, StateType>>().wrong == fault::none;
  else return false;
}();
template <bool Counted>
consteval bool check_no_count() {
  static_assert(!Counted,
                "cairn: a number of checkpoints is a part of the plan; give cairn::uniform{n, {.checkpoints = "
                "count}} as the third argument");
  return !Counted;
}

template <class Adjoint>
consteval bool check_seeded() {
  constexpr bool seeded = std::is_void_v<Adjoint>;
  static_assert(seeded,
                "cairn: seed and adjoint are two arguments; give the seed, the adjoint of the final state, as 1.0 or "
                "as `seed(x)`, before the adjoint");
  return seeded;
}
/// A seed takes the final state, p and dp in their own types.
template <class Seed, class State, class Wrt>
consteval bool check_seed() {
  using p = typename params_in_wrt<Wrt>::p;
  using dp = typename params_in_wrt<Wrt>::dp;
  constexpr call_with<may_change<std::remove_reference_t<lent_state<State>>>> x;
  constexpr fault wrong = [&] {
    if constexpr (range_like<std::remove_cv_t<Seed>>) return fault::none;
    else {
      if constexpr (is_wrt<Wrt>) {  // apart: a generic adjoint in the seed's place is not asked
        if constexpr (calls<Seed, lent_state<State>, p const&, dp&>)
          return fault_of_call<Seed>(x + call_with<reads_params<p>, adds_to<dp>>{});
        else if constexpr (calls<Seed, lent_state<State>, p const&>)
          return fault_of_call<Seed>(x + call_with<reads_params<p>>{});
      }
      if constexpr (seed_function<Seed, State>) return fault_of_call<Seed>(x);
      else return fault::none;
    }
  }();
  constexpr bool adds = wrong != fault::sum, takes = !adds || wrong == fault::none;
  static_assert(adds, "cairn: a seed that takes dp adds to it, so it takes dp by a reference that is not const");
  static_assert(takes,
                "cairn: the seed takes the final state or p as a number of a narrower type, which would truncate it; "
                "take its own type");
  return wrong == fault::none;
}
template <class Step, class X0, class Seed>
auto refuse_gradient() {
  return refuse<typename refused_bar<
      Seed, typename refused_state<std::remove_cvref_t<Step>, std::remove_cvref_t<X0>>::type>::type>();
}

/// A sweep whose functions are bound.   \param plan  a schedule   \param limit  of a budget
/// \param parts  what the caller gave, for a run on disk
template <class Bar, class State, class Asked, class Parts, class Limit, class Step, class X0, class Plan, class Seed,
          class Adjoint>
Bar one_sweep(Asked const& asked, Parts const& parts,
              Limit const& limit, Step& step, X0&& x0, Plan const& plan, Seed&& seed,
              Adjoint& adjoint) {
  if constexpr (Asked::on_disk) {
    return sweep_of<decltype(asked.work)>::template sweep<Bar, State>(
        asked.work, one_process{}, asked, within(parts, limit), step, x0, plan, std::forward<Seed>(seed), adjoint);
  } else {
    static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
    using way_back = reversal<State, Step, Adjoint, Bar, true, is_limit<Limit>>;
    check_adjoint_fits("cairn::gradient", plan.leaf(), tapes_of(plan), shape.form, tapes_restart(plan),
                       way_back::can_restart);
    check_plans_inside<State, Bar>(adjoint);
    auto&& work = workspace_from<State, Plan, decltype(asked.options)>(asked.work);
    auto&& observer = asked.watching();
    sweep run{work, "cairn::gradient", asked.options};
    run.keep_within(limit);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(asked.work)>, own_workspace>) run.is_last();
    run.begin(step, std::forward<X0>(x0), plan, {shape_of_step<Step, State>().form, shape.form});
    way_back user{step, adjoint, run.tapes(), tapes_of(plan)};
    run.run_plan(step, user, observer);
    run.template turn_back<shape.form, Bar>(user, std::forward<Seed>(seed));
    run.run_plan(step, user, observer);
    run.ended();
    end_report(observer, plan.steps(), plan.slots(), work.step_calls(), user);
    return std::move(*user.bar);
  }
}

/// What the sweep of a plan holds; notes it in a report, if one is asked for.
/// \tparam PlanGiven  in the place of the plan
/// \param values  see `counted_values`   \param measured  if the plan was: what its sweep holds
template <class PlanGiven, class Asked, class Plan, class Values>
sweep_parts predict(Asked const& asked, Plan const& plan,
                    Values const& values, sweep_parts const& measured) {
  sweep_parts parts = measured;
  if constexpr (Asked::reports || any_budget<PlanGiven>) {
    slot_index in_memory = plan.slots();
    wide files = 0;
    if constexpr (Asked::on_disk) {
      in_memory = slots_in_memory(plan) + sweep_of<decltype(asked.work)>::states_behind(asked.work);
      files = sweep_of<decltype(asked.work)>::memory_bytes(asked.work, plan.slots(), values.form.keeps_run);
    }
    if constexpr (!measured_budget<PlanGiven>) {
      parts = values.predicted(plan, in_memory);
      // A plan of the caller's is the caller's, but for its copy on disk.
      if constexpr ((any_budget<PlanGiven> || Asked::on_disk) && requires { plan.own_bytes(); })
        parts.plan += plan.own_bytes();
    }
    parts.files = files;
  }
  if constexpr (Asked::reports) {
    note_predicted(*asked.report, parts);
    if constexpr (Asked::on_disk)  // the rest is counted with the states
      asked.report->counted.files -= sweep_of<decltype(asked.work)>::shown_bytes(asked.work);
  }
  return parts;
}
/// What a sweep within a budget keeps to, if something grows.   \param parts  as predicted
template <class PlanGiven, class Values>
[[nodiscard]] auto limit_of(PlanGiven const& place, Values const& values,
                            sweep_parts const& parts) {
  if constexpr (!any_budget<PlanGiven>) return no_limit{};
  else {
    wide const state = values.sizes(steps_of(place), 1).state;
    if constexpr (measured_budget<PlanGiven>) return limited_to(place.budget.bytes.count(), parts, state);
    else {
      auto limit = limited_to(place.bytes.count(), parts, state);
      if constexpr (requires { PlanGiven::has_leaves; }) {  // may grow into half of what is left
        wide const more = limit.budget > parts.total() ? (limit.budget - parts.total()) / 2 : 0;
        limit.beside += more, limit.tapes += more;
      }
      return limit;
    }
  }
}
/// The same where nothing can be predicted.
template <class Asked, class State>
void predict_nothing(Asked const& asked, State const& x0) {
  if constexpr (requires { asked.options.ahead; }) asked.options.ahead_for(x0);
  if constexpr (Asked::reports) {
    sweep_parts nothing;
    sweep_parts::each(nothing, [](char const*, wide& part) { part = unknown_bytes; });
    note_predicted(*asked.report, nothing);
  }
}

/// Notes the parameters of a sweep in its workspace, if it was given one, for `resume`.
template <class State, class Plan, class Work>
void note_params(Work& work, std::uint64_t hash) {
  if constexpr (is_workspace_for<Work, State, Plan>) params_in::hash(work) = hash;
}

/// Everything after the checks of `gradient`.
template <class Bar, class State, class Step, class X0, class Place, class Seed, class Adjoint, class Asked>
Bar gradient_as(Asked const& asked, Step& step, X0&& x0, Place const& place, Seed&& seed,
                Adjoint& adjoint) {
  using Plan = plan_type<Place>;
  auto const& by = params_of(asked.by);
  using Params = std::remove_cvref_t<decltype(by.p)>;
  using DP = std::remove_reference_t<decltype(by.dp)>;
  static constexpr sweep_form form =
      form_of<loop_step<Step&, State, Params, no_losses>, Adjoint, State, Bar, Params, DP>();
  decltype(auto) run = [&]() -> decltype(auto) {  // a step without p is called as it is
    if constexpr (no_p<Params>) return (step);
    else return bind_step<State>(step, by.p);
  }();
  auto back = bind_adjoint<State, Bar>(adjoint, by.p, by.dp);
  auto const values = values_for<Bar>(run, std::as_const(x0), seed, back, asked.by, asked.options, form);
  sweep_parts measured;
  Plan const& plan = [&]() -> decltype(auto) {
    if constexpr (!measured_budget<Place>) return values.plan_from(place, asked);
    else {
      auto scratch = copy_of(by.dp);  // a probe never adds to the caller's sum
      auto probed = bind_adjoint<State, Bar>(adjoint, by.p, scratch);
      auto&& probed_seed = bind_seed<State>(seed, by.p, scratch);
      return place.template plan_for_loop<State, Bar>(run, x0, probed_seed, probed, form,
                                                      values.others(steps_of(place)), asked.options,
                                                      measured, values.beside(asked));
    }
  }();
  auto const limit = limit_of(place, values, predict<Place>(asked, plan, values, measured));
  watched_params const watch{by.p};
  note_params<State, Plan>(asked.work, watch.hash());
  set_zero(by.p, by.dp);
  given_parts<Step, Adjoint, std::remove_reference_t<Seed>, Params, DP> parts{
      __builtin_addressof(step), __builtin_addressof(adjoint), __builtin_addressof(seed), &by.p, &by.dp};
  [[maybe_unused]] bool seed_goes = false;
  if constexpr (Asked::on_disk) parts.seed_goes = &seed_goes;
  auto&& from = bind_seed<State>(std::forward<Seed>(seed), by.p, by.dp);
  if constexpr (no_p<Params>)
    return one_sweep<Bar, State>(asked, parts, limit, run, std::forward<X0>(x0), plan,
                                 std::forward<Seed>(from), back);
  else {
    auto const at_seed = [&](lent_state<State> x) -> decltype(auto) {
      watch.check("cairn::gradient");
      if constexpr (seed_function<std::remove_reference_t<decltype(from)>, State>)
        return call_lending(from, x);
      else if constexpr (Asked::on_disk)  // one that begins anew asks again
        return seed_goes ? Bar(std::forward<Seed>(seed)) : Bar(taken(std::as_const(seed)));
      else return Bar(std::forward<Seed>(seed));
    };
    try {
      Bar bar =
          one_sweep<Bar, State>(asked, parts, limit, run, std::forward<X0>(x0), plan, at_seed, back);
      watch.check("cairn::gradient");
      return bar;
    } catch (nondeterminism_error const&) {
      watch.check("cairn::gradient");  // it would be the cause
      throw;
    }
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
  else if constexpr (!detail::check_begun<X0, Wrt, Plan, Last...>()) return detail::refuse_gradient<Asked, X0, Seed>();
  else if constexpr (!detail::check_no_count<detail::counts_checkpoints<
                         PlanGiven, std::remove_cvref_t<Seed>, Adjoint, detail::first_of_last<Last...>, State>>())
    return detail::refuse_gradient<Asked, X0, Adjoint>();
  else if constexpr (!detail::check_seed<std::remove_reference_t<Seed>, State, Wrt>())
    return detail::refuse_gradient<Asked, X0, Seed>();
  else if constexpr (!detail::check_adjoint<AdjointF, State, detail::bar_type_with<Seed, State, Wrt>, Wrt>())
    return detail::refuse_gradient<Asked, X0, Seed>();
  else if constexpr (!detail::check_last<true, StepF, State, Plan, Last...>())
    return detail::refuse_gradient<Asked, X0, Seed>();
  else {
    using Bar = detail::bar_type_with<Seed, State, Wrt>;
    constexpr adjoint_form form = detail::shapes_with<Wrt>::template adjoint<AdjointF, State, Bar>().form;
    if constexpr (!detail::check_leaves<AdjointF, form, State, Last...>() ||
                  !detail::check_counted<State, Bar, std::remove_cvref_t<Seed>, form, PlanGiven, Wrt>())
      return detail::refuse_gradient<Asked, X0, Seed>();
    else
      return detail::gradient_as<Bar, State>(detail::sort_last<State, Plan>(std::forward<Last>(last)...), step,
                                             std::forward<X0>(x0), plan, std::forward<Seed>(seed), adjoint);
  }
}

/// Refused: the seed is missing.
template <class Step, class X0, class PlanGiven, class Adjoint>
auto gradient(Step&&, X0&&, PlanGiven const&, Adjoint&&) {
  (void)detail::check_seeded<Adjoint>();
  return detail::refuse_gradient<Step, X0, Adjoint>();
}

}  // namespace cairn
