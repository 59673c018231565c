// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file workspace.hpp  The memory of sweeps over graphs. It outlives the sweep: with a reused workspace a warm sweep
/// allocates nothing.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/in_use.hpp>
#include <cairn/rules/detail/graph_walk.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/graph/builder.hpp>
#include <cairn/run/graph/detail/memory.hpp>
#include <cairn/run/graph/detail/replay.hpp>

namespace cairn {
namespace detail {

/// One object serves one sweep after another. Allocates nothing if the graph is that of the last sweep.
class known_graph {
 public:
  /// The same as net.graph().
  operation_graph const& declared(graph_builder const& net) {
    if (!tells(net)) {
      rules_.reset();
      declared_ = net.graph();
    }
    return declared_;
  }
  /// Which operations read which values of the graph that `declared` returned last.
  /// \throws invalid_plan, overflow_error   as `check_graph`
  graph_reads const& reads(char const* who) {
    if (!rules_) rules_.emplace(declared_, who);
    return rules_->reads;
  }
  /// \pre `reads` has returned for this graph   \throws invalid_schedule   if that graph cannot obey the plan
  template <class Actions>
  void check(Actions const& actions) {
    graph_walk& walk = rules_->walk;
    walk.restart();
    action const* const list = actions.data();
    for (std::size_t k = 0; k < actions.size(); ++k) {
      walk.check(list[k]);
      walk.apply(list[k]);
    }
    walk.finish();
  }

 private:
  struct rules {
    rules(operation_graph const& declared, char const* who) : reads{declared, who}, walk{reads, who} {}
    rules(rules const&) = delete;
    graph_reads reads;
    graph_walk walk;
  };

  [[nodiscard]] bool tells(graph_builder const& net) {
    std::size_t const count = net.operations_.size();
    if (declared_.operations.size() != count) return false;
    for (std::size_t v = 0; v < count; ++v)
      if (!is_declared(net, net.operations_[v], declared_.operations[v])) return false;
    std::size_t outputs = 0;
    for (std::int32_t const output : net.outputs_) {
      std::int32_t const base = net.base_of(output);
      if (base < 0) continue;
      if (outputs == declared_.outputs.size() || declared_.outputs[outputs] != base) return false;
      ++outputs;
    }
    return outputs == declared_.outputs.size();
  }
  [[nodiscard]] static bool is_declared(graph_builder const& net, graph_builder::operation const& of,
                                    graph_operation& declared) {
    std::size_t inputs = 0;
    for (std::size_t k = 0; k < of.inputs.size(); ++k) {
      std::int32_t const base = net.base_of(of.inputs[k]);
      if (base < 0) continue;
      if (inputs == declared.inputs.size() || declared.inputs[inputs] != base ||
          declared.adjoint_needs_inputs[inputs] != of.reads_inputs[k])
        return false;
      ++inputs;
    }
    if (inputs != declared.inputs.size() || of.states_changed != declared.states_changed ||
        of.states_read != declared.states_read)
      return false;
    // The numbers are compared as a whole. Lists are moved aside, because those of `now` would be allocated.
    graph_operation const now = graph_builder::declared(of);
    graph_operation lists;
    auto const swap_lists = [&] {
      std::swap(lists.inputs, declared.inputs), std::swap(lists.adjoint_needs_inputs, declared.adjoint_needs_inputs);
      std::swap(lists.states_changed, declared.states_changed), std::swap(lists.states_read, declared.states_read);
      std::swap(lists.copy_bytes, declared.copy_bytes);  // of copies that were made then
    };
    swap_lists();
    bool const same = declared == now;
    swap_lists();
    return same;
  }

  operation_graph declared_;
  std::optional<rules> rules_;
};
class graph_use;
}  // namespace detail

/// The memory of sweeps over graphs. Pass the same workspace to every `graph_gradient`, and a warm sweep allocates
/// nothing but what operations, adjoints and seeds allocate themselves. Graphs, plans and budgets may change from sweep
/// to sweep. One workspace serves one sweep at a time, and one thread.
///
/// It keeps tables, some 300 bytes per operation, and boxes for the values, tapes and adjoints whose types have up to
/// 304 bytes, or 192 if aligned to 64: as many of a size as one sweep has held at one time. What a value owns in
/// addition, such as the numbers of a vector, is freed when the plan drops the value. Larger types are allocated each
/// time, so that no large memory is kept that the plan does not count.
class graph_workspace {
 public:
  graph_workspace() = default;
  graph_workspace(graph_workspace const&) = delete;
  graph_workspace& operator=(graph_workspace const&) = delete;

  /// Bytes of the boxes, free or in use.
  [[nodiscard]] std::size_t box_bytes() const noexcept { return memory_ ? memory_->storage.boxes.bytes() : 0; }
  /// Frees all of its memory, and ends the adjoints that the last sweep left here; the next sweep allocates it again.
  /// \throws reentrancy_error   while a sweep runs here
  void clear() {
    if (busy_) detail::refuse_busy("cairn::graph_workspace::clear");
    ++users_;
    memory_.reset();
  }

 private:
  friend class detail::graph_use;
  friend class graph_adjoints;

  struct memory {
    detail::graph_storage storage;
    detail::known_graph known;
    detail::graph_replay replay;
  };

  std::optional<memory> memory_;
  std::uint64_t users_ = 0;  // counts sweeps that began here: adjoints end when another sweep begins
  detail::busy_mark busy_;
};

}  // namespace cairn
