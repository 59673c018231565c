// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_profiler.hpp  Profiles a training step of LibTorch: forward, loss, backward and optimiser, operation by
/// operation.
#include <cairn/language.hpp>  // first: an older language gets its message
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
#include <torch/arg.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/memory/detail/host_memory.hpp>
#include <cairn/adapt/torch/record/detail/record_graph.hpp>
#include <cairn/adapt/torch/record/detail/record_scope.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/error.hpp>
#include <cairn/profile/profile_of.hpp>
#include <cairn/profile/profiled_sweep.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::libtorch {

namespace detail {

/// At least 1. Waits for the device of the result.   \param result  of the call; undefined if there is none
[[nodiscard]] inline std::int64_t nanoseconds_since(std::chrono::steady_clock::time_point start,
                                                    at::Tensor const& result) {
  wait_for(result);
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

}  // namespace detail

/// Options of `StepProfiler`.
struct StepProfilerOptions {
  /// Runs that count, >= 3; one more run before them does not count.
  TORCH_ARG(int, runs) = 3;
};

/// What plain training steps took, and what their profile predicts. Times are medians.
struct StepReport {
  double step_seconds = 0;       ///< of a plain step: forward, backward and optimiser
  double optimizer_seconds = 0;  ///< of the optimiser's part of it
  double plain_seconds = 0;      ///< of all plain steps together, also of the one that does not count
  double profile_seconds = 0;    ///< of the recorded runs
  std::int64_t standing_bytes = 0;  ///< parameters, buffers, inputs and the optimiser's states
  std::int64_t counted_peak = 0;    ///< most bytes of tensors in a plain step, `standing_bytes` included
  std::int64_t predicted_peak = 0;  ///< the same predicted by the profile, in which whole adjoints run one by one
  peak_breakdown breakdown;         ///< of the predicted peak
  /// The parts of the most bytes of a plain step, counted block by block: `act` is what forward made, `grad` are
  /// gradients of parameters, and `other` has inputs, buffers, adjoints of values and working memory. Its rank has no
  /// meaning.
  peak_breakdown counted;
};

/// Profiles training steps. Parameters, buffers, inputs and the optimiser's states are leaves of the profile, each
/// operator below autograd, with those right behind it that change memory of the step in place, is an operation, and
/// the optimiser's step is the last node.
class StepProfiler : public profiled_sweep {
 public:
  /// \throws invalid_plan   for fewer than three runs
  explicit StepProfiler(StepProfilerOptions options = {}) : options_{std::move(options)} {
    if (options_.runs() < 3)
      throw invalid_plan{who, "a profile is a median of three runs at least", {{"runs", options_.runs()}},
                         "give 3 or more"};
  }

  /// Takes one plain step that does not count, then `runs` that do, and counts the bytes of one more forward and
  /// backward. Then runs forward and backward the same number of times on records, which show each operator and its
  /// adjoint. All these runs are real ones: they change parameters, buffers and the optimiser's states, draw numbers,
  /// and leave no gradients.
  /// \param module  has the parameters that the call reads; must outlive the profiler
  /// \param loss_of  called with the inputs; returns the loss, a tensor of one number
  /// \param inputs  tensors that need no gradient: a batch, its labels
  /// \returns the graph for `graph_planner`, with bytes and nanoseconds; of a step that runs other operators each time,
  ///   that of the last run
  /// \throws exceptions of `loss_of`
  operation_graph run(torch::nn::Module& module, std::function<at::Tensor(tensor_list const&)> loss_of,
                      tensor_list const& inputs, torch::optim::Optimizer& optimizer) {
    report_ = {};
    auto const parameters = module.parameters();
    std::int64_t const states = plain_steps(parameters, loss_of, inputs, optimizer);
    auto const begin = clock::now();
    auto const measured = recorded_runs(parameters, [&] { return loss_of(inputs); });
    report_.profile_seconds = seconds_since(begin);
    found(parts_of(measured, module, inputs, states));
    for (auto const& node : stats().nodes)
      report_.predicted_peak = (std::max)(report_.predicted_peak, node.median_peak_mem_bytes);
    report_.breakdown = breakdown_of(stats());
    return measured.graph;
  }

  [[nodiscard]] StepReport const& report() const noexcept { return report_; }  ///< of the last run

