// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file jumps.hpp  Events of a loop: the state jumps at a given step, or when a condition holds.
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/signature.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/reversal.hpp>
#include <cairn/run/with/detail/adjoint_over.hpp>
#include <cairn/run/with/detail/jump_kinds.hpp>
#include <cairn/run/with/detail/loop_with_jumps.hpp>

namespace cairn {
namespace detail {

/// A jump that was made while a step was recorded, and the state before it.
template <class State>
struct jump_of_tape {
  State before;
  std::size_t jump = 0;
  bool after = false;  // after the step
};
/// The tape of a step with its jumps.
template <class State, class Tape>
struct jump_tape {
  using state = State;
  using inner_tape = Tape;
  Tape of_step;
  std::vector<jump_of_tape<State>> made;
  step_index step = 0;
};
template <class State, class Record, class Params>
[[nodiscard]] auto bind_record(Record& record, Params const& p) {
  return loop_record<Record, State, Params>{record, p, nothing_seen, nullptr};
}
/// `tape = record(x, i)` with the jumps of step i.
template <class Kept, class... Jump>
struct jumps_record {
  static constexpr bool copies = true;  // states
  using Record = std::remove_reference_t<Kept>;
  kept_callable<Kept> inner;
  std::tuple<Jump...> jumps;
  template <class Look>
  void each_function(Look const& look) const { look(*inner), look_at_jumps(jumps, look); }

  template <class State, class Params>
  static consteval bool record_with() { return copied_state<State> && record_takes<Record, State, Params>(); }
  template <class State, class Params>
  auto run(Params const& p, step_index const i, State& x) const {
    std::vector<jump_of_tape<State>> made;
    auto const make = [&](bool after, auto due) {
      each_jump(jumps, [&](auto const& jump, std::size_t k) {
        if (!due(jump)) return;
        made.push_back({copy_of(std::as_const(x)), k, after});
        jump.run(x, p, i);
      });
    };
    make(false, [&](auto const& jump) { return jump.due_before(std::as_const(x), p, i); });
    auto const record = bind_record<State>(*inner, p);
    using inner_tape = std::remove_cvref_t<decltype(record(x, i))>;
    jump_tape<State, inner_tape> tape{taken_from([&]() -> decltype(auto) { return record(x, i); }), {}, i};
    make(true, [&](auto const& jump) { return jump.due_after(i); });
    tape.made = std::move(made);
    return tape;
  }
  template <class State>
    requires(copied_state<State> && (calls<Record, State&, step_index> || calls<Record, State&>))
  auto operator()(State& x, step_index const i) const { return run<State>(no_parameters, i, x); }
};
/// `reverse(tape, bar, i)` of such a tape.
template <class Kept, class... Jump>
struct jumps_reverse {
  using Reverse = std::remove_reference_t<Kept>;
  kept_callable<Kept> inner;
  std::tuple<Jump...> jumps;
  template <class Look>
  void each_function(Look const& look) const { look(*inner), look_at_jumps(jumps, look); }

  template <class Tape, class Bar, class Params, class DP>
  static consteval bool reverse_with() {
    if constexpr (!requires { typename Tape::inner_tape; }) return false;
    else return reverse_takes<Reverse, typename Tape::inner_tape, Bar, Params, DP>();
  }
  template <class State, class Tape, class Bar, class Params, class DP>
  void back(jump_tape<State, Tape>& tape, Bar& bar, Params const& p, DP& dp, step_index const i) const {
    std::size_t k = tape.made.size();
    for (; k > 0 && tape.made[k - 1].after; --k) undo(tape.made[k - 1], bar, p, dp, i);
    bind_reverse<Tape, Bar>(*inner, p, dp)(tape.of_step, bar, i);
    for (; k > 0; --k) undo(tape.made[k - 1], bar, p, dp, i);
  }
  template <class State, class Tape, class Bar>
    requires(calls_with_index<Reverse, Tape&, Bar&> || calls<Reverse, Tape&, Bar&>)
  void operator()(jump_tape<State, Tape>& tape, Bar& bar, step_index const i) const {
    back(tape, bar, no_parameters, no_gradient, i);
  }

 private:
  template <class State, class Bar, class Params, class DP>
  void undo(jump_of_tape<State> const& made, Bar& bar, Params const& p, DP& dp, step_index const i) const {
    each_jump(jumps, [&](auto const& jump, std::size_t k) {
      if (k == made.jump) jump.reverse(made.before, bar, p, dp, i);
    });
  }
};
/// `x1 = restart(tape)` of such a tape.
template <class Kept, class... Jump>
struct jumps_restart {
  kept_callable<Kept> inner;
  std::tuple<Jump...> jumps;
  template <class Look>
  void each_function(Look const& look) const { look(*inner), look_at_jumps(jumps, look); }

