// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file resume_while.hpp  Resumes a loop of unknown length that was stopped on its way forward.
#include <type_traits>
#include <utility>
#include <cairn/door/run_while.hpp>
#include <cairn/run/resume.hpp>
#include <cairn/run/while.hpp>

namespace cairn {
/// The same for a loop of unknown length that stopped anywhere: goes on from the last state that is still held, asks
/// `keep_going` for the states after it, and reverses the loop. A loop that is stopped again and again ends if a state is
/// kept between two stops.
/// \param loop  `run_while{keep_going, online{slots}}`, with the plan with which the loop began
template <class Step, class X0, class KeepGoing, class Params, class Seed, class Adjoint, class Workspace,
          class... Last>
[[nodiscard]] auto resume(Step&& step, X0&& x0, run_while<KeepGoing, Params> const& loop, Seed&& seed,
                          Adjoint&& adjoint, Workspace& work, Last&&... last) {
  using State = std::remove_cvref_t<X0>;
  using Plan = detail::open_plan<Params>;
  using Wrt = detail::wrt_in<State, Plan, Last...>;
  using Bar = detail::bar_type_with<Seed, State, Wrt>;
  if constexpr (!detail::check_while<State, Params, detail::asked_with<KeepGoing const, State, Wrt>>())
    return detail::refuse_gradient<Step, X0, Seed>();
  else if constexpr (!detail::check_resumed<std::decay_t<Step>, X0, Plan, std::remove_reference_t<Adjoint>, Bar, Wrt,
                                            Workspace, Last...>())
    return detail::refuse_gradient<Step, X0, Seed>();
  else {
    Plan const plan{loop.plan};
    auto const asked = detail::sort_last<State, Plan>(work, std::forward<Last>(last)...);
    return detail::resumed<Bar, State>(
        asked, 0, std::forward<Step>(step), x0, adjoint, [&](auto& run_step, auto& run_back) {
          auto const& by = detail::params_of(asked.by);
          detail::set_zero(by.p, by.dp);
          auto&& question = detail::question_with<State>(loop.keep_going, by.p);
          return detail::sweep_from_the_way<Bar, State>(
              asked, run_step, x0, plan, detail::bind_seed<State>(std::forward<Seed>(seed), by.p, by.dp), run_back,
              detail::no_limit{}, detail::forward_until{question});
        });
  }
}

}  // namespace cairn
