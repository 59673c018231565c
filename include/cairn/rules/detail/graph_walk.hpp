// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_walk.hpp  The rules of plans for graphs: which values and tapes exist, and what may be done next.
#include <cstddef>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/rules/detail/place_walk.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::detail {

/// Which operations read which values of a graph, with the loss as operation `count`.
struct graph_reads {
  std::size_t count;                             ///< n
  std::vector<std::vector<std::size_t>> inputs;  ///< the inputs of operations 0..n, each once, ascending
  std::vector<std::vector<std::size_t>> needs;   ///< values that the adjoint of 0..n reads, ascending
  std::vector<std::size_t> last_reader;          ///< the last operation that reads value v, n for the loss; of 0..n-1
  std::vector<char> has_tape;                    ///< whether the adjoint of v needs a tape; of 0..n-1
  std::vector<std::vector<std::size_t>> before;  ///< operations that run before the first run of v, because of the
                                                 ///< states that they use; of 0..n-1
  std::vector<char> is_ordered;                  ///< whether v has one before it or is before one; of 0..n-1
  bool has_order = false;                        ///< whether any is ordered

  /// \throws invalid_plan, overflow_error   as `check_graph`
  graph_reads(operation_graph const& graph, char const* who)
      : count{(check_graph(graph, who), graph.operations.size())},
        inputs(count + 1),
        needs(count + 1),
        last_reader(count),
        has_tape(count),
        before(count),
        is_ordered(count) {
    std::vector<char> read(count);
    for (std::size_t v = 0; v < count; ++v) {
      graph_operation const& of = graph.operations[v];
      inputs[v] = as_set(of.inputs);
      for (std::size_t const input : inputs[v]) last_reader[input] = v, read[input] = 1;
      std::vector<step_index> needed;
      for (std::size_t k = 0; k < of.inputs.size(); ++k)
        if (of.adjoint_needs_inputs[k]) needed.push_back(of.inputs[k]);
      needs[v] = as_set(needed);
      if (of.adjoint_needs_output) needs[v].push_back(v);
      has_tape[v] = char(of.tape_bytes > 0);
    }
    inputs[count] = as_set(graph.outputs);
    if (graph.outputs.empty())
      for (std::size_t v = 0; v < count; ++v)
        if (!read[v]) inputs[count].push_back(v);
    needs[count] = inputs[count];
    for (std::size_t const output : inputs[count]) last_reader[output] = count;
    find_order(graph);
  }

 private:
  void find_order(operation_graph const& graph) {
    auto const has = [](std::vector<step_index> const& states, step_index one) {
      for (step_index const state : states)
        if (state == one) return true;
      return false;
    };
    for (std::size_t v = 0; v < count; ++v) {
      graph_operation const& of = graph.operations[v];
      std::vector<step_index> earlier;
      // From v back to the last operation that changed the state; those that have read it since matter to a change.
      auto const look_back = [&](step_index state, bool changes) {
        for (std::size_t u = v; u-- > 0;) {
          bool const changed = has(graph.operations[u].states_changed, state);
          if (changed || (changes && has(graph.operations[u].states_read, state))) earlier.push_back(step_index(u));
          if (changed) return;
        }
      };
      for (step_index const state : of.states_read) look_back(state, false);
      for (step_index const state : of.states_changed) look_back(state, true);
      before[v] = as_set(earlier);
      for (std::size_t const u : before[v]) is_ordered[u] = is_ordered[v] = 1, has_order = true;
    }
  }
  [[nodiscard]] static std::vector<std::size_t> as_set(std::vector<step_index> const& from) {
    std::vector<std::size_t> set;
    for (step_index const one : from) {
      std::size_t const value = std::size_t(one);
      std::size_t place = set.size();
      while (place > 0 && set[place - 1] > value) --place;
      if (place == 0 || set[place - 1] != value) set.insert(set.begin() + std::ptrdiff_t(place), value);
    }
    return set;
  }
};

