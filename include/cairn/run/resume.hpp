// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file resume.hpp  Resumes a sweep that was stopped, from what its store still holds.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/door/detail/adjoint_checks.hpp>
#include <cairn/run/form/detail/open_loop.hpp>
#include <cairn/run/gradient.hpp>

namespace cairn {

/// In place of a plan's fingerprint that was not noted.
struct no_fingerprint {};

/// Where a stopped sweep is to continue: steps [0, open) are still to be reversed, and `bar` belongs to state `open`.
/// What a new process cannot know is noted beside it: the number of steps, the `fingerprint` of the plan, and the hash
/// of the parameters of a `wrt`. A resume with another one is refused.
template <class Bar, class Fingerprint = no_fingerprint>
struct resume_point {
  step_index open;  ///< steps [0, open) are still to be reversed
  Bar bar;  ///< the adjoint of state `open`
  step_index steps = -1;  ///< of the whole loop; -1 if it was not noted
  [[no_unique_address]] Fingerprint plan = {};  ///< `cairn::fingerprint(plan)`, of `<cairn/schedule/fingerprint.hpp>`
  std::uint64_t params = 0;  ///< `work.params_hash()` of the sweep that stopped; 0 if it was not noted
};
/// Deduces the type of the adjoint.
template <class Bar> resume_point(step_index, Bar) -> resume_point<Bar>;
/// With the number of steps.
template <class Bar> resume_point(step_index, Bar, step_index) -> resume_point<Bar>;
/// With the fingerprint of the plan.
template <class Bar, class Fingerprint>
resume_point(step_index, Bar, step_index, Fingerprint) -> resume_point<Bar, Fingerprint>;
/// With the hash of the parameters.
template <class Bar, class Fingerprint>
resume_point(step_index, Bar, step_index, Fingerprint, std::uint64_t) -> resume_point<Bar, Fingerprint>;

namespace detail {

template <class T> inline constexpr bool is_resume_point = false;
template <class Bar, class Fingerprint> inline constexpr bool is_resume_point<resume_point<Bar, Fingerprint>> = true;

template <class Workspace, class State, class Plan>
consteval bool check_stopped_workspace() {
  constexpr bool fits = is_workspace_for<Workspace, State, Plan>;
  static_assert(fits,
                "cairn: the sixth argument of resume must be the workspace of the sweep that stopped, or another one "
                "for the same state and plan");
  return fits;
}

/// \throws invalid_call   if the position was noted for another loop or plan
template <class Bar, class Fingerprint, schedule Plan>
void check_noted(resume_point<Bar, Fingerprint> const& position, Plan const& plan) {
  step_index const steps = plan.steps();
  if (position.steps >= 0 && position.steps != steps)
    throw invalid_call{"cairn::resume",
                       "the sweep that stopped had another number of steps",
                       {{"its steps", position.steps}, {"steps", steps}},
                       "resume it with the plan with which it began"};
  if constexpr (!std::is_same_v<Fingerprint, no_fingerprint>) {
    if (!(fingerprint(plan) == position.plan))  // found by the type of the one that was noted
      throw invalid_call{"cairn::resume",
                         "the sweep that stopped had another plan: its fingerprint is not that of this one",
                         {{"steps", steps}, {"slots", slot_index(plan.slots())}},
                         "resume it with the plan with which it began"};
  }
}

/// \param asked  its workspace is that of the sweep that stopped   \param limit  of a budget, in memory
template <class State, class Asked, class PlanGiven, class Step, class X0, class Bar, class Fingerprint, class Adjoint,
          class Limit = no_limit>
Bar rest_of_sweep(Asked const& asked, Step& step, X0& x0, PlanGiven const& given,
                  resume_point<Bar, Fingerprint> position, Adjoint& adjoint, Limit const& limit = {}) {
  static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
  if constexpr (schedule<PlanGiven>) check_noted(position, given);
  plan_in_workspace<PlanGiven> const plan{given};
  step_index const steps = schedule<PlanGiven> ? step_index(plan.steps()) : position.steps;
  check_adjoint_fits("cairn::resume", plan.leaf(), tapes_of(plan), shape.form);
  check_plans_inside<State, Bar>(adjoint);
  auto&& observer = asked.watching();
  sweep run{asked.work, "cairn::resume", asked.options};
  run.keep_within(limit);
  run.begin_again(x0, plan, {steps, position.open, true}, {shape_of_step<Step, State>().form, shape.form});
  reversal<State, Step, Adjoint, Bar, false, is_limit<Limit>> user{step, adjoint, run.tapes(), 0};
  emplace_by(user.bar, [&] { return taken_out_by([&]() -> Bar&& { return std::move(position.bar); }); });
  run.bring_live(step);
  run.template run_plan<true>(step, user, observer);
  run.ended();
  end_report(observer, steps, plan.slots(), asked.work.step_calls(), user);
  return std::move(*user.bar);
}

/// The way forward of a loop of known length, which the plan has.
struct way_by_plan {};
/// A sweep that goes on from the last state before its turn that is still held.
/// \param forward  `way_by_plan`, or `forward_until`
template <class Bar, class State, class Asked, class Step, class X0, class Plan, class Seed, class Adjoint,
          class Limit = no_limit, class Forward = way_by_plan>
Bar sweep_from_the_way(Asked const& asked, Step& step, X0& x0, Plan const& plan, Seed&& seed, Adjoint& adjoint,
                       Limit const& limit = {}, Forward const& forward = {}) {
  static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
  static constexpr sweep_form form{shape_of_step<Step, State>().form, shape.form};
  static constexpr bool known = std::is_same_v<Forward, way_by_plan>;
  check_adjoint_fits("cairn::resume", plan.leaf(), tapes_of(plan), shape.form);
  check_plans_inside<State, Bar>(adjoint);
  auto&& observer = asked.watching();
  sweep run{asked.work, "cairn::resume", asked.options};
  run.keep_within(limit);
  if constexpr (known) run.begin_again(x0, plan, {step_index(plan.steps()), 0, false}, form);
  else forward.template go_on<State>(run, x0, plan, form, step, observer);
  reversal<State, Step, Adjoint, Bar, known, is_limit<Limit>> user{step, adjoint, run.tapes(), 0};
  if constexpr (known) {
    run.bring_live(step);
    run.template run_plan<true>(step, user, observer);
  }
  run.template turn_back<shape.form, Bar>(user, std::forward<Seed>(seed));
  run.template run_plan<true>(step, user, observer);
  run.ended();
  end_report(observer, run.steps(), plan.slots(), asked.work.step_calls(), user);
  return std::move(*user.bar);
}

/// The parameters with which a stopped sweep goes on; without a `wrt` none.
/// \param noted  their hash, as the position has it
/// \throws invalid_call   if they are not those of the sweep that stopped, as far as workspace or position know
template <class Workspace, class Wrt>
[[nodiscard]] auto params_to_resume(Workspace& work, Wrt const& by, std::uint64_t noted) {
  bool const stopped = params_in::stopped(work);
  std::uint64_t const known = stopped ? params_in::hash(work) : 0;
  if constexpr (!is_wrt<Wrt>) {
    if (noted != 0 || known != 0)
      throw invalid_call{"cairn::resume",
                         "the sweep that stopped had parameters, and this one has none",
                         {},
                         "give it cairn::wrt{p, dp} with those parameters"};
    return kept_wrt<Wrt>{by};
  } else {
    watched_params const watch{by.p};
    if ((noted != 0 && noted != watch.hash()) || (known != 0 && known != watch.hash()))
      throw invalid_call{"cairn::resume",
                         "the parameters p of cairn::wrt are not those of the sweep that stopped",
                         {},
                         "resume it with the parameters with which it began"};
    params_in::hash(work) = watch.hash();
    return watch;
  }
}

/// What every `resume` asks of its arguments.
template <class StepF, class X0, class Plan, class AdjointF, class Bar, class Wrt, class Workspace, class... Last>
consteval bool check_resumed() {
  using State = std::remove_cvref_t<X0>;
  if constexpr (!check_forward<StepF, State, Plan, is_open_plan<Plan>, Wrt>()) return false;
  else if constexpr (!check_begun<X0, Wrt, Plan, Workspace&, Last...>()) return false;
  else if constexpr (!check_adjoint<AdjointF, State, Bar, Wrt>()) return false;
  else if constexpr (!check_last<false, StepF, State, Plan, Last...>()) return false;
  else if constexpr (!check_leaves<AdjointF, shapes_with<Wrt>::template adjoint<AdjointF, State, Bar>().form, State, Last...>())
    return false;
  else if constexpr (!check_begins<!keeps_runs<Workspace>>()) return false;
  else return check_stopped_workspace<Workspace, State, Plan>();
}

/// Calls run(step, adjoint) with the parameters bound, which may not change meanwhile.
/// \param noted  the hash of the parameters with which the sweep began; 0 if it is not known
template <class Bar, class State, class Asked, class Step, class X0, class Adjoint, class Run>
Bar resumed(Asked const& asked, std::uint64_t noted, Step&& step, X0 const& x0, Adjoint& adjoint, Run const& run) {
  auto const& by = asked.by;
  auto const watch = params_to_resume(asked.work, by, noted);
  predict_nothing(asked, x0);
  auto const as_runs_keep_it = [&]<class StepNow>(StepNow&& now, auto& back) -> Bar {
    auto&& kept = as_kept<kept_step<std::decay_t<StepNow>, State>>(std::forward<StepNow>(now));
    return run(kept, back);
  };
  if constexpr (!is_wrt<decltype(asked.by)>) return as_runs_keep_it(std::forward<Step>(step), adjoint);
  else {
    auto back = bind_adjoint<State, Bar>(adjoint, by.p, by.dp);
    return watch.during("cairn::resume", [&] { return as_runs_keep_it(bind_step<State>(step, by.p), back); });
  }
}

}  // namespace detail

/// The adjoint of the initial state for a sweep of `plan` that stopped at `position`, by an exception or with its
/// process.
///
/// Goes on where the plan was, with the states that the workspace's store still holds, and gives the same bits as a sweep
/// that was never stopped. A store that outlives its sweeps, or may lose states, goes on with the plan itself, and what
/// is missing is made again when the plan asks for it; otherwise, and for plans with tapes, the rest is planned anew
/// around the states that are held. If the store lost everything, this costs the steps of a new sweep over
/// [0, open). Before any step runs it checks that x0 is the initial state: by a hash that the workspace stores when a
/// sweep stops, or else by the slot of state 0 of a store that outlives its sweeps. The check is not possible if
/// neither has state 0, if not all bytes of the state's type are visible to `visit_buffers`, or after the `reverse` of
/// a kept run. Whatever step and adjoint read besides the state, such as controls, must still be what it was at the
/// start: with others the result is the derivative of neither loop, and nothing can tell.
/// \param x0  the initial state, as at the first start   \param position  what a `hooked` adjoint noted last
/// \param plan  the plan of the sweep that stopped, also an open one of `checkpointed_while`: then the number of steps
///   comes from the workspace of its run, or from the position
/// \param work  the workspace of the stopped sweep, or one whose store still holds its states
/// \param last  an observer, `sweep_options`, `wrt{p, dp}` and a `sweep_report` as for `gradient`, in any order; the
///   report predicts nothing; options need a workspace
///   with options. dp holds the sum that was noted with the position, and goes on from it: adding the sums of two halves
///   would give other bits
/// \throws invalid_call   unless 0 <= open <= n, x0 is the initial state, and the plan has the steps, slots and leaf of
///   the sweep that stopped in the workspace, and the steps and the fingerprint that were noted; and if p is not that
///   of the sweep that stopped, as far as the workspace or the position knows its hash; otherwise as `gradient`
template <class Step, class X0, detail::plan_of_sweeps PlanGiven, class Bar, class Fingerprint, class Adjoint,
          class Workspace, class... Last>
[[nodiscard]] auto resume(Step&& step, X0&& x0, PlanGiven const& plan, resume_point<Bar, Fingerprint> position,
                          Adjoint&& adjoint, Workspace& work, Last&&... last) {
  using State = std::remove_cvref_t<X0>;
  using Plan = detail::plan_in_workspace<PlanGiven>;
  using Wrt = detail::wrt_in<State, Plan, Last...>;
  if constexpr (!detail::check_resumed<std::remove_reference_t<Step>, X0, Plan, std::remove_reference_t<Adjoint>, Bar, Wrt,
                                       Workspace, Last...>())
    return detail::refuse<typename detail::refused_bar<Bar, State>::type>();
  else {
    auto const asked = detail::sort_last<State, Plan>(work, std::forward<Last>(last)...);
    return detail::resumed<Bar, State>(
        asked, position.params, std::forward<Step>(step), x0, adjoint, [&](auto& run_step, auto& run_back) {
          return detail::rest_of_sweep<State>(asked, run_step, x0, plan, std::move(position), run_back);
        });
  }
}

/// The same for a sweep that stopped anywhere, also before its turn: goes on from the last state that is still held.
/// \param seed  as for `gradient`; dp of a `wrt` begins with zero
template <class Step, class X0, detail::plan_of_sweeps PlanGiven, class Seed, class Adjoint, class Workspace, class... Last>
  requires(!detail::is_resume_point<std::remove_cvref_t<Seed>>)
[[nodiscard]] auto resume(Step&& step, X0&& x0, PlanGiven const& plan, Seed&& seed, Adjoint&& adjoint, Workspace& work,
                          Last&&... last) {
  using State = std::remove_cvref_t<X0>;
  using Wrt = detail::wrt_in<State, PlanGiven, Last...>;
  using Bar = detail::bar_type_with<Seed, State, Wrt>;
  constexpr bool known = schedule<PlanGiven>;
  static_assert(
      known,
      "cairn: a loop of unknown length that stopped on its way forward needs its condition to go on; give resume "
      "cairn::run_while{keep_going, plan} in the plan's place, or the position that a hook noted on its way back, "
      "cairn::resume_point{open, bar, steps}");
  if constexpr (!known) return detail::refuse_gradient<Step, X0, Seed>();
  else if constexpr (!detail::check_resumed<std::remove_reference_t<Step>, X0, PlanGiven, std::remove_reference_t<Adjoint>,
                                            Bar, Wrt, Workspace, Last...>())
    return detail::refuse_gradient<Step, X0, Seed>();
  else {
    auto const asked = detail::sort_last<State, PlanGiven>(work, std::forward<Last>(last)...);
    return detail::resumed<Bar, State>(
        asked, 0, std::forward<Step>(step), x0, adjoint, [&](auto& run_step, auto& run_back) {
          auto const& by = detail::params_of(asked.by);
          detail::set_zero(by.p, by.dp);
          return detail::sweep_from_the_way<Bar, State>(
              asked, run_step, x0, plan, detail::bind_seed<State>(std::forward<Seed>(seed), by.p, by.dp), run_back);
        });
  }
}

}  // namespace cairn