  template <class State, class Params>
  static consteval bool record_with() { return true; }
  template <class State, class Params, class Tape>
  State run(Params const& p, jump_tape<State, Tape> const& tape) const {
    State x = copy_of(static_cast<State const&>((*inner)(tape.of_step)));
    each_jump(jumps, [&](auto const& jump, std::size_t) {
      if (jump.due_after(tape.step)) jump.run(x, p, tape.step);
    });
    return x;
  }
  template <class State, class Tape>
  State operator()(jump_tape<State, Tape> const& tape) const { return run<State>(no_parameters, tape); }
};

/// The state and the bar of a loop, if the signatures of step and adjoint name the same ones. Void if these are
/// templates, or take types to which a state converts.
template <class Step, class Adjoint, class OfStep, class OfAdjoint>
struct told_types {
  using state = void;
  using bar = void;
};
template <class Step, class Adjoint, class State, class... After, class Input, class Bar, class... Behind>
  requires(state<State> && copied_state<Bar> && std::is_same_v<std::remove_cvref_t<Input>, State> &&
           (shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step ||
            shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::leaf))
struct told_types<Step, Adjoint, arguments<State&, After...>, arguments<Input, Bar&, Behind...>> {
  using state = State;
  using bar = Bar;
};
template <class Step, class Adjoint>
using told_by = told_types<Step, Adjoint, typename decltype(parameters_of<Step>())::type,
                           typename decltype(parameters_of<Adjoint>())::type>;

/// Checked when a loop with jumps is made, if the signatures of its step and adjoint name their types; otherwise in the
/// sweep.
template <class Jump, class State, class Bar>
consteval void check_jump_early() {
  if constexpr (!std::is_void_v<State>)
    if constexpr (Jump::template check_jump<State, no_params>())
      if constexpr (Jump::template check_adjoint<State, Bar, no_params, no_params>())
        if constexpr (requires { Jump::template check_condition<State, no_params>(); })
          (void)Jump::template check_condition<State, no_params>();
}

}  // namespace detail

/// A jump of state i before step i: `x = jump(x[, i])`, in place or by value. An argument of `with_jumps`.
/// \param adjoint  `adjoint(x, bar[, i])`, in place or by value: x is the state before the jump; bar belongs to the
///   state after the jump before the call, and to the state before the jump after the call
/// \throws invalid_call   if i < 0
template <class Jump, class Adjoint>
[[nodiscard]] auto jump_at(step_index i, Jump&& jump, Adjoint&& adjoint) {
  detail::jump_of_step<detail::kept_as<Jump>, detail::kept_as<Adjoint>> made{
      {std::forward<Jump>(jump), std::forward<Adjoint>(adjoint)}, i, false};
  made.check("cairn::jump_at");
  return made;
}
/// A jump after step i, before anything else uses state i + 1; for i = n - 1 a jump of the final state. Its adjoint
/// runs step i once more.
template <class Jump, class Adjoint>
[[nodiscard]] auto jump_after(step_index i, Jump&& jump, Adjoint&& adjoint) {
  detail::jump_of_step<detail::kept_as<Jump>, detail::kept_as<Adjoint>> made{
      {std::forward<Jump>(jump), std::forward<Adjoint>(adjoint)}, i, true};
  made.check("cairn::jump_after");
  return made;
}
/// A jump before every step i at which `condition(x)` or `condition(x, i)` is true for state i. The condition is not
/// evaluated for the final state, which no step follows.
template <class Condition, class Jump, class Adjoint>
[[nodiscard]] auto jump_when(Condition&& condition, Jump&& jump, Adjoint&& adjoint) {
  return detail::jump_on_condition<detail::kept_as<Condition>, detail::kept_as<Jump>, detail::kept_as<Adjoint>>{
      {std::forward<Jump>(jump), std::forward<Adjoint>(adjoint)}, std::forward<Condition>(condition)};
}

/// A loop whose state jumps at some of its steps: a ball bounces, a dose is given, data are assimilated. `step` and
/// `adjoint` are those of the loop with its jumps, for any verb and plan; several jumps at one step are made in the
/// order given. Lvalues are kept by reference, see `hooked`; of an rvalue step both members have a copy.
///
/// The inner step has any form; the step with jumps is out of place like it, or else in place, and may return bool for
/// `checkpointed_while`. So has the inner adjoint: `(x, bar, i)`; `(x, x1, bar, i)`, where x1 is the state after the step
/// and before its `jump_after`; `recorded`, whose tapes get the states before jumps, for states that can be copied; or
/// `(x, bar, first, last)`, which is called for each run of steps between two jumps. If a library holds bar, no adjoint
/// takes one. Checkpoints, hooks and `keep_going` see state i before the jumps of `jump_at(i)` and `jump_when`, and
/// after those of `jump_after(i - 1)`.
///
/// A step without a jump costs nothing extra. The adjoint of a step with jumps runs these jumps once more, on copies of
/// the state whose memory is reused: one copy, and one more for each further jump; `jump_after` also runs its step
/// again. An object that cannot be copied makes the jumps itself, and is restored from as many snapshots when an
/// adjoint needs it. In a leaf the steps before its last jump run once more (with `jump_when` all but the last), and so
/// do the jumps. Plans do not count these copies, snapshots and runs.
///
/// In a verb with `wrt` the inner step and adjoint take p and dp before the index, and a jump, its adjoint and its
/// condition may take them.
///
/// Jumps at fixed steps are differentiated exactly. For a condition on the state the derivative is that of the branch
/// taken: the step at which the condition becomes true is a whole number and has no derivative. To differentiate the
/// time of an event, too (saltation), find that time as a root inside the step, as a part of it.
/// \throws invalid_call   before any step runs, if a jump is at no step of a loop of known length
template <class Step, class Adjoint, class... Jump>
class with_jumps {
  using jumps_type = std::tuple<Jump...>;
  using inner_step = std::remove_reference_t<Step>;
  using inner_back = std::remove_reference_t<Adjoint>;
  using told = detail::told_by<std::remove_const_t<inner_step>, std::remove_const_t<inner_back>>;
  using checked = std::bool_constant<
      (detail::check_jump_early<Jump, typename told::state, typename told::bar>(), ..., true)>;
  using forward = detail::jumps_step<Step, Jump...>;
  using backward = detail::jumps_adjoint<Step, Adjoint, Jump...>;

