#pragma once
/// \file sequential_probe.hpp  Measures the stages of a chain of tensors, one after the other, on an input.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/checkpoint/detail/sequential_seed.hpp>
#include <cairn/adapt/torch/checkpoint/detail/tensor_stage.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/state/detail/buffers_guard.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>

namespace cairn::libtorch::detail {

/// What a stage takes, in bytes that are new, so that a view of what stood before has none, and in nanoseconds.
struct measured_stage {
  std::int64_t output = 0;        ///< that its output holds alone
  std::int64_t tape = 0;          ///< that stand behind its run, the output included
  std::int64_t running = 0;       ///< beside these, while it is recorded
  std::int64_t running_bare = 0;  ///< beside the output, while nothing is saved
  std::int64_t restoring = 0;     ///< of its buffers, which a second run keeps
  std::int64_t adjoint = 0;       ///< of its input's gradient
  std::int64_t reversing = 0;     ///< beside the tape and the output's gradient, while its adjoint runs
  std::vector<std::pair<std::size_t, std::int64_t>>
      repeated;                   ///< of gradients of leaves that a stage before it, the last such, reads as well
  std::int64_t seed = 0;          ///< of the gradient of its output that measuring made
  std::int64_t copying = 0;       ///< that measuring took while there was a copy of the input
  std::int64_t time = 0;
  std::int64_t back_time = 0;
  bool changes_input = false;   ///< in place
  bool views_input = false;     ///< its output lies in the memory of its input
  bool saves_input = false;     ///< autograd refers to its input
  bool saves_output = false;    ///< autograd refers to its output
  bool passes_adjoint = false;  ///< its input's gradient lies in the memory of its output's
};

/// Runs stage after stage, each forward twice and backward once. Buffers and x are as before afterwards, gradients of
/// leaves are not touched, and at no time is more held than a plan needs for the stage, or `copying`.
class stage_probe {
 public:
  /// \param stages  that there are
  stage_probe(at::Tensor const& x, std::size_t stages)
      : x_{x}, left_{stages}, state_{x.detach()}, requires_grad_{x.requires_grad()} {}

  /// \pre called for each stage in order, with grad mode on
  [[nodiscard]] measured_stage next(tensor_stage const& stage) {
    --left_;
    measured_stage found;
    buffers_guard const buffers{stage.buffers};
    for (auto const& b : stage.buffers) found.restoring += std::int64_t(b.nbytes());
    auto const copied = run_bare(stage, found);
    run_recorded(stage, found);
    ++number_;
    if (copied > 0)
      found.copying =
          (std::max)(found.copying, copied + found.tape + (std::max)(found.running, found.seed + found.reversing));
    return found;
  }

 private:
  using clock = std::chrono::steady_clock;
  struct forgets final : torch::autograd::SavedVariableHooks {
    void call_pack_hook(at::Tensor const&) override {}
    at::Tensor call_unpack_hook() override { return {}; }
  };

