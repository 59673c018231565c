// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_walk.hpp  Tracks which values and tapes exist during a plan for a graph, and what may be done next.
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/operation_graph.hpp>

namespace cairn::detail {

/// Who reads whom in a graph, with the loss as operation `count`.
struct graph_reads {
  std::size_t count;                             ///< n
  std::vector<std::vector<std::size_t>> inputs;  ///< the inputs of operations 0..n, each once, ascending
  std::vector<std::vector<std::size_t>> needs;   ///< values that the adjoint of 0..n reads, ascending
  std::vector<std::size_t> last_reader;          ///< the last operation that reads value v, n for the loss; of 0..n-1
  std::vector<char> has_tape;                    ///< whether the adjoint of v needs a tape; of 0..n-1

  /// \throws invalid_plan, overflow_error   as `check_graph`
  graph_reads(operation_graph const& graph, char const* who)
      : count{(check_graph(graph, who), graph.operations.size())},
        inputs(count + 1),
        needs(count + 1),
        last_reader(count),
        has_tape(count) {
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
  }

 private:
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

/// The action of `graph_actions` that has the kind and number of `a`; `done` where graphs have none of that kind.
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

/// The rules of `graph_actions`, on numbers alone. Call `check(a)`, then `apply(a)` for each action, then `finish()`.
/// One object serves one sweep, and another one after `restart`.
/// Cost: two bytes per operation; O(values read) per action.
class graph_walk {
 public:
  /// \param reads  must outlive the walk   \param who  the public name that refuses, with static storage
  graph_walk(graph_reads const& reads, char const* who)
      : reads_{reads}, who_{who}, kept_(reads.count), taped_(reads.count), remaining_{reads.count + 1} {}

  /// \throws invalid_schedule   if `a` needs something that does not exist
  void check(action const& a) const {
    std::size_t const most = a.kind == action_kind::turn ? reads_.count + 1 : reads_.count;
    if (a.from < 0 || std::size_t(a.from) >= most) refuse("an action names an operation that is not there", a);
    if (a != as_graph_action(a))
      throw invalid_schedule{
          who_,
          "an action is none that a graph has",
          {{"action", played_}, {"kind", int(a.kind)}, {"slot", a.slot}, {"from", a.from}, {"to", a.to}},
          "make it by cairn::graph_actions"};
    std::size_t const v = std::size_t(a.from);
    switch (a.kind) {
      case action_kind::advance:
        need(!kept_[v], "an operation is run whose value is kept", a);
        check_run(a);
        break;
      case action_kind::record:
        need(!taped_[v], "an operation is recorded whose tape is kept", a);
        check_run(a);
        break;
      case action_kind::drop:
        if (a.what == content::tape) need(taped_[v], "a tape is dropped that is not kept", a);
        else need(kept_[v], "a value is dropped that is not kept", a);
        break;
      case action_kind::turn:
        need(v == reads_.count, "the loss has the number of an operation", a);
        need(remaining_ == reads_.count + 1, "the loss of a graph is run twice", a);
        need(all_held(reads_.needs[v]), "the loss is run without the value of an output", a);
        break;
      case action_kind::reverse:
        need(remaining_ == v + 1, "the adjoint of an operation is run out of order", a);
        need(all_held(reads_.needs[v]), "the adjoint of an operation is run without a value that it reads", a);
        need(!reads_.has_tape[v] || taped_[v], "the adjoint of an operation is run without its tape", a);
        break;
      default: break;
    }
  }
  /// \pre check(a) has not thrown
  void apply(action const& a) noexcept {
    std::size_t const v = std::size_t(a.from);
    switch (a.kind) {
      case action_kind::advance: kept_[v] = 1; break;
      case action_kind::record: kept_[v] = taped_[v] = 1; break;
      case action_kind::drop: (a.what == content::tape ? taped_ : kept_)[v] = 0; break;
      case action_kind::turn: remaining_ = v; break;
      case action_kind::reverse:
        kept_[v] = taped_[v] = 0;
        remaining_ = v;
        break;
      default: break;
    }
    ++played_;
  }
  /// \throws invalid_schedule   if an adjoint is missing
  void finish() const {
    if (remaining_ != 0)
      throw invalid_schedule{who_,
                             "the plan ends before the adjoint of operation 0 has run",
                             {{"actions", played_}, {"adjoints left", remaining_}},
                             ""};
  }

  /// Begins another sweep over the same graph.
  void restart() noexcept {
    for (char& one : kept_) one = 0;
    for (char& one : taped_) one = 0;
    remaining_ = reads_.count + 1;
    played_ = 0;
  }

  [[nodiscard]] bool holds_value(std::size_t v) const noexcept { return kept_[v] != 0; }
  [[nodiscard]] bool holds_tape(std::size_t v) const noexcept { return taped_[v] != 0; }
  /// The adjoints of operations [0, remaining) are still to run; n + 1 includes the loss.
  [[nodiscard]] std::size_t remaining() const noexcept { return remaining_; }

 private:
  void check_run(action const& a) const {
    need(std::size_t(a.from) < remaining_, "an operation is run after its adjoint", a);
    need(all_held(reads_.inputs[std::size_t(a.from)]), "an operation is run without the value of an input", a);
  }
  [[nodiscard]] bool all_held(std::vector<std::size_t> const& values) const noexcept {
    for (std::size_t const v : values)
      if (!kept_[v]) return false;
    return true;
  }
  void need(bool holds, char const* problem, action const& a) const {
    if (!holds) refuse(problem, a);
  }
  [[noreturn]] void refuse(char const* problem, action const& a) const {
    throw invalid_schedule{who_, problem, {{"action", played_}, {"operation", a.from}}, ""};
  }

  graph_reads const& reads_;
  char const* who_;
  table<char> kept_, taped_;
  std::size_t remaining_;
  std::size_t played_ = 0;
};

}  // namespace cairn::detail
