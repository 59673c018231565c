// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file record_graph.hpp  A recorded call as a graph of operations, with bytes and nanoseconds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/record/detail/call_record.hpp>
#include <cairn/core/action.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::libtorch::detail {

/// Each operator of a call is an operation, or each of the nodes that are given; one that changes memory of the call in
/// place is part of the operation before it. Its value is what others read or the caller holds, its tape what its own
/// adjoint alone reads. Memory from outside that the call changes is a state. Adjoints have no times and no work: the
/// call has not run back.
struct record_graph {
  operation_graph graph;
  std::vector<int> begins;         ///< for each operation, its first operator; at the end, the number of operators
  std::vector<std::string> names;  ///< "convolution", or "native_batch_norm+relu_"
  std::vector<std::vector<void const*>> reads;  ///< for each operation, the memories from outside that it reads

  /// \pre the record's call has just ended, and its result is alive
  /// \param nodes  the first operators of nodes, in order; empty for each operator
  explicit record_graph(call_record& record, std::vector<int> nodes = {})
      : contents_{record.contents()}, operators_{record.operators()} {
    find_states();
    find_operations(std::move(nodes));
    std::size_t const count = begins.size() - 1;
    graph.operations.assign(count, {.adjoint_bytes = 0, .adjoint_needs_output = false});
    names.resize(count);
    reads.resize(count);
    flags_.resize(count);
    for (int k = 0; k < operators_.size(); ++k) read_operator(k);
    for (auto const& one : record.saves()) read_save(one);
    for (int c = 0; c < contents_.size(); ++c) add_bytes(c, record.layouts());
    std::vector<char> is_read(count);
    for (std::size_t v = 0; v < count; ++v) {
      auto& one = graph.operations[v];
      one.adjoint_needs_inputs = needed_inputs(flags_[v]);
      std::erase_if(one.states_read, [&](step_index s) { return is_among(one.states_changed, s) || !is_changed(s); });
      for (auto const u : one.inputs) is_read[std::size_t(u)] = 1;
    }
    for (std::size_t v = 0; v < count; ++v)
      if (!is_read[v]) graph.outputs.push_back(step_index(v));
  }
  /// The operation of an operator; the last one for what comes after all of them.
  [[nodiscard]] std::size_t operation_of(int number) const {
    auto const place = std::upper_bound(begins.begin(), begins.end(), number) - begins.begin();
    return (std::min)(std::size_t(place), begins.size() - 1) - 1;
  }

 private:
  /// What is known of a content.
  struct use {
    bool is_state = false;   ///< it is in memory from outside
    bool is_passed = false;  ///< another operation reads it, or its adjoint does
    bool is_tape = false;    ///< the adjoint of its own operation reads it
    bool is_over = false;    ///< its own operation has overwritten it
  };
  [[nodiscard]] static bool is_among(std::vector<step_index> const& all, step_index one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  }
  template <class T>
  static step_index add_to(std::vector<T>& all, T one) {
    auto const found = std::find(all.begin(), all.end(), one);
    auto const place = step_index(found - all.begin());
    if (found == all.end()) all.push_back(one);
    return place;
  }
  [[nodiscard]] use& of(int c) { return uses_[std::size_t(c)]; }
  /// Whether an operator has made it, in memory that is not from outside.
  [[nodiscard]] bool made_in_call(int c) { return contents_[c].made_by >= 0 && !of(c).is_state; }
  [[nodiscard]] bool is_changed(step_index state) const {
    return std::size_t(state) < changed_.size() && changed_[std::size_t(state)] != 0;
  }

