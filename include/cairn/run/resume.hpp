#pragma once
/// \file resume.hpp  Goes on with a sweep that was stopped, from what its store still holds.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/run/gradient.hpp>

namespace cairn {
namespace detail {

[[noreturn]] inline void refuse_initial_state() {
  throw invalid_call{
      "cairn::resume",
      "x0 is not the initial state of the sweep that stopped",
      {},
      "hand over the state with which the sweep began; an object that was advanced is put back to it first"};
}
/// The hash of the initial state as it was handed over, 0 where no bytes tell all of it.
template <class State>
[[nodiscard]] std::uint64_t hash_of_given(State const& x0) {
  if constexpr (!hashable<hashed_part_t<State>>) return 0;
  else return hash_of_state(x0);
}

}  // namespace detail

/// How far a stopped sweep had come: steps [0, open) are still to be reversed, and `bar` belongs to state `open`.
template <class Bar>
struct reached {
  step_index open;  ///< steps [0, open) are still to be reversed
  Bar bar;  ///< the adjoint of state `open`
};
/// Its type is that of the adjoint.
template <class Bar> reached(step_index, Bar) -> reached<Bar>;

/// The adjoint of the initial state for a sweep of `plan` that stopped at `position`: by an exception, or in a process
/// that is gone.
///
/// Replans the rest around the states that the workspace's store still holds, runs again what is missing, and gives the
/// same bits as a sweep that was never stopped. A store that lost everything costs the steps of a new sweep over [0,
/// open). Whether x0 is the initial state is looked at before anything runs: by a hash that the workspace notes when a
/// sweep stops, else in the slot of state 0 of a store that outlives its sweeps. It cannot be told where neither has
/// state 0, where its type is not among those that `visit_buffers` takes apart to the last byte, and after a kept run's
/// `reverse`.
/// \param x0  the initial state, as at the first start   \param position  what a `hooked` adjoint noted last
/// \param work  the workspace of the stopped sweep, or one whose store still knows its states
/// \param options  `sweep_options` as for `gradient`, also in the observer's place; the workspace is one that has
///        options
/// \throws invalid_call unless 0 <= open <= n and x0 is the initial state; otherwise as `gradient`
template <class Step, class X0, schedule Plan, class Bar, class Adjoint, class Workspace, class Observer = no_observer,
          class Options = no_options>
[[nodiscard]] auto resume(Step&& step, X0&& x0, Plan const& plan, reached<Bar> position, Adjoint&& adjoint,
                          Workspace& work, Observer&& observer = {}, Options options = {}) {
  using State = std::remove_cvref_t<X0>;
  using StepF = std::remove_reference_t<Step>;
  using AdjointF = std::remove_reference_t<Adjoint>;
  if constexpr (!detail::check_forward<StepF, State, Plan>())
    return detail::refuse<typename detail::refused_bar<Bar, State>::type>();
  else if constexpr (!detail::check_initial<X0>())
    return detail::refuse<typename detail::refused_bar<Bar, State>::type>();
  else if constexpr (!detail::check_adjoint<AdjointF, State, Bar>())
    return detail::refuse<typename detail::refused_bar<Bar, State>::type>();
  else if constexpr (!detail::check_sweep_options<State, Options,
                                                  detail::options_asked<State, Plan, Workspace, Observer, Options>>())
    return detail::refuse<typename detail::refused_bar<Bar, State>::type>();
  else if constexpr (detail::is_options<Observer>)
    return resume(step, x0, plan, std::move(position), adjoint, work, no_observer{}, observer);
  else {
    static constexpr auto shape = detail::shape_of_adjoint<AdjointF, State, Bar>();
    if (position.open < 0 || position.open > plan.steps())
      throw invalid_call{"cairn::resume",
                         "the position is outside the loop",
                         {{"open", position.open}, {"steps", plan.steps()}},
                         "open is the number of steps still to be reversed"};
    detail::check_adjoint_fits("cairn::resume", plan.leaf(), tapes_of(plan), shape.form);
    auto& run = detail::workspace_access::engine_of(work);
    detail::in_use const mark{run.busy, "cairn::resume"};
    if constexpr (detail::is_options<Options>) run.options = options;
    std::uint64_t const given = detail::hash_of_given<State>(x0), noted = run.initial_hash;
    if (noted != 0 && noted != given) detail::refuse_initial_state();
    run.adopt(plan);
    run.initial_hash = noted;
    run.status.open = position.open;
    run.status.turned = true;
    run.begin_check_again(plan);
    run.check_initial_state(given);
    using store_type = typename std::remove_reference_t<decltype(run)>::store_type;
    run.states.begin_again(
        x0, detail::setup_for<State, store_type>(plan, {detail::shape_of_step<StepF, State>().form, shape.form}));
    run.states.note_held(run.tier_of);
    run.replan([&](slot_index slot) { return run.states.state_in(slot); },
               [&](slot_index slot) { return run.tier_of(slot); });
    if constexpr (detail::outliving_store<store_type>)
      for (slot_index slot = 0; noted == 0 && given != 0 && slot < plan.slots(); ++slot)
        if (run.states.state_in(slot) == 0)
          if (std::uint64_t const stored = run.states.hash_of_stored({slot, run.tier_of(slot)});
              stored != 0 && stored != given)
            detail::refuse_initial_state();
    detail::stopped_note<std::remove_reference_t<decltype(run)>> note{run};
    detail::reversal<State, StepF, AdjointF, Bar, false> user{step, adjoint, run.tapes, 0};
    detail::emplace_by(user.bar,
                       [&] { return detail::taken_out_by([&]() -> Bar&& { return std::move(position.bar); }); });
    run.run_rest(step, user, observer);
    note.ended = true;
    return std::move(*user.bar);
  }
}

}  // namespace cairn
