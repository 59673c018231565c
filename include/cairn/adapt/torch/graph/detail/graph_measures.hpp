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
  /// reads, too, is there already, and what an adjoint adds to it lies beside it first. So it is with a parameter that
  /// several operations read: its first share is in the block that becomes its gradient.
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
  /// The first place at which the same tensor is read.
  [[nodiscard]] static std::size_t first_reading(std::vector<tensor_source> const& sources, std::size_t k) {
    for (std::size_t j = 0; j < k; ++j)
      if (sources[j].operation == sources[k].operation && sources[j].output == sources[k].output) return j;
    return k;
  }

  /// What an operation changes in place among the leaves.
  [[nodiscard]] std::int64_t changed_bytes(captured_operation const& one) const {
    std::int64_t bytes = 0;
    for (auto const k : one.changing)
      if (auto const from = one.inputs[std::size_t(k)]; from.operation < 0)
        bytes += std::int64_t(leaves_[std::size_t(from.output)].nbytes());
    return bytes;
  }
  /// What operations change in place is copied for second runs, and the copies stay: beside whatever runs.
  void count_copies(operation_graph& found) const {
    std::int64_t bytes = 0;
    for (auto const& one : graph_.operations) bytes += changed_bytes(one);
    for (auto& one : found.operations) {
      one.work += bytes;
      one.adjoint_work += bytes;
    }
    found.loss_work += bytes;
  }

  /// The caller has the results from the loss on, beside what the plan keeps or makes again of them.
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
  /// A meter that knows blocks.
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
    if (meter)  // a second run works on copies of what it changes
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
  /// A run of which nothing is kept for the adjoint may still make it, as that of a pooling does with its indices.
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
    std::vector<void const*> of_leaves;  // the caller's; one may come after the peak, so its bytes cannot be taken off
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      auto const& t = gradients[k];
      if (!t.defined()) continue;
      if (from[k].operation < 0) {
        if (t.has_storage()) of_leaves.push_back(t.storage().data_ptr().get());
        continue;
      }
      auto const bytes_given = std::int64_t(t.nbytes());
      given += bytes_given;
      // Adjoints are measured with gradients laid out as the values are, and may copy others into that layout.
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
  std::vector<std::int64_t> other_strides_;  ///< of each operation: bytes of gradients that come with other strides
};

/// The graph with what its operations take, measured on inputs like those that it was captured for. The loss is none of
/// it: the outputs are the results of the call.
[[nodiscard]] inline operation_graph measured_graph(captured_graph const& graph, std::vector<at::Tensor> const& inputs,
                                                    int times = 3) {
  return graph_probe{graph, inputs}.run(times);
}

}  // namespace cairn::libtorch::detail
