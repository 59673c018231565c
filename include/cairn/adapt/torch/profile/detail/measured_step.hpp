// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file measured_step.hpp  One forward and one backward run, measured operator by operator.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/memory/detail/byte_account.hpp>
#include <cairn/adapt/torch/record/detail/record_graph.hpp>
#include <cairn/adapt/torch/record/detail/record_scope.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::libtorch::detail {

/// At least 1. Waits for the device of the result.   \param result  of the call; undefined if there is none
[[nodiscard]] inline std::int64_t nanoseconds_since(std::chrono::steady_clock::time_point start,
                                                    at::Tensor const& result) {
  if (result.defined() && !result.is_cpu())
    (void)result.detach().as_strided({(std::min)(std::int64_t{1}, result.numel())}, {1}).cpu();
  auto const passed = std::chrono::steady_clock::now() - start;
  return (std::max)(std::int64_t{1}, std::int64_t(std::chrono::nanoseconds(passed).count()));
}

/// While it lives, the working memory of each recorded operator is measured.
class operator_meter final : public dispatch_mode {
 public:
  operator_meter(call_record& record, byte_reporter& bytes)
      : record_{record}, bytes_{bytes}, outer_{std::exchange(of_thread(), this)} {}
  operator_meter(operator_meter const&) = delete;
  operator_meter& operator=(operator_meter const&) = delete;
  ~operator_meter() { of_thread() = outer_; }
  void call(c10::OperatorHandle const& op, c10::DispatchKeySet below, torch::jit::Stack& stack) override {
    bytes_.reset_peak();
    auto const begin = std::chrono::steady_clock::now();
    record_.call(op, below, stack);
    auto const work = bytes_.peak() - bytes_.allocated();
    auto& all = record_.operators();
    auto const count = std::size_t(all.size());
    if (count <= works_.size()) return;  // it is not recorded
    works_.resize(count);
    works_.back() = work;
    auto const& result = stack.empty() ? c10::IValue{} : stack.back();
    if (result.isTensor() && result.toTensor().defined() && !result.toTensor().is_cpu())
      all[int(count) - 1].seconds = float(double(nanoseconds_since(begin, result.toTensor())) * 1e-9);
  }
  [[nodiscard]] std::vector<std::int64_t> const& works() const noexcept { return works_; }

 private:
  call_record& record_;
  byte_reporter& bytes_;
  dispatch_mode* outer_;
  std::vector<std::int64_t> works_;
};

/// When the adjoints of operations began.
class adjoint_watch {
 public:
  struct event {
    std::size_t operation;
    std::int64_t time;     ///< nanoseconds since the start of the backward pass
    std::size_t changes;   ///< of bytes until then
  };
  explicit adjoint_watch(std::shared_ptr<byte_reporter> bytes) : bytes_{std::move(bytes)} {}

  /// Watches the nodes of a graph.
  /// \param operations  by the number of a node
  static void put_on(std::shared_ptr<adjoint_watch> const& watch, at::Tensor const& loss,
                     std::unordered_map<std::uint64_t, std::size_t> const& operations) {
    std::vector<torch::autograd::Node*> open{loss.grad_fn().get()};
    std::unordered_set<torch::autograd::Node*> seen;
    while (!open.empty()) {
      auto* const node = open.back();
      open.pop_back();
      if (node == nullptr || !seen.insert(node).second) continue;
      if (auto const found = operations.find(node->sequence_nr()); found != operations.end())
        node->add_pre_hook(std::make_unique<hook>(watch, found->second));
      for (auto const& next : node->next_edges()) open.push_back(next.function.get());
    }
  }
  [[nodiscard]] std::vector<event>& events() noexcept { return events_; }
  [[nodiscard]] std::chrono::steady_clock::time_point begin() const noexcept { return begin_; }

 private:
  struct hook final : torch::autograd::FunctionPreHook {
    hook(std::shared_ptr<adjoint_watch> watch, std::size_t of) : watch_{std::move(watch)}, of_{of} {}
    torch::autograd::variable_list operator()(torch::autograd::variable_list const& grads) override {
      auto const time = nanoseconds_since(watch_->begin_, grads.empty() ? at::Tensor{} : grads.front());
      watch_->events_.push_back({of_, time, watch_->bytes_->count_of_changes()});
      return grads;
    }
    std::shared_ptr<adjoint_watch> watch_;
    std::size_t of_;
  };

  std::shared_ptr<byte_reporter> bytes_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<event> events_;
};

