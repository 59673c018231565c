// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_program.hpp  A captured graph with the plan by which its calls run.
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/graph/detail/captured_graph.hpp>
#include <cairn/adapt/torch/graph/detail/operation_tape.hpp>
#include <cairn/adapt/torch/state/rng.hpp>
#include <cairn/core/action.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::libtorch::detail {

/// A graph and the plan by which it runs. Calls share it; it holds no input of any call.
struct graph_program {
  captured_graph graph;
  std::vector<action> actions;
  std::vector<tape_references> refers;  ///< for each operation: what its adjoint reads outside the tape
  std::vector<bool> free_tape;          ///< for each operation: whether its tape takes no bytes, so that every run may
                                        ///< keep one
  std::vector<bool> changing_leaf;      ///< for each leaf: whether an operation changes it in place
  Rng rng = Rng::Preserve;
  char const* who = "";
  bool as_it_is = false;  ///< whether autograd runs the graph as it is, without the actions
  std::function<void(action const&)> told;  ///< called before each run and adjoint after the loss; may be empty
  bool tells_forward = false;               ///< whether it is called before the loss, too

  /// \param measured  the same operations
  graph_program(captured_graph of, operation_graph const& measured, std::vector<action> plan, Rng numbers,
                char const* name, std::function<void(action const&)> tell = {})
      : graph{std::move(of)},
        actions{std::move(plan)},
        changing_leaf(graph.leaves.size()),
        rng{numbers},
        who{name},
        told{std::move(tell)} {
    for (std::size_t v = 0; v < graph.operations.size(); ++v) {
      auto const& one = measured.operations[v];
      refers.push_back({inputs_there(graph.operations[v], one), one.adjoint_needs_output});
      free_tape.push_back(one.tape_bytes == 0);
    }
    for (auto const& one : graph.operations)
      for (auto const k : one.changing)
        changing_leaf[std::size_t(one.inputs[std::size_t(k)].output)] = true;
  }

 private:
  /// For each input: whether it is available when the adjoint runs, because the adjoint needs it or because it is a
  /// leaf.
  [[nodiscard]] static std::vector<bool> inputs_there(captured_operation const& what, graph_operation const& measured) {
    std::vector<bool> there;
    for (auto const& from : what.inputs) {
      there.push_back(from.operation < 0);
      for (std::size_t k = 0; k < measured.inputs.size(); ++k)
        if (measured.inputs[k] == from.operation && measured.adjoint_needs_inputs[k]) there.back() = true;
    }
    return there;
  }
};

}  // namespace cairn::libtorch::detail