  /// The adjoint if the inner one records.
  struct taped {
    template <class Given>
    using record = detail::jumps_record<detail::kept_as<decltype((std::declval<Given>().record))>, Jump...>;
    template <class Given>
    using reverse = detail::jumps_reverse<detail::kept_as<decltype((std::declval<Given>().reverse))>, Jump...>;
    template <class Given>
    using restart = detail::jumps_restart<detail::kept_as<decltype((std::declval<Given>().restart))>, Jump...>;
    template <class Arg>
    [[nodiscard]] static auto of(Arg&& back, jumps_type const& jumps) {
      record<Adjoint> first{std::forward<Arg>(back).record, jumps};
      reverse<Adjoint> second{std::forward<Arg>(back).reverse, jumps};
      if constexpr (requires { back.restart; })
        return recorded<record<Adjoint>, reverse<Adjoint>, restart<Adjoint>>{
            std::move(first), std::move(second), {std::forward<Arg>(back).restart, jumps}};
      else return recorded<record<Adjoint>, reverse<Adjoint>>{std::move(first), std::move(second)};
    }
  };
  template <class Arg>
  [[nodiscard]] static auto adjoint_of(inner_step& inner, Arg&& back, jumps_type const& jumps) {
    if constexpr (detail::recorder<inner_back>) return taped::of(std::forward<Arg>(back), jumps);
    else
      return backward{
          detail::kept_callable<Step>{inner}, detail::kept_callable<Adjoint>{std::forward<Arg>(back)}, jumps};
  }
  using adjoint_type = decltype(adjoint_of(std::declval<inner_step&>(), std::declval<Adjoint>(),
                                           std::declval<jumps_type const&>()));

 public:
  /// \param inner  the step between jumps   \param back  its adjoint
  /// \param jumps  of `jump_at`, `jump_after`, `jump_when`
  template <class StepArg, class AdjointArg>
    requires(std::is_same_v<detail::kept_as<StepArg>, Step> && std::is_same_v<detail::kept_as<AdjointArg>, Adjoint>)
  explicit with_jumps(StepArg&& inner, AdjointArg&& back, Jump... jumps)
      : step{inner, jumps_type{jumps...}, {}},
        adjoint(adjoint_of(*step.inner, std::forward<AdjointArg>(back), jumps_type{jumps...})) {}
  forward step;  ///< the step with its jumps
  adjoint_type adjoint;  ///< the adjoint of that step
};
/// Deduces how the callables are kept.
template <class Step, class Adjoint, class... Jump>
with_jumps(Step&&, Adjoint&&, Jump...) -> with_jumps<detail::kept_as<Step>, detail::kept_as<Adjoint>, Jump...>;

}  // namespace cairn