/// What a step takes: a graph with the times and the work of adjoints, too. What runs between the adjoints of two
/// operations, such as those of views and sums of gradients, counts for the first one.
struct measured_step {
  operation_graph graph;
  std::vector<std::string> names;
  std::vector<std::vector<void const*>> reads;  ///< for each operation, memories from outside that it reads

  /// \param leaves  tensors whose gradients are the caller's
  measured_step(std::function<at::Tensor()> const& loss_of, c10::Device device, tensor_list const& leaves) {
    auto const bytes = reporter_for(device);
    c10::DebugInfoGuard const guard{c10::DebugInfoKind::PROFILER_STATE, bytes};
    auto const totals = std::make_shared<record_totals>();
    at::Tensor loss;
    std::unordered_map<std::uint64_t, std::size_t> nodes;
    {
      record_scope const scope{std::make_shared<byte_account>(), totals, "cairn::libtorch::StepProfiler"};
      operator_meter const meter{scope.record(), *bytes};
      loss = loss_of();
      record_graph call{scope.record()};
      auto& operators = scope.record().operators();
      for (int k = 0; k < operators.size(); ++k) {
        auto const v = call.operation_of(k);
        call.graph.operations[v].work = (std::max)(call.graph.operations[v].work, meter.works()[std::size_t(k)]);
        if (operators[k].has_adjoint) nodes.try_emplace(operators[k].sequence - 1, v);
      }
      graph = std::move(call.graph);
      names = std::move(call.names);
      reads = std::move(call.reads);
    }
    bytes->remember();
    auto const watch = std::make_shared<adjoint_watch>(bytes);
    adjoint_watch::put_on(watch, loss, nodes);
    loss.backward();
    auto& events = watch->events();
    events.push_back({0, nanoseconds_since(watch->begin(), loss), bytes->count_of_changes()});
    auto changes = bytes->changes();
    std::unordered_map<void const*, std::size_t> last;  // the last block that begins at an address is the one there
    for (std::size_t k = 0; k < changes.size(); ++k) if (changes[k].second > 0) last[changes[k].first] = k;
    for (auto const& t : leaves)  // their gradients are the caller's
      if (t.grad().defined() && t.grad().has_storage())
        if (auto const at = last.find(t.grad().storage().data_ptr().get()); at != last.end())
          changes[at->second].second = 0;
    add_adjoints(events, changes);
  }

 private:
  void add_adjoints(std::vector<adjoint_watch::event> const& events,
                    std::vector<std::pair<void const*, std::int64_t>> const& changes) {
    std::vector<std::int64_t> rises(graph.operations.size());
    std::size_t change = 0;
    std::int64_t now = 0, before = 0;
    for (std::size_t k = 0; k + 1 < events.size(); ++k) {
      auto const v = events[k].operation;
      // Between the operators of one operation, autograd frees what the last one has saved.
      if (k == 0 || events[k - 1].operation != v) before = now;
      for (; change < events[k + 1].changes; ++change) {
        now += changes[change].second;
        rises[v] = (std::max)(rises[v], now - before);
      }
      graph.operations[v].adjoint_time += events[k + 1].time - events[k].time;
    }
    share_adjoints(rises);
  }
  /// Of the bytes by which the memory rose during an adjoint, those of the adjoints that it makes are no work. Where it
  /// rose by less, as in that of a sum, it has handed on one tensor to several inputs: the one that is needed longest
  /// counts.
  void share_adjoints(std::vector<std::int64_t> const& rises) {
    auto& all = graph.operations;
    std::vector<int> readers(all.size());
    std::vector<char> is_there(all.size());
    for (auto const& one : all)
      for (auto const u : one.inputs) ++readers[std::size_t(u)];
    for (auto const v : graph.outputs) is_there[std::size_t(v)] = 1;
    for (std::size_t v = all.size(); v-- > 0;) {
      std::vector<std::size_t> made;
      std::int64_t given = 0;
      for (auto const input : all[v].inputs)
        if (auto const u = std::size_t(input); !std::exchange(is_there[u], 1) && all[u].adjoint_bytes > 0)
          made.push_back(u), given += all[u].adjoint_bytes;
      std::sort(made.begin(), made.end());
      for (; made.size() > 1 && given > rises[v] && readers[made.back()] == 1; made.pop_back())
        given -= std::exchange(all[made.back()].adjoint_bytes, 0);
      all[v].adjoint_work = (std::max)(std::int64_t{0}, rises[v] - given);
    }
  }
};

}  // namespace cairn::libtorch::detail
