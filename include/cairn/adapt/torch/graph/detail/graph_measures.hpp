// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_measures.hpp  Measures the operations of a captured graph: bytes of values and tapes, and times.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <cairn/adapt/torch/graph/detail/captured_graph.hpp>
#include <cairn/adapt/torch/graph/detail/operation_probe.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/rng.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::libtorch::detail {

/// Measures a graph one operation at a time. Each one runs a few times forward and backward. A value is kept only until
/// the last operation that reads it has run, so that what the plain call keeps is never in memory all at once.
class graph_probe {
 public:
  /// \param graph  must outlive the probe   \param inputs  the inputs of the call
  graph_probe(captured_graph const& graph, std::vector<at::Tensor> const& inputs)
      : graph_{graph}, leaves_(graph.leaves.begin(), graph.leaves.end()) {
    for (std::size_t k = 0; k < graph.inputs; ++k) leaves_[k] = inputs[k].defined() ? inputs[k].detach() : at::Tensor{};
    for (std::size_t k = 0; k < graph.inputs; ++k)
      if (inputs[k].defined() && inputs[k].requires_grad()) leaves_[k].requires_grad_(true);
  }

  /// Measures bytes, and medians of times in nanoseconds. Generators are restored at the end, and operations that
  /// change a leaf in place change a copy of it.
  /// \param times  how often each operation is timed, >= 1; a first run, which is not timed, comes before
  [[nodiscard]] operation_graph run(int times) {
    at::AutoGradMode const records{true};
    generator_use const drawing{Rng::Preserve};
    auto const generators = generator_states::now(leaves_);
    generator_guard const at_end{drawing, generators};
    std::vector<std::size_t> readers(graph_.operations.size());
    for (auto const& one : graph_.operations)
      for (auto const& source : one.inputs) if (source.operation >= 0) ++readers[std::size_t(source.operation)];
    for (auto const& source : graph_.results)
      if (source.operation >= 0) readers[std::size_t(source.operation)] += graph_.operations.size() + 1;
    operation_graph found;
    values_.resize(graph_.operations.size());
    gradients_.resize(graph_.operations.size());
    other_strides_.resize(graph_.operations.size());
    for (std::size_t v = 0; v < graph_.operations.size(); ++v) {
      found.operations.push_back(measure(v, times));
      for (auto const& source : graph_.operations[v].inputs) {
        if (source.operation < 0) continue;
        auto const from = std::size_t(source.operation);
        if (--readers[from] == 0) values_[from].clear();
      }
    }
    for (auto const& source : graph_.results)
      if (source.operation >= 0 && std::find(found.outputs.begin(), found.outputs.end(), source.operation) ==
                                       found.outputs.end())
        found.outputs.push_back(source.operation);
    std::sort(found.outputs.begin(), found.outputs.end());
    count_contributions(found);
    count_copies(found);
    count_results(found);
    for (std::size_t v = 0; v < other_strides_.size(); ++v) found.operations[v].adjoint_work += other_strides_[v];
    return found;
  }

 private:
  /// Adds to the work of each adjoint the gradients that it makes in blocks of their own. Adjoints run from the last
  /// operation to the first. If a value has several readers, or is a result, its adjoint exists before the last
  /// reader contributes to it, and that contribution takes a block until it is added. The same holds for a parameter
  /// that several operations read: only the first contribution is made in the block that becomes its gradient.
  void count_contributions(operation_graph& found) const {
    part_flags is_there(found.operations.size()), leaf_is_there(leaves_.size());
    for (step_index const v : found.outputs) is_there[std::size_t(v)] = true;
    for (std::size_t v = found.operations.size(); v-- > 0;) {
      auto& one = found.operations[v];
      for (step_index const input : one.inputs)
        if (is_there[std::size_t(input)]) one.adjoint_work += found.operations[std::size_t(input)].adjoint_bytes;
        else is_there[std::size_t(input)] = true;
      auto const& what = graph_.operations[v];
      for (std::size_t k = 0; k < what.inputs.size(); ++k) {
        auto const leaf = std::size_t(what.inputs[k].output);
        if (what.inputs[k].operation >= 0 || what.first_reading(k) < k || !leaves_[leaf].defined() ||
            !leaves_[leaf].requires_grad())
          continue;
        if (leaf_is_there[leaf]) one.adjoint_work += std::int64_t(leaves_[leaf].nbytes());
        leaf_is_there[leaf] = true;
      }
    }
  }
  /// Counts the copies of what operations change in place. Second runs need them, so they are kept for the whole call
  /// and are part of the work of every operation, every adjoint and the loss.
  void count_copies(operation_graph& found) const {
    std::int64_t bytes = 0;
    for (auto const& one : graph_.operations) bytes += changed_bytes(one, leaves_);
    for (auto& one : found.operations) {
      one.work += bytes;
      one.adjoint_work += bytes;
    }
    found.loss_work += bytes;
  }
  /// Counts the results as work of every operation: after the loss the caller holds them, beside the values that the
  /// plan keeps or computes again.
  static void count_results(operation_graph& found) {
    std::int64_t bytes = 0;
    for (step_index const v : found.outputs) bytes += found.operations[std::size_t(v)].bytes;
    for (auto& one : found.operations) {
      one.work += bytes;
      one.adjoint_work += bytes;
    }
  }

  [[nodiscard]] std::vector<at::Tensor> inputs_of(captured_operation const& one) const {
    std::vector<at::Tensor> inputs;
    for (std::size_t k = 0; k < one.inputs.size(); ++k) {
      auto const source = one.inputs[k];
      auto const place = std::size_t(source.output);
      bool const is_leaf = source.operation < 0;
      if (auto const first = one.first_reading(k); first < k && !one.changes(k) && !one.changes(first)) {
        inputs.push_back(inputs[first]);
        continue;
      }
      auto t = (is_leaf ? leaves_[place] : values_[std::size_t(source.operation)][place]);
      bool const wanted = is_leaf ? t.requires_grad() : bool(gradients_[std::size_t(source.operation)][place]);
      at::NoGradGuard const off;
      inputs.push_back((one.changes(k) ? t.detach().clone() : t.detach()).requires_grad_(wanted));
    }
    return inputs;
  }
  [[nodiscard]] graph_operation measure(std::size_t v, int times) {
    auto const& what = graph_.operations[v];
    operation_probe probe{what, leaves_};
    probe.run_first(inputs_of(what));
    for (int round = 0; round < times; ++round) probe.run_timed(inputs_of(what));
    values_[v] = probe.value();
    gradients_[v] = probe.requires_grad();
    for (std::size_t k = 0; k < what.inputs.size(); ++k) {
      if (what.inputs[k].operation < 0) continue;
      auto& bytes = other_strides_[std::size_t(what.inputs[k].operation)];
      bytes = (std::max)(bytes, probe.other_strides()[k]);
    }
    return probe.measures();
  }

  captured_graph const& graph_;
  std::vector<at::Tensor> leaves_;
  std::vector<std::vector<at::Tensor>> values_;
  std::vector<std::vector<bool>> gradients_;  ///< for each tensor of each value: whether it requires one
  std::vector<std::int64_t> other_strides_;  ///< for each operation: bytes of gradients in another layout
};

/// Measures a captured graph on inputs like those it was captured for. The loss is not part of the graph: its outputs
/// are the results of the call.
[[nodiscard]] inline operation_graph measured_graph(captured_graph const& graph, std::vector<at::Tensor> const& inputs,
                                                    int times = 3) {
  return graph_probe{graph, inputs}.run(times);
}

}  // namespace cairn::libtorch::detail
