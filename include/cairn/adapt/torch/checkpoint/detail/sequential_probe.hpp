// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sequential_probe.hpp  Measures the stages of a chain of tensors on an input, one after another.
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
#include <cairn/adapt/torch/checkpoint/detail/nanoseconds_since.hpp>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/checkpoint/detail/sequential_seed.hpp>
#include <cairn/adapt/torch/checkpoint/detail/tensor_stage.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>

namespace cairn::libtorch::detail {

/// The times of a stage in nanoseconds and its memory in bytes. Only new memory counts: a view of an existing tensor
/// takes none.
struct measured_stage {
  std::int64_t output = 0;        ///< bytes that only its output holds
  std::int64_t tape = 0;          ///< bytes that remain after its run, the output included
  std::int64_t running = 0;       ///< bytes in addition to `tape`, while it is recorded
  std::int64_t running_bare = 0;  ///< bytes in addition to the output, while it runs without saving anything
  std::int64_t restoring = 0;     ///< bytes of its buffers, which a recomputation restores
  std::int64_t changing = 0;      ///< bytes of those that it changes, which are kept as they were
  std::int64_t adjoint = 0;       ///< bytes of its input's gradient
  std::int64_t reversing = 0;     ///< bytes in addition to the tape and the output's gradient, while its adjoint runs
  std::vector<std::pair<std::size_t, std::int64_t>>
      repeated;                   ///< by leaf that an earlier stage reads, too: the last such stage, gradient bytes
  std::int64_t seed = 0;          ///< bytes of the gradient of its output that the measurement made
  std::int64_t copying = 0;       ///< bytes that the measurement took while a copy of the input existed
  std::int64_t time = 0;
  std::int64_t back_time = 0;
  bool changes_input = false;   ///< it changes its input in place
  bool views_input = false;     ///< its output is in the memory of its input
  bool saves_input = false;     ///< autograd refers to its input
  bool saves_output = false;    ///< autograd refers to its output
  bool passes_adjoint = false;  ///< its input's gradient is in the memory of its output's gradient
};

/// Runs the stages in order, each forward twice and backward once. Afterwards buffers and x are unchanged; gradients of
/// leaves are never written. Never holds more than a plan needs for the stage, or `copying`.
class stage_probe {
 public:
  /// \param stages  number of stages
  stage_probe(at::Tensor const& x, std::size_t stages)
      : x_{x}, left_{stages}, state_{x.detach()}, requires_grad_{x.requires_grad()} {}

  /// \pre called for each stage in order, with grad mode on
  [[nodiscard]] measured_stage next(tensor_stage const& stage) {
    --left_;
    measured_stage found;
    rewound_memory const memory{{}, stage.buffers};
    undone_writes changes;
    for (auto const& b : stage.buffers) found.restoring += std::int64_t(b.nbytes());
    auto const copied = run_bare(stage, found, changes.log);
    changes.undo();
    run_recorded(stage, found);
    ++number_;
    if (copied > 0)
      found.copying =
          (std::max)(found.copying, copied + found.tape + (std::max)(found.running, found.seed + found.reversing));
    return found;
  }

 private:
  using clock = std::chrono::steady_clock;
  /// The leaves except `leaf` on which a result depends, each once. Leaves with hooks are excluded, because a
  /// measurement must not call the hooks.
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

  /// \param leaf  receives its gradient, if it requires one
  [[nodiscard]] at::Tensor input_from(at::Tensor const& values, at::Tensor const& leaf) const {
    return result_tensor(values, requires_grad_,
                         requires_grad_ ? torch::autograd::impl::gradient_edge(leaf) : torch::autograd::Edge{});
  }
  /// A run that keeps only its output.
  /// \returns bytes of the copy of x that has become the state; 0 without one
  [[nodiscard]] std::int64_t run_bare(tensor_stage const& stage, measured_stage& found, write_log& changes) {
    byte_meter const meter{x_.device()};
    saved_hooks_scope const hooks{[] { return std::make_unique<forgetful_hooks>(); }};
    auto in =
        state_.is_alias_of(x_) ? state_.clone() : state_;  // x is the caller's: no run may change it
    auto copied = meter.allocated();
    auto const version = in._version();
    auto const start = clock::now();
    changes.begin(in);
    auto out = [&] {
      read_tracker const tracker{false, &changes};
      return stage.run(input_from(in, in.detach().requires_grad_(requires_grad_)));
    }();
    found.time = nanoseconds_since(start, out);
    changes.end();
    found.changing = changes.bytes();
    found.running_bare = meter.peak() - copied;
    found.copying = copied > 0 ? meter.peak() : 0;
    found.changes_input = in._version() != version;
    found.views_input = out.is_alias_of(in);
    out = out.detach();
    if (found.changes_input) state_ = in;
    else copied = 0;
    in.reset();
    if (!found.views_input) found.output = meter.allocated() - copied - found.changing;
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
    found.time = (std::min)(found.time, nanoseconds_since(start, out));
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
    auto stays = left_ == 0 ? seed : at::Tensor{};  // the gradient of the last output belongs to the caller
    at::Tensor adjoint;
    {
      auto const root = seed_node::root_before(std::move(edge), std::move(seed));
      auto const before = meter.allocated();
      meter.reset_peak();
      auto const start = clock::now();
      auto const grads = torch::autograd::grad({root}, inputs, {root.detach()}, false, false, true);
      found.back_time = nanoseconds_since(start, state_);
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
  std::size_t left_;  ///< stages after this one
  at::Tensor state_;
  bool requires_grad_;
  std::size_t number_ = 0;  ///< number of the stage
  std::unordered_map<at::TensorImpl*, std::size_t> read_by_;  ///< for each leaf, the last stage that has read it
};

}  // namespace cairn::libtorch::detail