/// The action of `graph_actions` that has the kind and number of `a`; `done` if graphs have none of that kind.
[[nodiscard]] constexpr action as_graph_action(action const& a) noexcept {
  switch (a.kind) {
    case action_kind::advance: return graph_actions::advance(a.from);
    case action_kind::record: return graph_actions::record(a.from);
    case action_kind::drop:
      return a.what == content::tape ? graph_actions::drop_tape(a.from) : graph_actions::drop(a.from);
    case action_kind::turn: return graph_actions::turn(a.from);
    case action_kind::reverse: return graph_actions::reverse(a.from);
    default: return {action_kind::done, tier::memory, content::state, no_slot, -1, -1};
  }
}

/// The rules of `graph_actions`, in terms of numbers only. Call `check(a)`, then `apply(a)` for each action, then
/// `finish()`. Cost: O(values read) per action.
class graph_walk : public place_walk {
 public:
  /// \param reads  must outlive the walk   \param who  the public name that refuses, with static storage
  graph_walk(graph_reads const& reads, char const* who)
      : place_walk{step_index(reads.count), "operation", who}, reads_{reads} {}

  /// \throws invalid_schedule   if `a` needs something that does not exist
  void check(action const& a) const {
    using enum action_kind;
    step_index const v = a.from;
    need(v >= 0 && v < count() + (a.kind == turn ? 1 : 0), "an action names an operation that is not there", a);
    need_own(a, as_graph_action(a), "an action is not one that a graph has", "make it by cairn::graph_actions");
    switch (a.kind) {
      case advance:
        need(!holds_value(v), "an operation is run whose value is kept", a);
        check_run(a);
        break;
      case record:
        need(!holds_tape(v), "an operation is recorded whose tape is kept", a);
        check_run(a);
        break;
      case drop:
        if (a.what == content::tape) need(holds_tape(v), "a tape is dropped that is not kept", a);
        else need(holds_value(v), "a value is dropped that is not kept", a);
        break;
      case turn:
        need(v == count(), "the loss has the number of an operation", a);
        need(remaining() == count() + 1, "the loss of a graph is run twice", a);
        need(all_held(reads_.needs, v), "the loss is run without the value of an output", a);
        break;
      case reverse:
        need(remaining() == v + 1, "the adjoint of an operation is run out of order", a);
        need(all_held(reads_.needs, v), "the adjoint of an operation is run without a value that it reads", a);
        need(!reads_.has_tape[std::size_t(v)] || holds_tape(v), "the adjoint of an operation is run without its tape",
             a);
        break;
      default: break;
    }
  }
  /// \pre check(a) has not thrown
  void apply(action const& a) noexcept {
    using enum action_kind;
    switch (a.kind) {
      case advance: set(a.from, kept | has_run); break;
      case record: set(a.from, kept | taped | has_run); break;
      case drop: clear(a.from, a.what == content::tape ? taped : kept); break;
      case reverse: clear(a.from, kept | taped); break;
      default: break;
    }
    pass(a);
  }
  /// \throws invalid_schedule   if an adjoint is missing
  void finish() const { need_end("the plan ends before the adjoint of operation 0 has run", "adjoints left"); }

  [[nodiscard]] bool holds_value(step_index v) const noexcept { return holds(v, kept); }

 private:
  static constexpr unsigned has_run = taped << 1;

  void check_run(action const& a) const {
    need(a.from < remaining(), "an operation is run after its adjoint", a);
    need(all_held(reads_.inputs, a.from), "an operation is run without the value of an input", a);
    for (std::size_t const earlier : reads_.before[std::size_t(a.from)])
      need(holds(step_index(earlier), has_run),
           "an operation is run before an earlier one that uses the same state has run", a);
  }
  /// \param lists  one for each operation
  [[nodiscard]] bool all_held(std::vector<std::vector<std::size_t>> const& lists, step_index v) const noexcept {
    for (std::size_t const read : lists[std::size_t(v)])
      if (!holds_value(step_index(read))) return false;
    return true;
  }

  graph_reads const& reads_;
};

}  // namespace cairn::detail
