// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_node.hpp  A call that runs by a plan, as one node of the autograd graph.
#include <cstddef>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/checkpoint/detail/tensor_stage.hpp>
#include <cairn/adapt/torch/graph/detail/captured_graph.hpp>
#include <cairn/adapt/torch/graph/detail/graph_program.hpp>
#include <cairn/adapt/torch/graph/detail/graph_sweep.hpp>
#include <cairn/adapt/torch/state/detail/captures.hpp>
#include <cairn/adapt/torch/state/detail/sweep_node.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::libtorch::detail {

/// Runs a captured call with the history of its leaves: autograd keeps what it saves. A value is dropped after the last
/// operation that reads it.
[[nodiscard]] inline tensor_list run_as_it_is(graph_program const& program, tensor_list const& leaves) {
  auto const& graph = program.graph;
  std::vector<std::size_t> readers(graph.operations.size());
  auto const visit = [](std::vector<tensor_source> const& list, auto const& each) {
    for (auto const& from : list) if (from.operation >= 0) each(std::size_t(from.operation));
  };
  for (auto const& one : graph.operations) visit(one.inputs, [&](std::size_t u) { ++readers[u]; });
  visit(graph.results, [&](std::size_t u) { ++readers[u]; });
  std::vector<tensor_list> values(graph.operations.size());
  auto const tensor_at = [&](tensor_source const& from) {
    return from.operation < 0 ? leaves[std::size_t(from.output)]
                              : values[std::size_t(from.operation)][std::size_t(from.output)];
  };
  c10::impl::ExcludeDispatchKeyGuard const no_casts{c10::autocast_dispatch_keyset};
  for (std::size_t v = 0; v < values.size(); ++v) {
    auto const& one = graph.operations[v];
    tensor_list inputs;
    for (auto const& from : one.inputs) inputs.push_back(tensor_at(from));
    if (program.told && program.tells_forward) program.told(graph_actions::advance(step_index(v)));
    values[v] = one.run(inputs);
    visit(one.inputs, [&](std::size_t u) { if (--readers[u] == 0) values[u].clear(); });
  }
  tensor_list results;
  for (auto const& from : graph.results) results.push_back(tensor_at(from));
  return results;
}

/// The autograd node of one call. Its inputs are the gradients of the results; its outputs are the gradients of those
/// leaves that require one.
class graph_node final : public sweep_node<graph_sweep> {
 public:
  /// Runs a call forward by its plan, and returns the results with this node as their history.
  /// \param leaves  the inputs of the call, then the other leaves of the graph, with their history
  [[nodiscard]] static tensor_list call(std::shared_ptr<graph_program const> program, tensor_list const& leaves) {
    if (program->as_it_is) return run_as_it_is(*program, leaves);
    need_saved_hooks(program->who);
    std::shared_ptr<graph_node> const node{new graph_node{program, leaves}, torch::autograd::deleteNode};
    auto results = node->sweep_->forward();
    part_flags flags;
    for (auto const& from : program->graph.results)
      flags.push_back(from.operation >= 0 && node->sweep_->requires_grad(from));
    edge_list ends;
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      if (!leaves[k].defined() || !leaves[k].requires_grad() || node->sweep_->leaves().slot(k) != k) continue;
      node->wanted_.push_back(k);
      ends.push_back(torch::autograd::impl::gradient_edge(leaves[k]));
    }
    node->set_next_edges(std::move(ends));
    results = behind_gate(results, flags, node);
    for (std::size_t k = 0; k < results.size(); ++k)
      if (auto const& from = program->graph.results[k]; from.operation < 0)
        results[k] = leaves[std::size_t(from.output)];
    return results;
  }

  [[nodiscard]] std::string name() const override { return "CheckpointedModuleBackward"; }

 protected:
  torch::autograd::variable_list apply(torch::autograd::variable_list&& bars) override {
    std::lock_guard const lock{mutex_};
    need_sweep();
    tensor_list given{std::make_move_iterator(bars.begin()), std::make_move_iterator(bars.end())};
    bars.clear();
    if (at::GradMode::is_enabled()) return twice(given);
    part_flags wanted(leaves_);
    for (std::size_t k = 0; k < wanted_.size(); ++k) wanted[wanted_[k]] = task_should_compute_output(k);
    auto all = releasing_ ? std::exchange(sweep_, std::nullopt)->backward(std::move(given), wanted, false)
                          : graph_sweep{*sweep_}.backward(std::move(given), wanted, true);
    torch::autograd::variable_list gradients;
    for (auto const k : wanted_) gradients.push_back(std::move(all[k]));
    return gradients;
  }

 private:
  graph_node(std::shared_ptr<graph_program const> const& program, tensor_list const& leaves)
      : sweep_node{program->who, graph_sweep{program, leaves}}, leaves_{leaves.size()} {}

  /// Returns gradients that can be differentiated themselves. The call runs again without the plan, and autograd keeps
  /// everything that it saves.
  [[nodiscard]] torch::autograd::variable_list twice(tensor_list const& bars) {
    tensor_list leaves = sweep_->leaves().all();
    edge_list ends;
    std::vector<std::size_t> places;
    for (std::size_t k = 0; k < wanted_.size(); ++k) {
      auto& leaf = leaves[wanted_[k]];
      leaf = result_tensor(leaf, true, next_edge(k));
      if (!task_should_compute_output(k)) continue;
      places.push_back(k);
      ends.push_back(torch::autograd::impl::gradient_edge(leaf));
    }
    auto const results = sweep_->plainly(leaves);
    gradient_roots roots;
    for (std::size_t k = 0; k < results.size(); ++k)
      if (results[k].defined() && results[k].requires_grad())
        roots.enter(torch::autograd::impl::gradient_edge(results[k]), bars[k]);
    torch::autograd::variable_list gradients(wanted_.size());
    if (roots.edges.empty() || ends.empty()) return gradients;
    auto found =
        torch::autograd::Engine::get_default_engine().execute(roots.edges, roots.seeds, true, true, false, ends);
    for (std::size_t k = 0; k < places.size(); ++k) gradients[places[k]] = std::move(found[k]);
    return gradients;
  }

  std::size_t leaves_;
  std::vector<std::size_t> wanted_;  ///< for each output of the node: the leaf
};

}  // namespace cairn::libtorch::detail
