// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep.hpp  What a graph supplies to `execute`: its values and its adjoints.
#include <cstddef>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/sweep/detail/action_range.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// The values of one sweep over a graph, each in the place of its number.   \tparam Memory  holds the values, tapes and
/// adjoints of an engine: advance(v), record(v), turn(), reverse(v), drop(v), drop_tape(v), bytes() and visit(v, sink,
/// context)   \tparam Replay  compares values that are made again
template <class Memory, class Replay>
class graph_states {
 public:
  graph_states(Memory& memory, Replay& replay) noexcept : memory_{memory}, replay_{replay} {}

  template <class Step>
  void advance(Step&, step_index from, step_index, step_index&) {
    memory_.advance(from);
    replay_.made(memory_, from);
  }
  void record(step_index v) {
    memory_.record(v);
    replay_.made(memory_, v);
  }
  static constexpr bool keeps_nothing = true;
  void drop(place where) { memory_.drop(where.slot); }

  [[nodiscard]] Memory& memory() noexcept { return memory_; }
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }
  /// Visits the value of the operation that an action names.
  bool visit(action const& a, moment, event::sink sink, void* context) const {
    return memory_.visit(a.from, sink, context);
  }

 private:
  Memory& memory_;
  Replay& replay_;
};

/// The loss, the tapes and the adjoints of a graph, all held by its memory.
template <class States>
struct graph_reversal : no_hooks {
  void turn(States& states, action const&, step_index&) { states.memory().turn(); }
  void record(States& states, action const& a) { states.record(a.from); }
  void reverse(States& states, action const& a) { states.memory().reverse(a.from); }
  void drop_tape(States& states, slot_index tape) { states.memory().drop_tape(tape); }
};

/// Runs one sweep. Compiled for speed wherever it is called, see `sweep::run_plan`. Exceptions pass through it, and
/// `failure` says where they came from.   \pre the graph can obey the plan
template <class Memory, class Actions, class Observer, class Replay>
[[gnu::noinline, gnu::hot]] void obey_graph_plan(Memory& memory, Actions const& actions, Observer& observer,
                                                 sweep_failure& failure, Replay& replay) {
  graph_states<Memory, Replay> states{memory, replay};
  graph_reversal<graph_states<Memory, Replay>> user;
  (void)obey_list(actions, states, memory, user, observer, failure);
}

}  // namespace cairn::detail
