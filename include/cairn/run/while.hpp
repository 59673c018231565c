// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file while.hpp  A loop whose length is known only when it ends: solvers with adaptive steps, iterations to a
/// tolerance, early stops.
#include <type_traits>
#include <utility>
#include <cairn/core/open_schedule.hpp>
#include <cairn/run/detail/open_loop.hpp>
#include <cairn/run/loop.hpp>

namespace cairn {

/// A workspace for `checkpointed_while` with `plan` over states of type State; allocates with the first loop.
template <class State, open_schedule Plan>
[[nodiscard]] workspace<State, detail::open_plan<Plan>> workspace_for(Plan const&) { return {}; }
/// The same with checkpoints in the caller's store, which must outlive the workspace.
template <class State, open_schedule Plan, class Store>
[[nodiscard]] workspace<State, detail::open_plan<Plan>, Store&> workspace_for(Plan const&, Store& store) {
  return workspace<State, detail::open_plan<Plan>, Store&>{store};
}
/// A workspace whose loops have options.
template <class State, open_schedule Plan>
[[nodiscard]] workspace<State, detail::open_plan<Plan>, memory_store, sweep_options> workspace_for(
    Plan const& plan, sweep_options options) {
  return workspace_for<State>(detail::open_plan<Plan>{plan}, options);
}
/// The same with checkpoints in the caller's store, which must outlive the workspace.
template <class State, open_schedule Plan, class Store>
[[nodiscard]] workspace<State, detail::open_plan<Plan>, Store&, sweep_options> workspace_for(Plan const& plan,
                                                                                             Store& store,
                                                                                             sweep_options options) {
  return workspace_for<State>(detail::open_plan<Plan>{plan}, store, options);
}

namespace detail {

/// Converts to bool, and is neither a pointer nor a floating-point number.
template <class R>
inline constexpr bool answers_bool = std::is_convertible_v<R, bool> && !std::is_pointer_v<std::decay_t<R>> &&
                                     !std::is_floating_point_v<std::remove_cvref_t<R>>;

/// The checks of the plan, and of the function that ends the loop.
template <class State, class P, class KeepGoing>
[[nodiscard]] consteval bool check_while() {
  constexpr bool open = open_schedule<P>, fixed = plan_or_steps<P>;
  static_assert(!fixed,
                "cairn: this plan is for a loop of known length; run it with cairn::checkpointed_loop, or give "
                "cairn::online{slots} and let the loop end when it ends");
  static_assert(open || fixed,
                "cairn: the plan of checkpointed_while must be cairn::online{slots}, or have slots() and walk(), which "
                "gives an open_cursor");
  if constexpr (!open) return false;
  else {
    constexpr bool indexed = calls<KeepGoing, State const&, step_index const&>,
                   asks = indexed || calls<KeepGoing, State const&>;
    constexpr bool answers = [] {
      if constexpr (indexed) return answers_bool<call_result<KeepGoing, State const&, step_index const&>>;
      else if constexpr (asks) return answers_bool<call_result<KeepGoing, State const&>>;
      else return false;
    }();
    static_assert(answers,
                  "cairn: keep_going must be `keep_going(x)` or `keep_going(x, i)`, with x const&, and return bool");
    return answers;
  }
}

template <class Work, class State, class Plan>
[[nodiscard]] consteval bool check_fifth_argument() {
  constexpr bool fits = takes_work<Work, State, Plan>;
  static_assert(fits,
                "cairn: the fifth argument must be a workspace for this state and plan, a store, an observer, or "
                "cairn::sweep_options");
  return fits;
}

}  // namespace detail

/// Runs `x = step(x, i)`, i = 0, 1, ... as long as `keep_going` returns true, keeps the checkpoints of an online plan,
/// and returns a run that can be reversed or walked backwards, like that of `checkpointed_loop`; `steps()` is the
/// number of steps taken.
///
/// \param step  as for `checkpointed_loop`. An in-place step may also return bool: false ends the loop after this step,
///   whatever `keep_going` returns
/// \param x0  the initial state; an rvalue is moved from
/// \param keep_going  `keep_going(x)` or `keep_going(x, i)`, x const&: called exactly once for each state 0..n, in
///   order
/// \param plan  `online{slots}`, or another `open_schedule`
/// \param work  a workspace of `workspace_for<State>(plan)`, or a store, to be reused; must outlive the run
/// \param observer  as for `gradient`; an lvalue must outlive the run. A step ahead of a candidate runs before the
///   candidate's own actions; an advance that the end of the loop cuts short is shown with the steps that ran
/// \param options  `sweep_options`, always the last argument: may directly follow the plan, or take the observer's
///   place. A replay check hashes every state of the forward run, because each may be the last but one; for an object
///   it takes a snapshot of each
/// Step calls: each step once in the forward run, and with the first reverse `estimate(online.stopping_at(n,
/// last_is_at_hand)).step_calls`, in which the last state but one is at hand unless the step is in place. Memory:
/// `peak_states` and `peak_bytes` of that estimate, with `form.keeps_run`; before the length is known, at most
/// `slots() + working_frames(form, 1)` states.
/// \ingroup start
template <class Step, class X0, class KeepGoing, class P, class Work = detail::own_workspace,
          class Observer = no_observer, class Options = no_options>
[[nodiscard]] auto checkpointed_while(Step&& step, X0&& x0, KeepGoing&& keep_going, P const& plan, Work&& work = {},
                                      Observer&& observer = {}, Options options = {}) {
  using State = std::remove_cvref_t<X0>;
  using StepF = std::decay_t<Step>;
  using Settings = detail::options_asked<State, detail::open_plan<P>, Work, Observer, Options>;
  if constexpr (!detail::check_forward<StepF, State, step_index, true>()) return detail::refuse_run<Step, X0>();
  else if constexpr (!detail::check_initial<X0>()) return detail::refuse_run<Step, X0>();
  else if constexpr (!detail::check_while<State, P, std::remove_reference_t<KeepGoing>>())
    return detail::refuse_run<Step, X0>();
  else if constexpr (!detail::check_sweep_options<State, Options, Settings>()) return detail::refuse_run<Step, X0>();
  else if constexpr (!detail::check_fifth_argument<Work, State, detail::open_plan<P>>())
    return detail::refuse_run<Step, X0>();
  else {
    using Plan = detail::open_plan<P>;
    using Kept = detail::kept_step<StepF, State>;
    return detail::run_in_workspace<Kept, State, Plan>(detail::forward_until{keep_going},
                                               detail::as_kept<Kept>(std::forward<Step>(step)), std::forward<X0>(x0),
                                               Plan{plan}, std::forward<Work>(work), std::forward<Observer>(observer),
                                               options);
  }
}

}  // namespace cairn