  void find_states() {
    uses_.resize(std::size_t(contents_.size()));
    std::vector<char> seen, outside;  // by cell
    for (int c = 0; c < contents_.size(); ++c) {
      auto const cell = std::size_t(contents_[c].cell);
      if (cell >= seen.size()) seen.resize(cell + 1), outside.resize(cell + 1);
      if (!std::exchange(seen[cell], 1)) outside[cell] = contents_[c].made_by < 0;
      of(c).is_state = outside[cell] != 0;
    }
  }
  void find_operations(std::vector<int> nodes) {
    if (nodes.empty()) {
      nodes.resize(std::size_t(operators_.size()));
      std::iota(nodes.begin(), nodes.end(), 0);
    }
    nodes.push_back(operators_.size());
    for (std::size_t j = 0; j + 1 < nodes.size(); ++j) {
      int const first = nodes[j], last = nodes[j + 1];
      bool in_place = false;  // memory that earlier operations have made
      for (int k = first; k < last; ++k)
        for (auto const& w : operators_.writes(k))
          in_place = in_place || (made_in_call(w.before) && contents_[w.before].made_by < first);
      if (first < last && (begins.empty() || !in_place)) begins.push_back(begins.empty() ? 0 : first);
    }
    begins.push_back(operators_.size());
  }
  void read_operator(int k) {
    auto const v = operation_of(k);
    auto& one = graph.operations[v];
    auto const& op = operators_[k];
    std::string name = op.op.schema().name();
    if (name.rfind("aten::", 0) == 0) name.erase(0, 6);
    names[v] += (names[v].empty() ? "" : "+") + name;
    one.time += std::int64_t(double(op.seconds) * 1e9);
    if (op.facts->draws) add_to<step_index>(one.states_changed, 0);
    for (auto const& t : operators_.tensors(k)) {
      int const c = t.content;
      if (!made_in_call(c))
        if (auto const memory = contents_.cell_of(c).memory.lock()) add_to<void const*>(reads[v], memory.get());
      if (of(c).is_state) add_to(one.states_read, state_of(c));
      else if (made_in_call(c) && operation_of(contents_[c].made_by) != v && t.is_needed)
        of(c).is_passed = true, (void)add_input(v, c);
    }
    for (auto const& w : operators_.writes(k)) {
      if (of(w.before).is_state) {
        auto const state = state_of(w.before);
        if (is_among(one.states_changed, state)) continue;
        one.states_changed.push_back(state);
        one.copy_bytes += w.bytes;
        changed_.resize((std::max)(changed_.size(), std::size_t(state) + 1));
        changed_[std::size_t(state)] = 1;
      } else if (w.after != w.before && made_in_call(w.before) && operation_of(contents_[w.before].made_by) == v) {
        of(w.before).is_over = true;
      }
    }
  }
  void read_save(call_record::save_note const& save) {
    int const c = save.content;
    if (!made_in_call(c)) return;
    auto const v = operation_of(save.by);
    if (operation_of(contents_[c].made_by) == v) of(c).is_tape = true;
    else of(c).is_passed = true, flags_[v][std::size_t(add_input(v, c))] = true;
  }
  /// \returns the place of the content's operation among the inputs
  step_index add_input(std::size_t v, int c) {
    auto const place = add_to(graph.operations[v].inputs, step_index(operation_of(contents_[c].made_by)));
    flags_[v].resize(graph.operations[v].inputs.size());
    return place;
  }
  void add_bytes(int c, layout_list const& layouts) {
    auto const& what = contents_[c];
    if (!made_in_call(c) || of(c).is_over) return;
    auto& one = graph.operations[operation_of(what.made_by)];
    if (of(c).is_passed || is_held_outside(c)) {
      one.bytes += what.bytes;
      one.adjoint_needs_output = one.adjoint_needs_output || of(c).is_tape;
      if (operators_[what.made_by].has_adjoint && layouts.is_differentiable(what.layout))
        one.adjoint_bytes += what.bytes;
    } else if (of(c).is_tape) {
      one.tape_bytes += what.bytes;
    } else {
      one.work += what.bytes;
    }
  }
  /// Whether somebody beside the record holds its memory, as the caller does with results.
  [[nodiscard]] bool is_held_outside(int c) const {
    auto const& cell = contents_.cell_of(c);
    if (cell.current != c) return false;
    auto const memory = cell.memory.lock();
    auto const ours = contents_[c].kept.unsafeGetStorageImpl() == memory.get() ? 2U : 1U;
    return memory && memory.use_count() > ours;
  }
  [[nodiscard]] step_index state_of(int c) const { return 1 + step_index(contents_[c].cell); }

  memory_cells const& contents_;
  recorded_operators& operators_;
  std::vector<use> uses_;
  std::vector<char> changed_;  ///< by state
  std::vector<std::vector<bool>> flags_;  ///< for each operation: which inputs its adjoint reads
};

}  // namespace cairn::libtorch::detail