 private:
  using clock = std::chrono::steady_clock;
  static constexpr char const* who = "cairn::libtorch::StepProfiler";

  template <class T>
  [[nodiscard]] static T median(std::vector<T> all) {
    auto const middle = all.begin() + std::ptrdiff_t(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return all.empty() ? T{} : *middle;
  }
  [[nodiscard]] static double seconds_since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
  }
  static void drop_gradients(tensor_list const& parameters) {
    for (auto const& p : parameters) p.mutable_grad() = at::Tensor{};
  }
  /// Medians of all runs that are like the last one; the first run does not count.
  [[nodiscard]] detail::measured_step recorded_runs(tensor_list const& parameters,
                                                    std::function<at::Tensor()> const& loss_of) const {
    std::vector<detail::measured_step> runs;
    for (int k = 0; k <= options_.runs(); ++k) {
      drop_gradients(parameters);
      detail::measured_step one{loss_of, detail::device_of(parameters), parameters};
      if (k > 0) runs.push_back(std::move(one));
    }
    drop_gradients(parameters);
    auto found = runs.back();
    std::erase_if(runs, [&](auto const& one) { return one.names != found.names; });
    for (std::size_t v = 0; v < found.names.size(); ++v)
      for (auto const part : {&graph_operation::time, &graph_operation::adjoint_time, &graph_operation::work,
                              &graph_operation::adjoint_work}) {
        std::vector<std::int64_t> all;
        for (auto const& one : runs) all.push_back(one.graph.operations[v].*part);
        found.graph.operations[v].*part = median(std::move(all));
      }
    return found;
  }
  /// \returns bytes of the optimiser's states
  [[nodiscard]] std::int64_t plain_steps(tensor_list const& parameters,
                                         std::function<at::Tensor(tensor_list const&)> const& loss_of,
                                         tensor_list const& inputs, torch::optim::Optimizer& optimizer) {
    std::vector<double> steps, updates;
    std::vector<std::int64_t> peaks, works;
    std::int64_t states = 0;
    auto const device = detail::device_of(parameters);
    auto const all = clock::now();
    byte_meter meter{device};
    for (int k = 0; k <= options_.runs(); ++k) {
      drop_gradients(parameters);
      meter.reset_peak();
      std::int64_t const before = meter.allocated();
      auto const begin = clock::now();
      loss_of(inputs).backward();
      std::int64_t const peak = meter.peak() - before;
      meter.reset_peak();
      std::int64_t const with_gradients = meter.allocated();
      auto const update = clock::now();
      optimizer.step();
      detail::wait_for(parameters);
      double const update_seconds = seconds_since(update), step_seconds = seconds_since(begin);
      std::int64_t const work = meter.peak() - with_gradients;
      if (k == 0) {
        states = meter.allocated() - with_gradients;  // made in the first step
        continue;
      }
      steps.push_back(step_seconds), updates.push_back(update_seconds);
      works.push_back(work);
      peaks.push_back((std::max)(peak, with_gradients - before + work));
    }
    report_.plain_seconds = seconds_since(all);
    report_.step_seconds = median(steps), report_.optimizer_seconds = median(updates);
    report_.counted_peak = median(peaks);
    optimizer_work_ = median(works);
    count_parts(parameters, loss_of, inputs, device);
    return states;
  }
  /// Runs forward and backward once more, and records each block of memory.
  void count_parts(tensor_list const& parameters, std::function<at::Tensor(tensor_list const&)> const& loss_of,
                   tensor_list const& inputs, c10::Device device) {
    drop_gradients(parameters);
    auto const bytes = detail::reporter_for(device);
    c10::DebugInfoGuard const guard{c10::DebugInfoKind::PROFILER_STATE, bytes};
    bytes->remember();
    auto loss = loss_of(inputs);
    std::size_t const turn = bytes->changes().size();
    loss.backward();
    loss = at::Tensor{};
    auto const changes = bytes->changes();
    std::int64_t gradients = 0, now = 0, most = 0;
    std::unordered_set<void const*> of_gradients;
    for (auto const& p : parameters)
      if (p.grad().defined()) of_gradients.insert(p.grad().storage().data_ptr().get());
    std::unordered_map<void const*, std::size_t> last;  // the block of a gradient is the last that began at its address
    std::size_t summit = 0;
    for (std::size_t k = 0; k < changes.size(); ++k) {
      if (changes[k].second > 0) last[changes[k].first] = k;
      now += changes[k].second;
      if (now > most) most = now, summit = k;
    }
    std::unordered_map<void const*, std::size_t> live;
    for (std::size_t k = 0; k < changes.size() && k <= summit; ++k)
      if (changes[k].second > 0) live[changes[k].first] = k;
      else live.erase(changes[k].first);
    auto& parts = report_.counted.bytes;
    parts = {};
    for (auto const& [block, k] : live) {
      bool const is_gradient = of_gradients.count(block) != 0 && last[block] == k;
      parts[std::size_t(is_gradient ? node_type::grad : k < turn ? node_type::act : node_type::other)] +=
          changes[k].second;
    }
    for (auto const* const block : of_gradients)
      if (auto const at = last.find(block); at != last.end()) gradients += changes[at->second].second;
    if (gradients + optimizer_work_ > most) {  // the optimiser takes more
      parts = {};
      parts[std::size_t(node_type::grad)] = gradients;
    }
    drop_gradients(parameters);
  }
  [[nodiscard]] profiled_graph parts_of(detail::measured_step const& measured, torch::nn::Module const& module,
                                        tensor_list const& inputs, std::int64_t states) {
    profiled_graph all{.graph = measured.graph};
    std::unordered_set<void const*> known;
    std::unordered_multimap<void const*, std::size_t> places;  // of leaves, by their memory
    std::unordered_map<std::size_t, std::string> layers;       // by leaf
    auto const add = [&](at::Tensor const& t, std::string name, node_type type, std::string layer) {
      if (!known.insert(t.unsafeGetTensorImpl()).second) return;
      if (t.has_storage()) places.emplace(t.storage().unsafeGetStorageImpl(), all.leaves.size());
      layers.emplace(all.leaves.size(), std::move(layer));
      all.leaves.push_back({std::move(name), type, std::int64_t(t.nbytes())});
    };
    auto const layer_of = [](std::string const& name) {
      return name.substr(0, (std::min)(name.rfind('.'), name.size()));
    };
    for (auto const& one : module.named_parameters())
      add(one.value(), one.key(), one.value().requires_grad() ? node_type::param : node_type::other,
          layer_of(one.key()));
    for (auto const& one : module.named_buffers())
      if (one.value().defined()) add(one.value(), one.key(), node_type::other, layer_of(one.key()));
    if (states > 0) all.leaves.push_back({"optimizer.state", node_type::opt_state, states});
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].defined()) add(inputs[k], "input " + std::to_string(k), node_type::other, {});
    report_.standing_bytes = 0;
    for (auto const& leaf : all.leaves) report_.standing_bytes += leaf.bytes;
    report_.counted_peak += report_.standing_bytes;
    auto& parts = report_.counted.bytes;
    std::int64_t in_parts = 0;
    for (auto const& leaf : all.leaves)
      if (leaf.type != node_type::other) parts[std::size_t(leaf.type)] += leaf.bytes;
    for (node_type const type : {node_type::param, node_type::act, node_type::grad, node_type::opt_state})
      in_parts += parts[std::size_t(type)];
    report_.counted.peak = report_.counted_peak;
    parts[std::size_t(node_type::other)] = report_.counted_peak - in_parts;
    for (std::size_t v = 0; v < measured.names.size(); ++v) {
      std::string layer;
      auto& reads = all.reads.emplace_back();
      for (auto const* const memory : measured.reads[v])
        for (auto [at, end] = places.equal_range(memory); at != end; ++at) {
          reads.push_back(at->second);
          if (layer.empty()) layer = layers[at->second];
        }
      auto const of = layer.empty() ? std::string{} : " of " + layer;
      all.names.push_back(measured.names[v] + of + " #" + std::to_string(v));
    }
    all.updates = {{"optimizer.step", std::int64_t(report_.optimizer_seconds * 1e9), optimizer_work_}};
    all.device = detail::device_of(module.parameters()).str();
    return all;
  }

  StepProfilerOptions options_;
  StepReport report_;
  std::int64_t optimizer_work_ = 0;
};

}  // namespace cairn::libtorch
