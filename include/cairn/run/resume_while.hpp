// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file resume_while.hpp  Resumes a loop of unknown length that was stopped on its way forward.
#include <type_traits>
#include <utility>
#include <cairn/door/detail/adjoint_checks.hpp>
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
  using StepF = std::decay_t<Step>;
  using AdjointF = std::remove_reference_t<Adjoint>;
  using Settings = detail::options_asked<State, Plan, Workspace&, Last...>;
  using Wrt = detail::wrt_in<State, Plan, Last...>;
  using Bar = detail::bar_type_with<Seed, State, Wrt>;
  using Question = detail::asked_with<KeepGoing const, State, Wrt>;
  if constexpr (!detail::check_forward<StepF, State, step_index, true, Wrt>())
    return detail::refuse_gradient<Step, X0, Seed>();
  else if constexpr (!detail::check_initial<X0>()) return detail::refuse_gradient<Step, X0, Seed>();
  else if constexpr (!detail::check_while<State, Params, Question>()) return detail::refuse_gradient<Step, X0, Seed>();
  else if constexpr (!detail::check_wrt<Wrt>()) return detail::refuse_gradient<Step, X0, Seed>();
  else if constexpr (!detail::check_adjoint<AdjointF, State, Bar, Wrt>())
    return detail::refuse_gradient<Step, X0, Seed>();
  else if constexpr (!detail::check_last<false, StepF, State, Plan, Last...>())
    return detail::refuse_gradient<Step, X0, Seed>();
  else if constexpr (!detail::check_sweep_options<State, Settings>()) return detail::refuse_gradient<Step, X0, Seed>();
  else if constexpr (!detail::check_stopped_workspace<Workspace, State, Plan>())
    return detail::refuse_gradient<Step, X0, Seed>();
  else {
    Plan const plan{loop.plan};
    auto const asked = detail::sort_last<State, Plan>(work, std::forward<Last>(last)...);
    auto const& by = asked.by;
    auto const watch = detail::params_to_resume(work, by, 0);
    detail::predict_nothing(asked, x0);
    if constexpr (!detail::is_wrt<Wrt>) {
      auto&& kept = detail::as_kept<detail::kept_step<StepF, State>>(std::forward<Step>(step));
      return detail::sweep_from_the_way<Bar, State>(asked, kept, x0, plan, std::forward<Seed>(seed), adjoint,
                                                    detail::no_limit{}, detail::forward_until{loop.keep_going});
    } else {
      detail::set_zero(by.p, by.dp);
      auto bound = detail::bind_step<State>(StepF(std::forward<Step>(step)), by.p);
      auto&& kept = detail::as_kept<detail::kept_step<decltype(bound), State>>(std::move(bound));
      Question question{loop.keep_going, by.p};
      auto run_back = detail::bind_adjoint<State, Bar>(adjoint, by.p, by.dp);
      return watch.during("cairn::resume", [&] {
        return detail::sweep_from_the_way<Bar, State>(
            asked, kept, x0, plan, detail::bind_seed<State>(std::forward<Seed>(seed), by.p, by.dp), run_back,
            detail::no_limit{}, detail::forward_until{question});
      });
    }
  }
}

}  // namespace cairn
