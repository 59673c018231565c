// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_measures.hpp  Measures the operations of a captured graph: bytes of values and tapes, and times.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones_like.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <torch/csrc/autograd/utils/grad_layout_contract.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/graph/detail/captured_graph.hpp>
#include <cairn/adapt/torch/graph/detail/operation_tape.hpp>
#include <cairn/adapt/torch/graph/detail/program_facts.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/operation_graph.hpp>

namespace cairn::libtorch::detail {

/// Measures a graph one operation at a time. Each one runs a few times forward and backward. A value is kept only until
/// the last operation that reads it has run, so that all that the plain call keeps is never in memory at once.
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
    auto const generators = generator_states::now(leaves_);
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
    generators.restore();
    return found;
  }

 private:
  using clock = std::chrono::steady_clock;
  /// Saves tensors as autograd does, and lists them, so that the probe sees whose memory they are in.
  struct keeping_hooks final : torch::autograd::SavedVariableHooks {
    explicit keeping_hooks(std::vector<at::Tensor>& list) : all{list} {}
    void call_pack_hook(at::Tensor const& t) override {
      kept = t.detach();
      all.push_back(kept);
    }
    at::Tensor call_unpack_hook() override { return kept; }
    std::vector<at::Tensor>& all;
    at::Tensor kept;
  };

  /// Adds to the work of each adjoint the gradients that it makes in blocks of their own. Adjoints run from the last
  /// operation to the first. Where a value has several readers, or is a result, its adjoint exists before the last
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
      auto const& sources = graph_.operations[v].inputs;
      for (std::size_t k = 0; k < sources.size(); ++k) {
        auto const leaf = std::size_t(sources[k].output);
        if (sources[k].operation >= 0 || first_reading(sources, k) < k || !leaves_[leaf].defined() ||
            !leaves_[leaf].requires_grad())
          continue;
        if (leaf_is_there[leaf]) one.adjoint_work += std::int64_t(leaves_[leaf].nbytes());
        leaf_is_there[leaf] = true;
      }
    }
  }
  /// The first input that is the same tensor as input `k`.
  [[nodiscard]] static std::size_t first_reading(std::vector<tensor_source> const& sources, std::size_t k) {
    for (std::size_t j = 0; j < k; ++j)
      if (sources[j].operation == sources[k].operation && sources[j].output == sources[k].output) return j;
    return k;
  }

  /// Bytes of the leaves that an operation changes in place.
  [[nodiscard]] std::int64_t changed_bytes(captured_operation const& one) const {
    std::int64_t bytes = 0;
    for (auto const k : one.changing)
      if (auto const from = one.inputs[std::size_t(k)]; from.operation < 0)
        bytes += std::int64_t(leaves_[std::size_t(from.output)].nbytes());
    return bytes;
  }
  /// Counts the copies of what operations change in place. Second runs need them, so they are kept for the whole call
  /// and are part of the work of every operation, every adjoint and the loss.
  void count_copies(operation_graph& found) const {
    std::int64_t bytes = 0;
    for (auto const& one : graph_.operations) bytes += changed_bytes(one);
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

  [[nodiscard]] static std::int64_t since(clock::time_point start, at::Tensor const& result) {
    if (result.defined() && !result.is_cpu())
      (void)result.detach().as_strided({(std::min)(std::int64_t{1}, result.numel())}, {1}).cpu();  // waits for it
    return (std::max)(std::int64_t{1},
                      std::int64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - start).count()));
  }
  [[nodiscard]] static std::int64_t median(std::vector<std::int64_t> all) {
    if (all.empty()) return 0;
    auto const middle = all.begin() + std::ptrdiff_t(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
  }
  [[nodiscard]] static void const* memory_of(at::Tensor const& t) {
    return t.defined() && t.has_storage() ? t.storage().unsafeGetStorageImpl() : nullptr;
  }
  [[nodiscard]] static bool lies_in(at::Tensor const& t, std::vector<at::Tensor> const& others) {
    return std::any_of(others.begin(), others.end(),
                       [&](at::Tensor const& one) { return memory_of(one) == memory_of(t); });
  }
  /// Bytes of the memory behind these tensors; memory that several of them share counts once.
  [[nodiscard]] static std::int64_t bytes_of(std::vector<at::Tensor> const& all) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
      bool seen = memory_of(all[k]) == nullptr;
      for (std::size_t j = 0; j < k; ++j) seen = seen || memory_of(all[j]) == memory_of(all[k]);
      if (!seen) sum += std::int64_t(all[k].storage().nbytes());
    }
    return sum;
  }

  [[nodiscard]] static bool changes(captured_operation const& one, std::size_t input) {
    return std::find(one.changing.begin(), one.changing.end(), std::int32_t(input)) != one.changing.end();
  }
  [[nodiscard]] std::vector<at::Tensor> inputs_of(captured_operation const& one) const {
    std::vector<at::Tensor> inputs;
    for (std::size_t k = 0; k < one.inputs.size(); ++k) {
      auto const source = one.inputs[k];
      auto const place = std::size_t(source.output);
      bool const is_leaf = source.operation < 0;
      if (auto const first = first_reading(one.inputs, k); first < k && !changes(one, k) && !changes(one, first)) {
        inputs.push_back(inputs[first]);
        continue;
      }
      auto t = (is_leaf ? leaves_[place] : values_[std::size_t(source.operation)][place]);
      bool const wanted = is_leaf ? t.requires_grad() : bool(gradients_[std::size_t(source.operation)][place]);
      at::NoGradGuard const off;
      inputs.push_back((changes(one, k) ? t.detach().clone() : t.detach()).requires_grad_(wanted));
    }
    return inputs;
  }
  [[nodiscard]] graph_operation measure(std::size_t v, int times) {
    auto const& one = graph_.operations[v];
    graph_operation found;
    for (auto const& source : one.inputs)
      if (source.operation >= 0 &&
          std::find(found.inputs.begin(), found.inputs.end(), source.operation) == found.inputs.end())
        found.inputs.push_back(source.operation);
    std::vector<std::int64_t> forward, backward;
    for (int round = 0; round <= times; ++round) {
      auto const inputs = inputs_of(one);
      sample const seen = run_once(one, inputs, found, v);
      if (round == 0) {
        if (found.tape_bytes > 0) run_without_tape(one, inputs, found);
        continue;
      }
      forward.push_back(seen.forward);
      if (seen.backward > 0) backward.push_back(seen.backward);
    }
    found.time = median(std::move(forward));
    found.adjoint_time = median(std::move(backward));
    return found;
  }
  struct sample {
    std::int64_t forward = 0, backward = 0;
  };
  /// Counts the bytes allocated on a device while it lives, and can leave given blocks out of the count.
  struct block_meter {
    explicit block_meter(c10::Device device)
        : bytes{reporter_for(device)}, guard{c10::DebugInfoKind::PROFILER_STATE, bytes} {}
    std::shared_ptr<byte_reporter> bytes;
    c10::DebugInfoGuard guard;
  };
  [[nodiscard]] sample run_once(captured_operation const& one, std::vector<at::Tensor> const& inputs,
                                graph_operation& found, std::size_t v) {
    sample seen;
    auto const device = device_of(inputs);
    std::optional<block_meter> meter;
    if (byte_meter::possible()) meter.emplace(device);
    std::vector<at::Tensor> saved;
    auto const start = clock::now();
    auto results = [&] {
      saved_hooks_scope const hooks{[&] { return std::make_unique<keeping_hooks>(saved); }};
      return one.run(inputs);
    }();
    seen.forward = since(start, results.empty() ? at::Tensor{} : results.front());
    found.bytes = bytes_of(results);
    std::vector<at::Tensor> tape;
    std::vector<bool> needed(found.inputs.size());
    found.adjoint_needs_output = false;
    for (auto const& t : saved) {
      if (memory_of(t) == nullptr) continue;
      bool is_known = false;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (memory_of(inputs[k]) != memory_of(t) || changes(one, k)) continue;  // the tape holds what will change
        is_known = true;
        for (std::size_t j = 0; j < needed.size(); ++j)
          if (found.inputs[j] == one.inputs[k].operation) needed[j] = true;
      }
      if (lies_in(t, results)) found.adjoint_needs_output = is_known = true;
      if (!is_known) tape.push_back(t);
    }
    found.adjoint_needs_inputs = needed_inputs(std::move(needed));
    found.tape_bytes = bytes_of(tape);
    if (meter)  // a second run works on copies of what it changes in place
      found.work = (std::max)(found.work,
                              meter->bytes->peak() + changed_bytes(one) - found.bytes - found.tape_bytes);
    found.work = (std::max)(found.work, std::int64_t{0});
    values_[v].clear();
    gradients_[v].clear();
    torch::autograd::variable_list roots, seeds;
    found.adjoint_bytes = 0;
    for (auto const& t : results) {
      gradients_[v].push_back(t.requires_grad());
      if (!t.requires_grad() || !t.grad_fn()) continue;
      roots.push_back(t);
      found.adjoint_bytes += std::int64_t(t.nbytes());
    }
    reverse(one, inputs, std::move(roots), meter ? meter->bytes.get() : nullptr, found, seen);
    for (auto const& t : results) values_[v].push_back(t.detach());
    return seen;
  }
  /// Measures a run that keeps no tape. It may take more work than one that does, because it makes and drops what only
  /// the adjoint reads, such as the indices of a pooling.
  void run_without_tape(captured_operation const& one, std::vector<at::Tensor> const& inputs, graph_operation& found) {
    if (!byte_meter::possible()) return;
    block_meter const meter{device_of(inputs)};
    part_flags flags;
    for (auto const& t : inputs) flags.push_back(t.requires_grad());
    (void)operation_tape::run(one, inputs, std::move(flags), false, {});
    found.work = (std::max)(found.work, meter.bytes->peak() + changed_bytes(one) - found.bytes);
  }
  void reverse(captured_operation const& one, std::vector<at::Tensor> const& inputs,
               torch::autograd::variable_list roots, byte_reporter* bytes, graph_operation& found, sample& seen) {
    torch::autograd::variable_list wanted, seeds;
    std::vector<tensor_source> from;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (!inputs[k].requires_grad() || first_reading(one.inputs, k) < k) continue;
      wanted.push_back(inputs[k]);
      from.push_back(one.inputs[k]);
    }
    if (roots.empty() || wanted.empty()) return;
    for (auto const& t : roots) seeds.push_back(at::ones_like(t.detach()));
    if (bytes != nullptr) bytes->remember();
    auto const start = clock::now();
    auto gradients = torch::autograd::grad(roots, wanted, seeds, false, false, true);
    for (std::size_t k = 0; k < gradients.size(); ++k)
      gradients[k] = from[k].operation < 0 ? held_gradient(std::exchange(gradients[k], {}), wanted[k].detach())
                                           : held_gradient(std::exchange(gradients[k], {}));
    seen.backward = since(start, gradients.front());
    if (bytes == nullptr) return;
    std::int64_t given = 0;
    // Gradients of leaves belong to the caller. Their blocks are left out of the peak, not subtracted from it: one may
    // have been allocated after the peak.
    std::vector<void const*> of_leaves;
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      auto const& t = gradients[k];
      if (!t.defined()) continue;
      if (from[k].operation < 0) {
        if (t.has_storage()) of_leaves.push_back(t.storage().data_ptr().get());
        continue;
      }
      auto const bytes_given = std::int64_t(t.nbytes());
      given += bytes_given;
      // This gradient reaches the adjoint of the operation that made the value. The probe runs that adjoint with a
      // gradient in the layout of the value; one in another layout may be copied first.
      if (t.layout() == at::kStrided && wanted[k].layout() == at::kStrided && t.sizes() == wanted[k].sizes() &&
          !torch::autograd::utils::obeys_layout_contract(t, wanted[k].detach()))
        other_strides_[std::size_t(from[k].operation)] =
            (std::max)(other_strides_[std::size_t(from[k].operation)], bytes_given);
    }
    found.adjoint_work = (std::max)({found.adjoint_work, bytes->rise_beside(of_leaves) - given, std::int64_t{0}});
  }
  [[nodiscard]] c10::Device device_of(std::vector<at::Tensor> const& inputs) const {
    for (auto const& t : inputs) if (t.defined() && !t.is_cpu()) return t.device();
    for (auto const& t : leaves_) if (t.defined() && !t.is_cpu()) return t.device();
    return c10::Device(c10::kCPU);
  }

  captured_graph const& graph_;
  std::vector<at::Tensor> leaves_;
  std::vector<std::vector<at::Tensor>> values_;
  std::vector<std::vector<bool>> gradients_;
  std::vector<std::int64_t> other_strides_;  ///< for each operation: bytes of gradients in another layout
};

/// Measures a captured graph on inputs like those it was captured for. The loss is not part of the graph: its outputs
/// are the results of the call.
[[nodiscard]] inline operation_graph measured_graph(captured_graph const& graph, std::vector<at::Tensor> const& inputs,
                                                    int times = 3) {
  return graph_probe{graph, inputs}.run(times);
}

}  // namespace cairn::libtorch::detail
