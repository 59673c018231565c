// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file jumps_on_tape.hpp  The recording adjoint of a loop with jumps: its tapes hold the states before jumps.
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/reversal.hpp>
#include <cairn/run/with/detail/adjoint_over.hpp>
#include <cairn/run/with/detail/jump_kinds.hpp>

namespace cairn::detail {

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

}  // namespace cairn::detail
