// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file while.hpp  A loop whose length is known only when it ends: solvers with adaptive steps, iterations to a
/// tolerance, early stops.
#include <type_traits>
#include <utility>
#include <cairn/door/detail/lending.hpp>
#include <cairn/rules/open_schedule.hpp>
#include <cairn/run/form/detail/open_loop.hpp>
#include <cairn/run/loop.hpp>

namespace cairn {

namespace detail {

/// The result of the call converts to bool, and is neither a pointer nor a floating-point number.
template <class Fn, class... Args>
concept answers_bool = calls<Fn, Args...> && std::is_convertible_v<call_result<Fn, Args...>, bool> &&
                       !std::is_pointer_v<std::decay_t<call_result<Fn, Args...>>> &&
                       !std::is_floating_point_v<std::remove_cvref_t<call_result<Fn, Args...>>>;

/// The function that ends the loop, with the parameters of a `wrt` if it takes them.
template <class KeepGoing, class State, class Params>
struct asked_by {
  KeepGoing& keep_going;
  Params const& p;
  static constexpr bool
      indexed = reads_before<KeepGoing, arguments<State const&>, Params const&>::template before<step_index>,
      takes_p = reads_before<KeepGoing, arguments<State const&>, Params const&>::template before<> &&
                !narrows<KeepGoing, Params, arguments<State const&>>;
  decltype(auto) operator()(State const& x, step_index const i) const
    requires(indexed || takes_p || calls<KeepGoing, State const&, step_index const&> || calls<KeepGoing, State const&>)
  {
    if constexpr (indexed) return call_lending(keep_going, x, p, i);
    else if constexpr (takes_p) return call_lending(keep_going, x, p);
    else if constexpr (calls<KeepGoing, State const&, step_index const&>) return call_lending(keep_going, x, i);
    else return call_lending(keep_going, x);
  }
};
/// The question as it is asked: with p, if there is one.
template <class State, class KeepGoing, class Params>
[[nodiscard]] constexpr decltype(auto) question_with(KeepGoing& keep_going, Params const& p) noexcept {
  if constexpr (no_p<Params>) return (keep_going);
  else return asked_by<KeepGoing, State, Params>{keep_going, p};
}
template <class KeepGoing, class State, class Wrt>
using asked_with = std::remove_reference_t<decltype(
    question_with<State>(std::declval<KeepGoing&>(), std::declval<typename params_in_wrt<Wrt>::p const&>()))>;

template <class KeepGoing, class State>
struct question_of { static constexpr fault wrong = fault_of_question<KeepGoing, State>(); };
template <class KeepGoing, class State, class Params>
struct question_of<asked_by<KeepGoing, State, Params>, State> {
  static constexpr fault wrong = fault_of_question<KeepGoing, State, Params>();
};
/// The checks of the plan, and of the function that ends the loop.
template <class State, class Params, class KeepGoing>
consteval bool check_while() {
  constexpr bool open = open_schedule<Params>, fixed = plan_or_steps<Params>, bytes = any_budget<Params>;
  static_assert(!bytes,
                "cairn: a loop of unknown length takes slots in the place of a budget; give cairn::online_within(bytes, "
                "work) of <cairn/planning.hpp>, the most slots within so many bytes, or cairn::online{slots}");
  static_assert(!fixed || bytes,
                "cairn: this plan is for a loop of known length; run it with cairn::checkpointed_loop, or give "
                "cairn::online{slots} and let the loop end when it ends");
  static_assert(open || fixed,
                "cairn: the plan of checkpointed_while must be cairn::online{slots}, or have slots() and walk(), which "
                "gives an open_cursor");
  if constexpr (!open) return false;
  else {
    constexpr bool answers = calls<KeepGoing, State const&, step_index const&>
                                 ? answers_bool<KeepGoing, State const&, step_index const&>
                                 : answers_bool<KeepGoing, State const&>;
    static_assert(answers,
                  "cairn: keep_going must be `keep_going(x)` or `keep_going(x, i)`, with x const&, and return bool");
    constexpr bool takes = !answers || question_of<KeepGoing, State>::wrong == fault::none;
    static_assert(takes,
                  "cairn: keep_going takes a number of a narrower type than it is given, or its index as a "
                  "floating-point or short number, a bool or a default argument; take the number's own type, and "
                  "`cairn::step_index i`");
    return answers && takes;
  }
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
/// \param last  in any order, each kind at most once: a workspace of `workspace_for<State>(plan)` or a store, to be
///   reused, which must outlive the run; an observer as for `gradient`, an lvalue must outlive the run: a step ahead of
///   a candidate runs before the candidate's own actions, and an advance that the end of the loop cuts short is shown
///   with the steps that ran; `sweep_options`: a replay check hashes every state of the forward run, because each may
///   be the last but one, and takes a snapshot of each state of an object; `wrt{p, dp}`, and then also
///   `keep_going(x, p)` or `keep_going(x, p, i)`; a `sweep_report`, which must outlive the run; a `collective`
///   of the adapter for MPI: then all ranks run the loop together, and the answer of one of them counts
/// Step calls: each step once in the forward run, and with the first reverse `estimate(online.stopping_at(n,
/// last_is_at_hand)).step_calls`, in which the last state but one is at hand unless the step is in place. Memory:
/// `peak_states` and `peak_bytes` of that estimate, with `form.keeps_run`; before the length is known, at most
/// `slots() + working_frames(form, 1)` states.
/// \ingroup start
template <class Step, class X0, class KeepGoing, class Params, class... Last>
[[nodiscard]] auto checkpointed_while(Step&& step, X0&& x0, KeepGoing&& keep_going, Params const& plan,
                                      Last&&... last) {
  using State = std::remove_cvref_t<X0>;
  using StepF = std::decay_t<Step>;
  using Open = detail::open_plan<Params>;
  using Wrt = detail::wrt_in<State, Open, Last...>;
  using Refused = detail::step_refused<Step, Wrt>;
  using Question = detail::asked_with<std::remove_reference_t<KeepGoing>, State, Wrt>;
  if constexpr (!detail::check_forward<StepF, State, step_index, true, Wrt>()) return detail::refuse_run<Refused, X0>();
  else if constexpr (!detail::check_begun<X0, Wrt, Open, Last...>()) return detail::refuse_run<Refused, X0>();
  else if constexpr (!detail::check_while<State, Params, Question>()) return detail::refuse_run<Refused, X0>();
  else if constexpr (detail::together<Last...>) {
    if constexpr (!detail::check_kept<Last...>() || !detail::check_together<true, true, Last...>())
      return detail::refuse_run<Refused, X0>();
    else {
      auto const run = [&]<class Ranks>(Ranks const& ranks, auto&&... others) {
        return Ranks::together::until(ranks, std::forward<Step>(step), std::forward<X0>(x0), keep_going, plan,
                                      std::forward<decltype(others)>(others)...);
      };
      return detail::ranks_first(run, std::forward<Last>(last)...);
    }
  } else if constexpr (!detail::check_last<true, StepF, State, Open, Last...>()) return detail::refuse_run<Refused, X0>();
  else {
    auto const asked = detail::sort_last<State, Open>(std::forward<Last>(last)...);
    detail::predict_nothing(asked, x0);
    auto const parts = detail::parts_of_run(step, asked.by, __builtin_addressof(keep_going));
    if constexpr (!detail::is_wrt<Wrt>) {
      using Kept = detail::kept_step<StepF, State>;
      return detail::run_in_workspace<Kept, State, Open>(asked, detail::forward_until{keep_going}, parts,
                                                         detail::as_kept<Kept>(std::forward<Step>(step)),
                                                         std::forward<X0>(x0), Open{plan});
    } else {
      auto bound = detail::bind_step<State>(StepF(std::forward<Step>(step)), asked.by.p);
      using Kept = detail::kept_step<decltype(bound), State>;
      Question question{keep_going, asked.by.p};
      return detail::run_in_workspace<Kept, State, Open>(asked, detail::forward_until{question}, parts,
                                                         detail::as_kept<Kept>(std::move(bound)),
                                                         std::forward<X0>(x0), Open{plan});
    }
  }
}

}  // namespace cairn
