// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file known.hpp  A graph as planners take it, and the rules of plans for it; kept as long as the graph is the same.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/rules/detail/graph_walk.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/graph/builder.hpp>

namespace cairn::detail {

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

}  // namespace cairn::detail
