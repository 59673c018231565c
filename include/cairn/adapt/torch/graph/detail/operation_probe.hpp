// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file operation_probe.hpp  Measures one operation of a captured graph: bytes of its value and tape, work, and times.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones_like.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <torch/csrc/autograd/utils/grad_layout_contract.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/checkpoint/detail/nanoseconds_since.hpp>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/graph/detail/captured_graph.hpp>
#include <cairn/adapt/torch/graph/detail/median.hpp>
#include <cairn/adapt/torch/graph/detail/operation_tape.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::libtorch::detail {

/// Bytes of the leaves that an operation changes in place.
[[nodiscard]] inline std::int64_t changed_bytes(captured_operation const& what, std::vector<at::Tensor> const& leaves) {
  std::int64_t bytes = 0;
  for (auto const k : what.changing)
    if (auto const from = what.inputs[std::size_t(k)]; from.operation < 0)
      bytes += std::int64_t(leaves[std::size_t(from.output)].nbytes());
  return bytes;
}

/// Measures one operation: each run goes forward and, if a gradient is wanted, backward. Of the bytes of work, the most
/// of all runs counts.
class operation_probe {
 public:
  /// \param what, leaves  the operation and the leaves of its graph; both must outlive the probe
  operation_probe(captured_operation const& what, std::vector<at::Tensor> const& leaves)
      : what_{what}, leaves_{leaves}, other_strides_(what.inputs.size()) {
    for (auto const& source : what.inputs)
      if (source.operation >= 0 &&
          std::find(found_.inputs.begin(), found_.inputs.end(), source.operation) == found_.inputs.end())
        found_.inputs.push_back(source.operation);
    found_.states_changed = what.states_changed, found_.states_read = what.states_read;
  }

  /// A first run, which is not timed. If the operation has a tape, a run without one follows.
  /// \param inputs  of the operation; those that it changes in place must be copies
  void run_first(std::vector<at::Tensor> const& inputs) {
    (void)run_once(inputs);
    if (found_.tape_bytes > 0) run_without_tape(inputs);
  }
  /// A run that is timed, on inputs as above.
  void run_timed(std::vector<at::Tensor> const& inputs) {
    sample const seen = run_once(inputs);
    forward_.push_back(seen.forward);
    if (seen.backward > 0) backward_.push_back(seen.backward);
  }

  /// What the runs have shown; times are medians in nanoseconds.
  [[nodiscard]] graph_operation measures() const {
    graph_operation all = found_;
    all.time = median(forward_);
    all.adjoint_time = median(backward_);
    return all;
  }
  /// The value that the last run made, without a history.
  [[nodiscard]] std::vector<at::Tensor> const& value() const noexcept { return value_; }
  /// For each tensor of the value: whether it requires a gradient.
  [[nodiscard]] std::vector<bool> const& requires_grad() const noexcept { return requires_grad_; }
  /// For each input: bytes of its gradient if its layout differs from that of the input; 0 otherwise, and for leaves.
  [[nodiscard]] std::vector<std::int64_t> const& other_strides() const noexcept { return other_strides_; }

 private:
  using clock = std::chrono::steady_clock;
  /// Times of one run; 0 if there is no adjoint.
  struct sample {
    std::int64_t forward = 0, backward = 0;
  };
  /// Saves tensors as autograd does, and lists them, so that the probe sees whose memory they are in.
  struct keeping_hooks final : torch::autograd::SavedVariableHooks {
    explicit keeping_hooks(std::vector<at::Tensor>& list) : all{list} {}
    void call_pack_hook(at::Tensor const& t) override {
      tensor = t.detach();
      all.push_back(tensor);
    }
    at::Tensor call_unpack_hook() override { return tensor; }
    std::vector<at::Tensor>& all;
    at::Tensor tensor;
  };
  /// Counts the bytes allocated on a device while it lives, and can leave given blocks out of the count.
  struct block_meter {
    explicit block_meter(c10::Device device)
        : bytes{reporter_for(device)}, guard{c10::DebugInfoKind::PROFILER_STATE, bytes} {}
    std::shared_ptr<byte_reporter> bytes;
    c10::DebugInfoGuard guard;
  };

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

