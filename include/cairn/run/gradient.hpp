// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file gradient.hpp  The adjoint of a whole loop in one call.
#include <type_traits>
#include <utility>
#include <cairn/core/detail/checks.hpp>
#include <cairn/run/detail/last_arguments.hpp>
#include <cairn/run/detail/reversal.hpp>
#include <cairn/run/detail/sweep.hpp>
#include <cairn/run/workspace.hpp>
#include <cairn/schedule/uniform.hpp>

/// Reverse-mode differentiation of long loops in bounded memory. A *plan* is a schedule with its steps and slots. A
/// verb such as `gradient` runs it over your step and your adjoint. `estimate` predicts its cost before any step runs.
/// Begin with \ref start. `cairn/cairn.hpp` has the verbs and the schedules of most loops, `cairn/planning.hpp` all
/// schedules and the planners, `cairn/chains.hpp` chains and graphs. Adapters are in `cairn/adapt/`.
namespace cairn {
namespace detail {

/// The plan as given; for a bare number of steps `uniform` with floor(sqrt n) checkpoints.
template <class P>
[[nodiscard]] constexpr decltype(auto) as_plan(P const& plan) {
  if constexpr (std::is_integral_v<P>) return uniform{step_index(plan)};
  else return (plan);
}
template <class P> using plan_type = std::remove_cvref_t<decltype(as_plan(std::declval<P const&>()))>;

/// The adjoint's type: that of the seed, or of the seed's result for the final state.
template <class Seed, class State, bool = seed_function<Seed, State>>
struct bar_of { using type = std::remove_cvref_t<Seed>; };
template <class Seed, class State>
struct bar_of<Seed, State, true> {
  using made = std::remove_cvref_t<std::invoke_result_t<Seed&, lent_state<State>>>;
  using type = std::conditional_t<saved_state<State> && std::is_void_v<made>, library_bar, made>;
};
template <class Seed, class State> using bar_type = typename bar_of<std::remove_reference_t<Seed>, State>::type;

/// The likely result type of a refused call: the seed's type, or the state's if the seed is not an adjoint.
template <class Seed, class State>
struct refused_bar {
  static constexpr bool is_seed = !function_like<bar_type<Seed, State>> && !generic<bar_type<Seed, State>>;
  using type = typename first_returned<std::conditional_t<is_seed, bar_type<Seed, State>, void>, State>::type;
};
/// The state; if step and initial state are swapped, the argument in the step's place.
template <class Step, class S, bool = swapped<Step, S>()>
struct refused_state { using type = S; };
template <class Step, class S>
struct refused_state<Step, S, true> { using type = Step; };

/// Detects a number of checkpoints after the number of steps, which moves seed and adjoint one place back.
template <class P, class Count, class Seed, class Adjoint, class S>
[[nodiscard]] consteval bool check_no_count() {
  if constexpr (std::is_integral_v<P> && std::is_integral_v<Count> && !is_options<Adjoint>) {
    constexpr bool counted =
        shape_of_adjoint<std::remove_reference_t<Adjoint>, S, bar_type<Seed, S>>().wrong == fault::none;
    static_assert(!counted,
                  "cairn: a number of checkpoints is a part of the plan; give cairn::uniform{n, {.checkpoints = "
                  "count}} as the third argument");
    return !counted;
  } else return true;
}
template <class Work, class State, class Plan>
[[nodiscard]] consteval bool check_sixth_argument() {
  constexpr bool fits = takes_work<Work, State, Plan>;
  static_assert(fits,
                "cairn: the sixth argument must be a workspace for this state and plan, a store, an observer, or "
                "cairn::sweep_options");
  return fits;
}

template <class Step, class X0, class Seed>
auto refuse_gradient() {
  return refuse<typename refused_bar<
      Seed, typename refused_state<std::remove_cvref_t<Step>, std::remove_cvref_t<X0>>::type>::type>();
}

template <class Bar, class State, class Plan, class Step, class X0, class Seed, class Adjoint, class Work,
          class Observer, class Options>
Bar one_sweep(Step& step, X0&& x0, Plan const& plan, Seed&& seed, Adjoint& adjoint, Work&& work, Observer& observer,
              Options options) {
  static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
  using way_back = reversal<State, Step, Adjoint, Bar, true>;
  check_adjoint_fits("cairn::gradient", plan.leaf(), tapes_of(plan), shape.form, tapes_restart(plan),
                     way_back::can_restart);
  sweep run{work, "cairn::gradient", options};
  run.begin(step, std::forward<X0>(x0), plan, {shape_of_step<Step, State>().form, shape.form});
  way_back user{step, adjoint, run.tapes(), tapes_of(plan)};
  run.run_plan(step, user, observer);
  run.seed(user.bar, std::forward<Seed>(seed));
  if constexpr (shape.form == adjoint_form::with_next) run.states().final_becomes_next();
  run.states().forget_final();
  run.run_plan(step, user, observer);
  run.ended();
  return std::move(*user.bar);
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
/// \param plan  a schedule, or the number of steps n >= 0: then `uniform{n}`, floor(sqrt n) checkpoints
/// \param seed  the adjoint of the final state, or `seed(final_state)` that makes it, called once; n = 0 returns it
///   unchanged
/// \param adjoint  `adjoint(x, bar, i)` in place or by value, `adjoint(x, x1, bar, i)`, `adjoint(x, bar, first, last)`
///   for plans with leaves, or `recorded{record, reverse}` (and `restart`, for plans that restart from tapes); bar
///   belongs to state i+1 before the call and to state i after it
/// \param work  a `workspace` to be reused, or a store; by default the sweep allocates its own memory
/// \param observer  called with an `event` before and after every action
/// \param options  `sweep_options`, always the last argument: may directly follow the adjoint, or take the observer's
///   place
/// \throws invalid_plan   before any step runs
/// \throws nondeterminism_error   if options ask for a replay check and a state differs
/// \throws anything   that step, adjoint, seed, copies or observer throw, unchanged; `work` can be used again
///   afterwards
/// \ingroup start
template <class Step, class X0, class P, class Seed, class Adjoint, class Work = detail::own_workspace,
          class Observer = no_observer, class Options = no_options>
auto gradient(Step&& step, X0&& x0, P const& plan, Seed&& seed, Adjoint&& adjoint, Work&& work = {},
              Observer&& observer = {}, Options options = {}) {
  using State = std::remove_cvref_t<X0>;
  using AdjointF = std::remove_reference_t<Adjoint>;
  using Plan = detail::plan_type<P>;
  using Settings = detail::options_asked<State, Plan, Work, Observer, Options>;
  if constexpr (!detail::check_forward<std::remove_reference_t<Step>, State, P>())
    return detail::refuse_gradient<Step, X0, Seed>();
  else if constexpr (!detail::check_initial<X0>()) return detail::refuse_gradient<Step, X0, Seed>();
  else if constexpr (!detail::check_sweep_options<State, Options, Settings>())
    return detail::refuse_gradient<Step, X0, Seed>();
  else if constexpr (!detail::check_no_count<P, std::remove_cvref_t<Seed>, Adjoint, Work, State>())
    return detail::refuse_gradient<Step, X0, Adjoint>();
  else if constexpr (!detail::check_adjoint<AdjointF, State, detail::bar_type<Seed, State>>())
    return detail::refuse_gradient<Step, X0, Seed>();
  else if constexpr (!detail::check_sixth_argument<Work, State, Plan>())
    return detail::refuse_gradient<Step, X0, Seed>();
  else {
    using Bar = detail::bar_type<Seed, State>;
    auto const run = [&]<class Used, class Watching, class Asked>(Used&& used, Watching&& watching, Asked asked) {
      return detail::one_sweep<Bar, State, Plan>(step, std::forward<X0>(x0), detail::as_plan(plan),
                                                 std::forward<Seed>(seed), adjoint,
                                                 detail::workspace_from<State, Plan, Asked>(used), watching, asked);
    };
    return detail::in_their_places<State, Plan>(run, std::forward<Work>(work), std::forward<Observer>(observer),
                                                options);
  }
}

/// Refused: the seed is missing.
template <class Step, class X0, class P, class Adjoint>
auto gradient(Step&&, X0&&, P const&, Adjoint&&) {
  constexpr bool seeded = std::is_void_v<Adjoint>;
  static_assert(seeded,
                "cairn: seed and adjoint are two arguments; give the seed, the adjoint of the final state, as 1.0 or "
                "as `seed(x)`, before the adjoint");
  return detail::refuse_gradient<Step, X0, Adjoint>();
}

}  // namespace cairn
