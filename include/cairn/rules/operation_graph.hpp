// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file operation_graph.hpp  A graph of operations, such as a network with skip connections: the sizes, times and
/// inputs of each operation.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// The inputs of an operation whose values its adjoint reads: one flag for all inputs, or one for each. Flags that are
/// all alike are kept as one.
class needed_inputs {
 public:
  /// All of them, or none.
  needed_inputs(bool all = true) noexcept : all_{all} {}
  /// A flag for each, in their order.
  needed_inputs(std::initializer_list<bool> each) : needed_inputs(std::vector<bool>(each)) {}
  /// The same from a list that is made at run time.
  explicit needed_inputs(std::vector<bool> each) : each_(std::move(each)) {
    bool const first = each_.empty() || each_.front();
    for (bool const one : each_)
      if (one != first) return;
    all_ = first;
    each_.clear();
  }

  /// Whether the adjoint reads the value of the input at this place in the list.
  [[nodiscard]] bool operator[](std::size_t place) const noexcept {
    return each_.empty() ? all_ : place < each_.size() && each_[place];
  }
  /// The flags of the inputs; empty if one flag holds for all.
  [[nodiscard]] std::vector<bool> const& each() const noexcept { return each_; }
  friend bool operator==(needed_inputs const&, needed_inputs const&) = default;

 private:
  bool all_ = true;
  std::vector<bool> each_ = {};
};

/// One operation and the adjoint of its value. Numbers are >= 0; sizes are in bytes, times in any one unit, such as
/// nanoseconds.
struct graph_operation {
  /// Operations whose values it reads, each earlier in the order. An operation that is named twice is read once.
  std::vector<step_index> inputs = {};
  std::int64_t bytes = 0;               ///< of its value
  std::int64_t time = 0;                ///< to run it
  std::int64_t work = 0;                ///< bytes it takes while it runs, besides its inputs, its value and its tape
  /// Bytes that its adjoint needs of a run besides values: a mask, indices, statistics. 0 if its adjoint needs no tape.
  std::int64_t tape_bytes = 0;
  std::int64_t adjoint_bytes = -1;      ///< of the adjoint of its value; -1: the same as for the value
  std::int64_t adjoint_time = 0;        ///< to run its adjoint
  std::int64_t adjoint_work = 0;        ///< bytes its adjoint takes while it runs, besides values and adjoints
  /// Which of `inputs` its adjoint reads. The adjoint of a product reads all, that of a sum none, that of a table
  /// look-up reads the places but not the table: `{false, true}`. An input that is named twice is read if one of its
  /// flags says so.
  needed_inputs adjoint_needs_inputs = true;
  /// Whether its adjoint reads its own value: that of a softmax does, that of a convolution does not.
  bool adjoint_needs_output = true;
  /// States outside the graph that it changes, by numbers >= 0 of the caller's: a generator that it draws from, a
  /// buffer that others read, a counter, a file.
  std::vector<step_index> states_changed = {};
  /// States outside the graph that it reads and does not change.
  std::vector<step_index> states_read = {};
  /// Bytes of a copy of these states. An operation that runs more than once keeps one from its first run to its last,
  /// and takes as much again while it runs again.
  std::int64_t copy_bytes = 0;
  friend bool operator==(graph_operation const&, graph_operation const&) = default;
};

/// n operations 0..n-1, in an order in which they can run, and a loss. Value v is what operation v makes. The caller
/// owns the inputs of the graph, which are not listed, their adjoints, and parameters: these are always there, and
/// their bytes are not counted.
///
/// A sweep starts with no value, no tape and no adjoint. In the forward run, operation v runs while the values of its
/// inputs are kept. It makes value v and, if it is recorded, its tape. It may run any number of times until its adjoint
/// has run. Values and tapes are kept and dropped separately: a tape holds none of the values that its adjoint also
/// reads. The loss reads the values in `outputs` and makes their adjoints. Then the adjoints of operations n-1..0 run,
/// in this order and once each. The adjoint of operation v reads the values that the flags of v name, the tape of v if
/// it has one, and the adjoint of value v. It makes the adjoints of its inputs that do not exist yet and adds to the
/// others. After it, value v, tape v and the adjoint of value v are dropped. The bytes at a moment are those of kept
/// values and tapes, of existing adjoints, and of the work that runs. While v runs, value v counts, and its tape if it
/// is recorded; while its adjoint runs, all that it reads and makes counts.
///
/// Operations that use the same state outside the graph, of which at least one changes it, run for the first time in
/// their order. A later run begins with the states as the first one found them, and puts them back as it found them
/// itself.
struct operation_graph {
  std::vector<graph_operation> operations;  ///< 0..n-1; may be empty
  std::vector<step_index> outputs = {};     ///< values that the loss reads; if empty, those that no operation reads
  std::int64_t loss_time = 0;               ///< to run the loss with its adjoints
  std::int64_t loss_work = 0;               ///< bytes it takes while it runs, besides values and adjoints

  [[nodiscard]] step_index size() const noexcept { return step_index(operations.size()); }  ///< n
  friend bool operator==(operation_graph const&, operation_graph const&) = default;
};

