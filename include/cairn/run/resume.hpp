// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file resume.hpp  Resumes a sweep that was stopped, from what its store still holds.
#include <type_traits>
#include <utility>
#include <cairn/run/gradient.hpp>

namespace cairn {

/// Where a stopped sweep is to continue: steps [0, open) are still to be reversed, and `bar` belongs to state `open`.
template <class Bar>
struct resume_point {
  step_index open;  ///< steps [0, open) are still to be reversed
  Bar bar;  ///< the adjoint of state `open`
};
/// Deduces the type of the adjoint.
template <class Bar> resume_point(step_index, Bar) -> resume_point<Bar>;

namespace detail {

template <class Workspace, class State, class Plan>
[[nodiscard]] consteval bool check_stopped_workspace() {
  constexpr bool fits = is_workspace_for<Workspace, State, Plan>;
  static_assert(fits,
                "cairn: the sixth argument of resume must be the workspace of the sweep that stopped, or another one "
                "for the same state and plan");
  return fits;
}

template <class Bar, class State>
auto refuse_rest() {
  return refuse<typename refused_bar<Bar, State>::type>();
}

template <class State, class Step, class X0, class Plan, class Bar, class Adjoint, class Work, class Observer,
          class Options>
Bar rest_of_sweep(Step& step, X0& x0, Plan const& plan, resume_point<Bar> position, Adjoint& adjoint, Work& work,
                  Observer& observer, Options options) {
  static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
  if (position.open < 0 || position.open > plan.steps())
    throw invalid_call{"cairn::resume",
                       "the position is outside the loop",
                       {{"open", position.open}, {"steps", plan.steps()}},
                       "open is the number of steps still to be reversed"};
  check_adjoint_fits("cairn::resume", plan.leaf(), tapes_of(plan), shape.form);
  sweep run{work, "cairn::resume", options};
  run.begin_again(x0, plan, position.open, {shape_of_step<Step, State>().form, shape.form});
  reversal<State, Step, Adjoint, Bar, false> user{step, adjoint, run.tapes(), 0};
  emplace_by(user.bar, [&] { return taken_out_by([&]() -> Bar&& { return std::move(position.bar); }); });
  run.run_rest(step, user, observer);
  run.ended();
  return std::move(*user.bar);
}

}  // namespace detail

/// The adjoint of the initial state for a sweep of `plan` that stopped at `position`, by an exception or with its
/// process.
///
/// Replans the rest around the states that the workspace's store still holds, recomputes what is missing, and gives the
/// same bits as a sweep that was never stopped. If the store lost everything, this costs the steps of a new sweep over
/// [0, open). Before any step runs it checks that x0 is the initial state: by a hash that the workspace stores when a
/// sweep stops, or else by the slot of state 0 of a store that outlives its sweeps. The check is not possible if
/// neither has state 0, if not all bytes of the state's type are visible to `visit_buffers`, or after the `reverse` of
/// a kept run.
/// \param x0  the initial state, as at the first start   \param position  what a `hooked` adjoint noted last
/// \param work  the workspace of the stopped sweep, or one whose store still holds its states
/// \param options  `sweep_options` as for `gradient`, also in the observer's place; needs a workspace with options
/// \throws invalid_call   unless 0 <= open <= n and x0 is the initial state; otherwise as `gradient`
template <class Step, class X0, schedule Plan, class Bar, class Adjoint, class Workspace, class Observer = no_observer,
          class Options = no_options>
[[nodiscard]] auto resume(Step&& step, X0&& x0, Plan const& plan, resume_point<Bar> position, Adjoint&& adjoint,
                          Workspace& work, Observer&& observer = {}, Options options = {}) {
  using State = std::remove_cvref_t<X0>;
  using StepF = std::remove_reference_t<Step>;
  using AdjointF = std::remove_reference_t<Adjoint>;
  using Settings = detail::options_asked<State, Plan, Workspace, Observer, Options>;
  if constexpr (!detail::check_forward<StepF, State, Plan>()) return detail::refuse_rest<Bar, State>();
  else if constexpr (!detail::check_initial<X0>()) return detail::refuse_rest<Bar, State>();
  else if constexpr (!detail::check_adjoint<AdjointF, State, Bar>()) return detail::refuse_rest<Bar, State>();
  else if constexpr (!detail::check_sweep_options<State, Options, Settings>()) return detail::refuse_rest<Bar, State>();
  else if constexpr (!detail::check_stopped_workspace<Workspace, State, Plan>())
    return detail::refuse_rest<Bar, State>();
  else {
    auto const run = [&](Workspace& used, auto&& watching, auto asked) {
      return detail::rest_of_sweep<State>(step, x0, plan, std::move(position), adjoint, used, watching, asked);
    };
    return detail::in_their_places<State, Plan>(run, work, std::forward<Observer>(observer), options);
  }
}

}  // namespace cairn
