#pragma once
/// \file graph_measures.hpp  What the operations of a captured graph take: bytes of values and tapes, and times.
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
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/graph/detail/captured_graph.hpp>
#include <cairn/adapt/torch/graph/detail/program_facts.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/core/operation_graph.hpp>

namespace cairn::libtorch::detail {

/// Runs operation after operation, each a few times forward and backward, and keeps what later ones read.
class graph_probe {
 public:
  /// \param graph  outlives it   \param inputs  of the call
  graph_probe(captured_graph const& graph, std::vector<at::Tensor> const& inputs)
      : graph_{graph}, leaves_(graph.leaves.begin(), graph.leaves.end()) {
    for (std::size_t k = 0; k < graph.inputs; ++k) leaves_[k] = inputs[k].defined() ? inputs[k].detach() : at::Tensor{};
    for (std::size_t k = 0; k < graph.inputs; ++k)
      if (inputs[k].defined() && inputs[k].requires_grad()) leaves_[k].requires_grad_(true);
  }

  /// Bytes, and medians of times in nanoseconds. Generators and the leaves that operations change are as before
  /// afterwards. What the plain call keeps is never there at once.
  /// \param times  that each operation runs, >= 1, after a first run that does not count
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
    generators.restore();
    return found;
  }

 private:
  using clock = std::chrono::steady_clock;
  /// Keeps what is saved, as autograd does, and says where it lies.
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

  /// Adjoints run from the last operation to the first. The adjoint of a value that a later operation or the caller
  /// reads, too, is there already, and what an adjoint adds to it lies beside it first.
  static void count_contributions(operation_graph& found) {
    std::vector<bool> is_there(found.operations.size());
    for (step_index const v : found.outputs) is_there[std::size_t(v)] = true;
    for (auto one = found.operations.rbegin(); one != found.operations.rend(); ++one)
      for (step_index const input : one->inputs)
        if (is_there[std::size_t(input)]) one->adjoint_work += found.operations[std::size_t(input)].adjoint_bytes;
        else is_there[std::size_t(input)] = true;
  }

  /// What operations change in place is copied for second runs, and the copies stay: beside whatever runs.
  void count_copies(operation_graph& found) const {
    std::int64_t bytes = 0;
    for (auto const& one : graph_.operations)
      for (auto const k : one.changing)
        if (auto const from = one.inputs[std::size_t(k)]; from.operation < 0)
          bytes += std::int64_t(leaves_[std::size_t(from.output)].nbytes());
    for (auto& one : found.operations) {
      one.work += bytes;
      one.adjoint_work += bytes;
    }
    found.loss_work += bytes;
  }

  [[nodiscard]] static std::int64_t since(clock::time_point start, at::Tensor const& result) {
    if (result.defined() && !result.is_cpu())
      (void)result.detach().as_strided({(std::min)(std::int64_t{1}, result.numel())}, {1}).cpu();  // waits
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
  /// Bytes of memory that none of the others has, each counted once.
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
      if (round == 0) continue;
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
  [[nodiscard]] sample run_once(captured_operation const& one, std::vector<at::Tensor> const& inputs,
                                graph_operation& found, std::size_t v) {
    sample seen;
    auto const device = device_of(inputs);
    std::optional<byte_meter> meter;
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
    found.adjoint_needs_inputs = found.adjoint_needs_output = false;
    for (auto const& t : saved) {
      if (memory_of(t) == nullptr) continue;
      bool is_known = false;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (memory_of(inputs[k]) != memory_of(t) || changes(one, k)) continue;  // of what changes there will be copies
        is_known = true;
        if (one.inputs[k].operation >= 0) found.adjoint_needs_inputs = true;
      }
      if (lies_in(t, results)) found.adjoint_needs_output = is_known = true;
      if (!is_known) tape.push_back(t);
    }
    found.tape_bytes = bytes_of(tape);
    if (meter) found.work = (std::max)(found.work, meter->peak() - found.bytes - found.tape_bytes);
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
    reverse(inputs, std::move(roots), meter ? &*meter : nullptr, found, seen);
    for (auto const& t : results) values_[v].push_back(t.detach());
    return seen;
  }
  void reverse(std::vector<at::Tensor> const& inputs, torch::autograd::variable_list roots, byte_meter* meter,
               graph_operation& found, sample& seen) {
    torch::autograd::variable_list wanted, seeds;
    for (auto const& t : inputs) if (t.requires_grad()) wanted.push_back(t);
    if (roots.empty() || wanted.empty()) return;
    for (auto const& t : roots) seeds.push_back(at::ones_like(t.detach()));
    std::int64_t before = 0;
    if (meter != nullptr) {
      before = meter->allocated();
      meter->reset_peak();
    }
    auto const start = clock::now();
    auto const gradients = torch::autograd::grad(roots, wanted, seeds, false, false, true);
    seen.backward = since(start, gradients.front());
    if (meter == nullptr) return;
    std::int64_t given = 0;
    for (auto const& t : gradients) if (t.defined()) given += std::int64_t(t.nbytes());
    found.adjoint_work = (std::max)({found.adjoint_work, meter->peak() - before - given, std::int64_t{0}});
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
};

/// The graph with what its operations take, measured on inputs like those that it was captured for. The loss is none of
/// it: the outputs are the results of the call.
[[nodiscard]] inline operation_graph measured_graph(captured_graph const& graph, std::vector<at::Tensor> const& inputs,
                                                    int times = 3) {
  return graph_probe{graph, inputs}.run(times);
}

}  // namespace cairn::libtorch::detail