/// The actions of plans for graphs. Each value and each tape has a place with the number of its operation and stays
/// there until it is dropped; there is no live state. In each action `from` is the number of the operation; the loss
/// has number n.
namespace graph_actions {

/// Run operation v on the values of its inputs, which stay, and keep value v. It makes no tape.
[[nodiscard]] constexpr action advance(step_index v) noexcept {
  return {action_kind::advance, tier::memory, content::state, v, v, v + 1};
}
/// Run operation v on the values of its inputs, which stay, and keep value v and its tape. If value v is kept already,
/// the new one replaces it: the old one is dropped before the operation runs.
[[nodiscard]] constexpr action record(step_index v) noexcept {
  return {action_kind::record, tier::memory, content::tape, v, v, v + 1};
}
/// Drop value v. The tape of v stays.
[[nodiscard]] constexpr action drop(step_index v) noexcept {
  return {action_kind::drop, tier::memory, content::state, v, v, 0};
}
/// Drop the tape of operation v. Value v stays.
[[nodiscard]] constexpr action drop_tape(step_index v) noexcept {
  return {action_kind::drop, tier::memory, content::tape, v, v, 0};
}
/// The loss: make the adjoints of the outputs from their values, which stay.
[[nodiscard]] constexpr action turn(step_index operations) noexcept {
  return {action_kind::turn, tier::memory, content::state, no_slot, operations, operations};
}
/// Run the adjoint of operation v; value v and tape v, if kept, and the adjoint of value v are dropped.
[[nodiscard]] constexpr action reverse(step_index v) noexcept {
  return {action_kind::reverse, tier::memory, content::state, v, v, v + 1};
}

}  // namespace graph_actions

namespace detail {

/// \throws invalid_plan   for inputs that do not come before their reader, for outputs that do not exist, for values
///   that nothing reads, and for negative numbers
/// \throws overflow_error   if sums could exceed 2^62
inline void check_graph(operation_graph const& graph, char const* who) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  constexpr char const* wanted = "give numbers of 0 or more";
  std::size_t const count = graph.operations.size();
  std::vector<char> read(count);
  wide bytes = 0, times = 0, adjoint_times = 0;
  for (std::size_t v = 0; v < count; ++v) {
    graph_operation const& of = graph.operations[v];
    for (step_index const input : of.inputs) {
      if (input < 0 || input >= step_index(v))
        throw invalid_plan{who,
                           "an operation reads a value that is not made before it",
                           {{"operation", v}, {"input", input}, {"operations", count}},
                           "list operations in an order in which they can run; inputs of the graph are not listed"};
      read[std::size_t(input)] = 1;
    }
    if (std::size_t const flags = of.adjoint_needs_inputs.each().size(); flags != 0 && flags != of.inputs.size())
      throw invalid_plan{who,
                         "an adjoint has flags for a different number of inputs",
                         {{"operation", v}, {"flags", flags}, {"inputs", of.inputs.size()}},
                         "give adjoint_needs_inputs one flag for each input, or one for all"};
    for (std::int64_t const size : {of.bytes, of.work, of.tape_bytes, of.adjoint_work, of.copy_bytes}) {
      if (size < 0)
        throw invalid_plan{who, "an operation has a negative size", {{"operation", v}, {"value", size}}, wanted};
      bytes += wide(size);
    }
    bytes += wide(of.copy_bytes);
    for (auto const* const list : {&of.states_changed, &of.states_read})
      for (step_index const state : *list)
        if (state < 0)
          throw invalid_plan{who, "an operation uses a state with a negative number",
                             {{"operation", v}, {"value", state}}, wanted};
    if (of.adjoint_bytes < -1)
      throw invalid_plan{who,
                         "an adjoint has a negative size",
                         {{"operation", v}, {"value", of.adjoint_bytes}},
                         "give 0 or more, or -1 for the size of the value"};
    bytes += wide(of.adjoint_bytes < 0 ? of.bytes : of.adjoint_bytes);
    for (std::int64_t const time : {of.time, of.adjoint_time})
      if (time < 0)
        throw invalid_plan{who, "an operation has a negative time", {{"operation", v}, {"value", time}}, wanted};
    times += wide(of.time);
    adjoint_times += wide(of.adjoint_time);
  }
  if (graph.loss_work < 0 || graph.loss_time < 0)
    throw invalid_plan{
        who, "the loss has a negative size or time", {{"work", graph.loss_work}, {"time", graph.loss_time}}, wanted};
  bytes += wide(graph.loss_work);
  times = times * (wide(count) + 1) + adjoint_times + wide(graph.loss_time);
  if (bytes > wide(most) || times > wide(most))
    throw overflow_error{who,
                         "the sums of this graph exceed 2^62",
                         {{"all bytes", bytes}, {"operations times all times", times}},
                         "give times in a larger unit, or sizes in KiB"};
  for (step_index const output : graph.outputs) {
    if (output < 0 || output >= step_index(count))
      throw invalid_plan{who, "an output is not an operation of the graph", {{"output", output}, {"operations", count}},
                         "give numbers of operations, or none for the values that no operation reads"};
    read[std::size_t(output)] = 1;
  }
  for (std::size_t v = 0; v < count && !graph.outputs.empty(); ++v)
    if (!read[v])
      throw invalid_plan{
          who, "nothing reads this value", {{"operation", v}}, "leave the operation out, or name it among the outputs"};
}

}  // namespace detail
}  // namespace cairn