  [[nodiscard]] static std::int64_t since(clock::time_point start, at::Tensor const& result) {
    if (!result.is_cpu())
      (void)result.detach().as_strided({std::min<std::int64_t>(1, result.numel())}, {1}).cpu();  // waits for the device
    return std::max<std::int64_t>(1,
                                  std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - start).count());
  }
  /// The leaves other than `leaf` that a result depends on, each once; those with hooks left out, since a measurement
  /// must not call these.
  [[nodiscard]] static std::vector<at::Tensor> leaves_behind(at::Tensor const& result, at::Tensor const& leaf) {
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

  /// \param leaf  where its gradient goes, if it requires one
  [[nodiscard]] at::Tensor input_from(at::Tensor const& values, at::Tensor const& leaf) const {
    return result_tensor(values, requires_grad_,
                         requires_grad_ ? torch::autograd::impl::gradient_edge(leaf) : torch::autograd::Edge{});
  }
  /// A run that keeps its output alone.
  /// \returns bytes of the copy of x that is the state from now on, if any
  [[nodiscard]] std::int64_t run_bare(tensor_stage const& stage, measured_stage& found) {
    byte_meter const meter{x_.device()};
    saved_hooks_scope const hooks{[] { return std::make_unique<forgets>(); }};
    auto in =
        state_.is_alias_of(x_) ? state_.clone() : state_;  // x is the caller's, and must not be changed by each run
    auto copied = meter.allocated();
    auto const version = in._version();
    auto const start = clock::now();
    auto out = stage.run(input_from(in, in.detach().requires_grad_(requires_grad_)));
    found.time = since(start, out);
    found.running_bare = meter.peak() - copied;
    found.copying = copied > 0 ? meter.peak() : 0;
    found.changes_input = in._version() != version;
    found.views_input = out.is_alias_of(in);
    out = out.detach();
    if (found.changes_input) state_ = in;
    else copied = 0;
    in.reset();
    if (!found.views_input) found.output = meter.allocated() - copied;
    found.running_bare -= (std::min)(found.running_bare, found.output);
    return copied;
  }
  /// A run that keeps what autograd keeps, and its adjoint.
  void run_recorded(tensor_stage const& stage, measured_stage& found) {
    byte_meter meter{x_.device()};
    saved_hooks_scope const none{[] { return std::unique_ptr<torch::autograd::SavedVariableHooks>{}; }};
    auto const leaf = state_.detach().requires_grad_(requires_grad_);
    auto const references = state_.storage().use_count();
    auto const start = clock::now();
    auto out = stage.run(input_from(state_, leaf));
    found.time = (std::min)(found.time, since(start, out));
    found.saves_input = state_.storage().use_count() > references;
    found.tape = (std::max)(meter.allocated(), found.output);
    found.running = meter.peak() - (std::min)(meter.peak(), found.tape);
    state_ = out.detach();
    requires_grad_ = out.requires_grad();
    if (!out.grad_fn()) return;
    auto edge = torch::autograd::impl::gradient_edge(out);
    auto leaves = leaves_behind(out, leaf);
    out.reset();
    found.saves_output = state_.storage().use_count() > 1;
    reverse(std::move(edge), std::move(leaves), leaf, meter, found);
  }
  void reverse(torch::autograd::Edge edge, std::vector<at::Tensor> inputs, at::Tensor const& leaf, byte_meter& meter,
               measured_stage& found) {
    for (auto const& one : inputs)
      if (auto const [before, is_new] = read_by_.try_emplace(one.unsafeGetTensorImpl(), number_); !is_new)
        found.repeated.emplace_back(std::exchange(before->second, number_), std::int64_t(one.nbytes()));
    if (leaf.requires_grad()) inputs.push_back(leaf);
    if (inputs.empty()) return;
    auto seed = at::ones_like(state_);
    found.seed = std::int64_t(seed.nbytes());
    auto const memory = seed.storage().getWeakStorageImpl();
    auto stays = left_ == 0 ? seed : at::Tensor{};  // the gradient of the last output is the caller's
    at::Tensor adjoint;
    {
      auto const root = seed_node::root_before(std::move(edge), std::move(seed));
      auto const before = meter.allocated();
      meter.reset_peak();
      auto const start = clock::now();
      auto const grads = torch::autograd::grad({root}, inputs, {root.detach()}, false, false, true);
      found.back_time = since(start, state_);
      found.reversing = meter.peak() - before;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (inputs[k].is_same(leaf)) adjoint = grads[k];
        else if (grads[k].defined()) found.reversing -= std::int64_t(grads[k].nbytes());
      }
      found.reversing = std::max<std::int64_t>(found.reversing, 0);
    }
    stays.reset();
    found.passes_adjoint = adjoint.defined() && !memory.expired();
    found.adjoint = std::max<std::int64_t>(meter.allocated() - found.output, 0);
  }

  at::Tensor x_;
  std::size_t left_;  ///< stages behind this one
  at::Tensor state_;
  bool requires_grad_;
  std::size_t number_ = 0;  ///< of the stage
  std::unordered_map<at::TensorImpl*, std::size_t> read_by_;  ///< of each leaf, the last stage so far
};

}  // namespace cairn::libtorch::detail
