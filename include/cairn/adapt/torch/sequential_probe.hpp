#pragma once
/// \file sequential_probe.hpp  Measures the stages of a chain of tensors, one after the other, on an input.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/ambient.hpp>
#include <cairn/adapt/torch/buffers_guard.hpp>
#include <cairn/adapt/torch/byte_meter.hpp>
#include <cairn/adapt/torch/saved_hooks.hpp>
#include <cairn/adapt/torch/tensor_stage.hpp>
#include <cairn/core/chain.hpp>

namespace cairn::detail {

/// What stages take.
struct stage_measures {
  chain work;  ///< bytes, and times in nanoseconds; the last state and its adjoint are the caller's and count for nothing
  std::vector<bool> changes_input;  ///< in place; of each stage
};

/// The leaves other than `leaf` that a result depends on, each once; those with hooks left out, since a measurement must not call these.
[[nodiscard]] inline std::vector<at::Tensor> leaves_behind(at::Tensor const& result, at::Tensor const& leaf) {
  std::vector<at::Tensor> leaves;
  std::unordered_set<torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> open{result.grad_fn().get()};
  while (!open.empty()) {
    auto* const node = open.back();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (auto* const end = dynamic_cast<torch::autograd::AccumulateGrad*>(node)) {
      bool const is_input = leaf.defined() && end->variable.is_same(leaf);
      if (!is_input && torch::autograd::impl::hooks(end->variable).empty()) leaves.push_back(end->variable);
    }
    for (auto const& next : node->next_edges()) open.push_back(next.function.get());
  }
  return leaves;
}

/// Runs each stage forward twice and backward once. Generators and buffers are as before afterwards, gradients of leaves are not touched, and at no time
/// is more held than any plan needs at least, but for the gradients of one stage's leaves.
[[nodiscard]] inline stage_measures measure_stages(std::vector<tensor_stage> const& stages, at::Tensor const& x) {
  using clock = std::chrono::steady_clock;
  struct forgets final : torch::autograd::SavedVariableHooks {
    void call_pack_hook(at::Tensor const&) override {}
    at::Tensor call_unpack_hook() override { return {}; }
  };
  auto const since = [](clock::time_point start, at::Tensor const& result) {
    if (!result.is_cpu()) (void)result.flatten().slice(0, 0, 1).cpu();  // waits for the device
    return std::max<std::int64_t>(1, std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - start).count());
  };
  auto const bytes_of_storage = [](at::Tensor const& t) { return std::int64_t(t.storage().nbytes()); };

  ambient_guard const around{{x}, Rng::Preserve};
  at::AutoGradMode const on{true};
  stage_measures found;
  auto& work = found.work;
  work.x.push_back(bytes_of_storage(x));
  work.g.push_back(bytes_of_storage(x));
  std::unordered_set<torch::autograd::Node*> read_before;
  std::int64_t repeated = 0;
  at::Tensor state = x.detach();
  bool requires_grad = x.requires_grad();
  for (auto const& stage : stages) {
    buffers_guard const buffers{stage.buffers};
    std::int64_t restoring = 0;
    for (auto const& b : stage.buffers) restoring += std::int64_t(b.nbytes());
    auto const leaf = state.detach().requires_grad_(requires_grad);
    auto const input = [&] { return result_tensor(state, requires_grad, requires_grad ? torch::autograd::impl::gradient_edge(leaf) : torch::autograd::Edge{}); };
    auto const version = state._version();

    std::int64_t working = 0, time = 0;
    {
      byte_meter const meter{x.device()};
      saved_hooks_scope const hooks{[] { return std::make_unique<forgets>(); }};
      auto const start = clock::now();
      auto const out = stage.run(input());
      time = since(start, out);
      working = meter.peak() - std::min(meter.peak(), bytes_of_storage(out));
    }
    byte_meter meter{x.device()};
    saved_hooks_scope const none{[] { return std::unique_ptr<torch::autograd::SavedVariableHooks>{}; }};
    auto const start = clock::now();
    auto out = stage.run(input());
    time = std::min(time, since(start, out));
    found.changes_input.push_back(state._version() != version);
    std::int64_t const output = bytes_of_storage(out), tape = std::max(meter.allocated(), output);
    work.s.push_back(tape);
    work.f.push_back(std::max(working, meter.peak() - std::min(meter.peak(), tape)) + restoring);
    work.u.push_back(time);
    work.x.push_back(output);
    work.g.push_back(std::max(output, std::int64_t(out.nbytes())));

    std::int64_t back = 0, back_time = 0;
    auto const state_after = out.detach();
    bool const differentiable = out.requires_grad();
    if (differentiable && out.grad_fn()) {
      auto inputs = leaves_behind(out, leaf);
      for (auto const& one : inputs)
        if (!read_before.insert(torch::autograd::impl::grad_accumulator(one).get()).second) repeated += std::int64_t(one.nbytes());
      if (requires_grad) inputs.push_back(leaf);
      if (!inputs.empty()) {
        auto const seed = at::ones_like(out);
        auto const before = meter.allocated();
        meter.reset_peak();
        auto const begin = clock::now();
        auto const grads = torch::autograd::grad({std::exchange(out, {})}, inputs, {seed}, false, false, true);
        back_time = since(begin, state_after);
        back = meter.peak() - before;
        for (std::size_t k = 0; k < inputs.size(); ++k)
          if (grads[k].defined() && !inputs[k].is_same(leaf)) back -= std::int64_t(grads[k].nbytes());
      }
    }
    work.b.push_back(std::max<std::int64_t>(back, 0));
    work.v.push_back(back_time);
    state = state_after;
    requires_grad = differentiable;
  }
  work.x.back() = work.g.back() = 0;
  for (auto& b : work.b) b += 2 * repeated;  // a gradient that comes from several stages is summed beside its parts
  work.b.push_back(0);
  work.v.push_back(0);
  return found;
}

}  // namespace cairn::detail
