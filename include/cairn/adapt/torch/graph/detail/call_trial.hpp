// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file call_trial.hpp  Runs a captured call forward and backward on stand-ins for its leaves, and counts its bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/autograd.h>
#include <cairn/adapt/torch/graph/detail/captured_graph.hpp>
#include <cairn/adapt/torch/graph/detail/graph_node.hpp>
#include <cairn/adapt/torch/graph/detail/graph_program.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/rng.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>

namespace cairn::libtorch::detail {

/// Counts the bytes of whole calls. Operations that are measured one by one show what each may take; a whole call often
/// takes less, because some of them end before others begin.
class call_trial {
 public:
  /// \param graph  must outlive the trial   \param inputs  the inputs of the call
  call_trial(captured_graph const& graph, tensor_list const& inputs) : device_{c10::kCPU} {
    tensor_list all(graph.leaves.begin(), graph.leaves.end());
    for (std::size_t k = 0; k < graph.inputs; ++k) all[k] = inputs[k];
    part_flags changing(all.size());
    for (auto const& one : graph.operations)
      for (auto const k : one.changing) changing[std::size_t(one.inputs[std::size_t(k)].output)] = true;
    at::NoGradGuard const off;
    for (std::size_t k = 0; k < all.size(); ++k) {
      auto const first = first_place(all, k);
      auto const& t = all[k];
      if (t.defined() && !t.is_cpu()) device_ = t.device();
      leaves_.push_back(first < k ? leaves_[first] : !t.defined() ? t : changing[k] ? t.clone() : t.detach());
      if (first == k && t.defined()) leaves_[k].requires_grad_(t.requires_grad());
    }
  }

  /// The most bytes at one time of a call by this program and its backward pass, beside the gradients of its leaves and
  /// those of its results, which are the caller's. Generators are restored.
  /// \param most  the call is stopped where it takes more, and the largest number returned; so it is if memory runs out
  /// \param result_bytes  of the results   \pre byte_meter::possible()
  [[nodiscard]] std::int64_t peak(graph_program program, std::int64_t most, std::int64_t result_bytes) const {
    at::AutoGradMode const records{true};
    generator_use const drawing{Rng::Preserve};
    auto const generators = generator_states::now(leaves_);
    generator_guard const at_end{drawing, generators};
    auto const bytes = std::make_shared<std::shared_ptr<byte_reporter>>();
    std::int64_t of_caller = 0;
    for (auto const& t : leaves_) if (t.defined() && t.requires_grad()) of_caller += std::int64_t(t.nbytes());
    of_caller += result_bytes;
    program.tells_forward = true;
    program.told = [bytes, most = most + of_caller](action const&) {
      if ((*bytes)->allocated() > most) throw too_much{};
    };
    auto const shared = std::make_shared<graph_program const>(std::move(program));
    try {
      std::int64_t found = 0;
      for (bool const spread : {true, false}) {
        *bytes = reporter_for(device_);
        found = (std::max)(found, peak(shared, *bytes, spread));
      }
      return found;
    } catch (too_much const&) {
    } catch (c10::Error const&) {
    }
    for (auto const& t : leaves_) if (t.defined() && t.requires_grad()) t.mutable_grad() = at::Tensor{};
    return (std::numeric_limits<std::int64_t>::max)();
  }

 private:
  struct too_much : std::exception {};

  /// \param spread  whether the gradients of results take the memory of one number, as those of a sum do
  [[nodiscard]] std::int64_t peak(std::shared_ptr<graph_program const> const& program,
                                  std::shared_ptr<byte_reporter> const& bytes, bool spread) const {
    c10::DebugInfoGuard const guard{c10::DebugInfoKind::PROFILER_STATE, bytes};
    bytes->remember();
    auto const results = graph_node::call(program, leaves_);
    torch::autograd::variable_list roots, bars;
    for (auto const& t : results) {
      if (!t.defined() || !t.requires_grad() || !t.grad_fn()) continue;
      at::NoGradGuard const off;
      roots.push_back(t);
      bars.push_back(at::ones({}, t.options().requires_grad(false)).expand(t.sizes()));
      if (!spread) bars.back() = bars.back().clone(at::MemoryFormat::Contiguous);
    }
    if (!roots.empty()) torch::autograd::backward(roots, bars);
    std::vector<void const*> of_caller;
    for (auto const& t : bars) of_caller.push_back(t.storage().data_ptr().get());
    for (auto const& t : leaves_)
      if (t.defined() && t.grad().defined() && t.grad().has_storage())
        of_caller.push_back(t.grad().storage().data_ptr().get());
    auto const most = bytes->rise_beside(of_caller);
    for (auto const& t : leaves_) if (t.defined() && t.requires_grad()) t.mutable_grad() = at::Tensor{};
    return most;
  }

  tensor_list leaves_;
  c10::Device device_;
};

}  // namespace cairn::libtorch::detail