  [[nodiscard]] sample run_once(std::vector<at::Tensor> const& inputs) {
    sample seen;
    auto const device = device_of(inputs);
    std::optional<block_meter> meter;
    if (byte_meter::possible()) meter.emplace(device);
    std::vector<at::Tensor> saved;
    auto const start = clock::now();
    auto results = [&] {
      saved_hooks_scope const hooks{[&] { return std::make_unique<keeping_hooks>(saved); }};
      return what_.run(inputs);
    }();
    seen.forward = nanoseconds_since(start, results.empty() ? at::Tensor{} : results.front());
    found_.bytes = bytes_of(results);
    std::vector<at::Tensor> tape;
    std::vector<bool> needed(found_.inputs.size());
    found_.adjoint_needs_output = false;
    for (auto const& t : saved) {
      if (memory_of(t) == nullptr) continue;
      bool is_known = false;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (memory_of(inputs[k]) != memory_of(t) || what_.changes(k)) continue;  // the tape holds what will change
        is_known = true;
        for (std::size_t j = 0; j < needed.size(); ++j)
          if (found_.inputs[j] == what_.inputs[k].operation) needed[j] = true;
      }
      if (lies_in(t, results)) found_.adjoint_needs_output = is_known = true;
      if (!is_known) tape.push_back(t);
    }
    found_.adjoint_needs_inputs = needed_inputs(std::move(needed));
    found_.tape_bytes = bytes_of(tape);
    if (meter)  // a second run works on copies of what it changes in place
      found_.work = (std::max)(found_.work, meter->bytes->peak() + changed_bytes(what_, leaves_) - found_.bytes -
                                                found_.tape_bytes);
    found_.work = (std::max)(found_.work, std::int64_t{0});
    value_.clear();
    requires_grad_.clear();
    torch::autograd::variable_list roots;
    found_.adjoint_bytes = 0;
    for (auto const& t : results) {
      requires_grad_.push_back(t.requires_grad());
      if (!t.requires_grad() || !t.grad_fn()) continue;
      roots.push_back(t);
      found_.adjoint_bytes += std::int64_t(t.nbytes());
    }
    seen.backward = reverse(inputs, std::move(roots), meter ? meter->bytes.get() : nullptr);
    for (auto const& t : results) value_.push_back(t.detach());
    return seen;
  }
  /// Measures a run that keeps no tape. It may take more work than one that does, because it makes and drops what only
  /// the adjoint reads, such as the indices of a pooling.
  void run_without_tape(std::vector<at::Tensor> const& inputs) {
    if (!byte_meter::possible()) return;
    block_meter const meter{device_of(inputs)};
    part_flags flags;
    for (auto const& t : inputs) flags.push_back(t.requires_grad());
    (void)operation_tape::run(what_, inputs, std::move(flags), false, {});
    found_.work = (std::max)(found_.work, meter.bytes->peak() + changed_bytes(what_, leaves_) - found_.bytes);
  }
  /// Runs the adjoint, and returns its time; 0 if there is none.
  [[nodiscard]] std::int64_t reverse(std::vector<at::Tensor> const& inputs, torch::autograd::variable_list roots,
                                     byte_reporter* bytes) {
    torch::autograd::variable_list wanted, seeds;
    std::vector<std::size_t> places;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (!inputs[k].requires_grad() || what_.first_reading(k) < k) continue;
      wanted.push_back(inputs[k]);
      places.push_back(k);
    }
    if (roots.empty() || wanted.empty()) return 0;
    for (auto const& t : roots) seeds.push_back(at::ones_like(t.detach()));
    auto const is_of_leaf = [&](std::size_t k) { return what_.inputs[places[k]].operation < 0; };
    if (bytes != nullptr) bytes->remember();
    auto const start = clock::now();
    auto gradients = torch::autograd::grad(roots, wanted, seeds, false, false, true);
    for (std::size_t k = 0; k < gradients.size(); ++k)
      gradients[k] = is_of_leaf(k) ? held_gradient(std::exchange(gradients[k], {}), wanted[k].detach())
                                   : held_gradient(std::exchange(gradients[k], {}));
    auto const time = nanoseconds_since(start, gradients.front());
    if (bytes == nullptr) return time;
    std::int64_t given = 0;
    // Gradients of leaves belong to the caller. Their blocks are left out of the peak, not subtracted from it: one may
    // have been allocated after the peak.
    std::vector<void const*> of_leaves;
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      auto const& t = gradients[k];
      if (!t.defined()) continue;
      if (is_of_leaf(k)) {
        if (t.has_storage()) of_leaves.push_back(t.storage().data_ptr().get());
        continue;
      }
      auto const bytes_given = std::int64_t(t.nbytes());
      given += bytes_given;
      // This gradient reaches the adjoint of the operation that made the value. The probe runs that adjoint with a
      // gradient in the layout of the value; one in another layout may be copied first.
      if (t.layout() == at::kStrided && wanted[k].layout() == at::kStrided && t.sizes() == wanted[k].sizes() &&
          !torch::autograd::utils::obeys_layout_contract(t, wanted[k].detach()))
        other_strides_[places[k]] = (std::max)(other_strides_[places[k]], bytes_given);
    }
    found_.adjoint_work = (std::max)({found_.adjoint_work, bytes->rise_beside(of_leaves) - given, std::int64_t{0}});
    return time;
  }
  [[nodiscard]] c10::Device device_of(std::vector<at::Tensor> const& inputs) const {
    for (auto const& t : inputs) if (t.defined() && !t.is_cpu()) return t.device();
    for (auto const& t : leaves_) if (t.defined() && !t.is_cpu()) return t.device();
    return c10::Device(c10::kCPU);
  }

  captured_operation const& what_;
  std::vector<at::Tensor> const& leaves_;
  graph_operation found_;
  std::vector<std::int64_t> forward_, backward_;  ///< times of each run
  std::vector<at::Tensor> value_;
  std::vector<bool> requires_grad_;
  std::vector<std::int64_t> other_strides_;
};

}  // namespace cairn::libtorch::detail
