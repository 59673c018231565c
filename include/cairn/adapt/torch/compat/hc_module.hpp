// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file hc_module.hpp  Wraps a model so that it trains by blocks of about the square root of its length, as
/// tiny-backprop's HCModule does in Python.
#include <cstdint>
#include <iostream>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/pimpl.h>
#include <cairn/adapt/torch/compat/detail/recorded_calls.hpp>
#include <cairn/adapt/torch/compat/hc_config.hpp>
#include <cairn/adapt/torch/record/detail/call_record.hpp>
#include <cairn/adapt/torch/record/record_report.hpp>
#include <cairn/adapt/torch/state/detail/device_choice.hpp>
#include <cairn/adapt/torch/state/detail/environment.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/block_executor.hpp>

namespace cairn::libtorch {
namespace detail {

/// A Sequential, whose children are nodes, or any module.
class hc_model {
 public:
  explicit hc_model(torch::nn::Sequential model) : sequential_{std::move(model)} {}
  explicit hc_model(torch::nn::AnyModule model) : any_{std::move(model)} {}

  [[nodiscard]] std::shared_ptr<torch::nn::Module> ptr() const { return sequential_ ? sequential_.ptr() : any_.ptr(); }
  [[nodiscard]] bool has_nodes() const { return bool(sequential_); }
  /// Calls the nodes one after the other, and `begin()` before each.   \pre has_nodes()
  template <class Begin>
  [[nodiscard]] at::Tensor by_nodes(at::Tensor x, Begin const& begin) {
    for (auto& one : *sequential_) {
      begin();
      x = one.forward(x);
    }
    return x;
  }
  template <class Result, class... Inputs>
  [[nodiscard]] Result call(Inputs const&... inputs) {
    if (!sequential_) return any_.forward<Result>(inputs...);
    return sequential_->forward<Result>(inputs...);
  }
  /// A copy with its own parameters.
  [[nodiscard]] hc_model clone(device_choice const& device) const {
    if (!sequential_) return hc_model{any_.clone(device)};
    auto const model = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(sequential_->clone(device));
    return hc_model{torch::nn::Sequential{model}};
  }

 private:
  torch::nn::Sequential sequential_{nullptr};
  torch::nn::AnyModule any_;
};

}  // namespace detail

/// The blocks of an `HCModule` and the measurements they were planned from.
class HCExecutor {
 public:
  /// The blocks. Its `meta()` has num_blocks, the largest block, the predicted peak_bytes and more.
  /// \throws invalid_call   if nothing is planned
  [[nodiscard]] block_plan const& checkpoint_plan() const {
    return kind() != nullptr ? *kind()->blocks : blocks_.plan();
  }
  /// Bytes and nanoseconds of the nodes in the call that was planned. Adjoints have no times.
  [[nodiscard]] chain const& work() const noexcept {
    static chain const none{.x = {0}, .s = {}, .u = {}};
    return kind() != nullptr ? kind()->work : none;
  }
  /// Why the model runs without checkpoints; empty if a plan was made.
  [[nodiscard]] char const* notice() const noexcept {
    return kind() != nullptr ? kind()->notice.c_str() : blocks_.notice();
  }
  /// How often a plan was made.
  [[nodiscard]] std::uint64_t plans_made() const noexcept { return blocks_.plans_made(); }
  /// What calls did.
  [[nodiscard]] RecordReport report() const { return calls_->report(); }

 private:
  friend class HCModuleImpl;
  [[nodiscard]] detail::planned_kind const* kind() const noexcept { return calls_->last.get(); }

  block_executor blocks_{{}, "cairn::libtorch::HCModule"};
  std::shared_ptr<detail::recorded_calls> calls_ = std::make_shared<detail::recorded_calls>();
};

/// A model that runs by blocks. Each call runs the model once, as it is, and records it, as `checkpoint_module` does:
/// what is inside of a block is dropped at its end, and backward makes it again from the operators of this call; the
/// last block is held. The nodes are the children of a Sequential. A child that changes its input in place, or returns
/// its input or a view of it, is one node with the child before. The nodes of another model are the operators of its
/// call, each with those right behind it that change memory of the call in place. Gradients have the same bits as those
/// of the model. Parameters have the names of the model's, with the prefix "module.".
class HCModuleImpl : public torch::nn::Module {
 public:
  /// \param model  its children are the nodes
  explicit HCModuleImpl(torch::nn::Sequential model, HCConfig config = {})
      : HCModuleImpl(detail::hc_model{std::move(model)}, std::move(config)) {}
  /// \param model  any module, whose calls are recorded
  explicit HCModuleImpl(torch::nn::AnyModule model, HCConfig config = {})
      : HCModuleImpl(detail::hc_model{std::move(model)}, std::move(config)) {}

  /// The model's output. A call is planned when it ends, if none has run the same operators before; until then its
  /// blocks are not known, and nothing is dropped.
  /// \throws as `checkpoint`; invalid_plan   for an invalid block size, and if the planner returns invalid blocks
  [[nodiscard]] at::Tensor forward(at::Tensor const& x) { return call(x); }
  /// The same for a model with several inputs, whose nodes are its operators.
  /// \tparam Result  what the model returns   \param inputs  of exactly the types that the model takes
  template <class Result = at::Tensor, class... Inputs>
  [[nodiscard]] Result call(Inputs const&... inputs) {
    bool const is_part = detail::call_record::of_call() != nullptr || torch::jit::tracer::isTracing();
    if (is_part || !at::GradMode::is_enabled()) return model_.call<Result>(inputs...);
    return recorded<Result>(inputs...);
  }
  /// Calls `loss.backward()`.
  void backward(at::Tensor const& loss) { loss.backward(); }
  /// The same, and reports when blocks are run again and reversed: calls `run_forward(first, last)` before the nodes
  /// [first, last) run again, and `run_backward` before their adjoints. A block whose tapes forward has kept, such as
  /// the last one, is only reversed. An exception of a callback ends the backward pass.
  void backward(at::Tensor const& loss, execution_callbacks const& callbacks) {
    auto telling = teller_.during(callbacks);
    loss.backward();
    telling.finish();
  }
  /// Runs forward once on an example and makes a new plan; then buffers and generators are as before.
  /// \tparam Result  what the model returns   \param example_inputs  of exactly the types that the model takes
  /// \throws as `forward`
  template <class Result = at::Tensor, class... Inputs>
  HCExecutor const& configure_executor(Inputs const&... example_inputs) {
    executor_.calls_->kinds.clear();
    auto leaves = buffers();
    at::AutoGradMode const records{true};
    detail::generator_use const drawing{Rng::Preserve};
    detail::undone_writes written;
    for (auto const& t : parameters()) leaves.push_back(t);
    auto const generators = detail::generator_states::now(leaves);
    detail::generator_guard const at_end{drawing, generators};
    detail::read_tracker const tracker{&written.log};
    (void)call<Result>(example_inputs...);
    return executor_;
  }
  /// \throws invalid_call   before the first forward and `configure_executor`
  [[nodiscard]] HCExecutor const& executor() const {
    if (executor_.kind() == nullptr)
      throw invalid_call{who, "nothing is configured", {}, "call forward or configure_executor first"};
    return executor_;
  }
  /// A copy of the model with the same config; also used when this module is a child of a module that is cloned. The
  /// copy plans at its own first forward.
  [[nodiscard]] std::shared_ptr<torch::nn::Module> clone(detail::device_choice const& device = {}) const override {
    return std::shared_ptr<HCModuleImpl>(new HCModuleImpl(model_.clone(device), config_));
  }
  void pretty_print(std::ostream& stream) const override { stream << "cairn::libtorch::HCModule"; }  ///< its name

 private:
  static constexpr char const* who = "cairn::libtorch::HCModule";

  HCModuleImpl(detail::hc_model model, HCConfig config) : config_{std::move(config)}, model_{std::move(model)} {
    torch::nn::Module::train(model_.ptr()->is_training());  // before the child is registered, which keeps its own modes
    register_module("module", model_.ptr());
  }
  /// Makes this module a copy of `other`; LibTorch calls it for children of a module that is cloned.
  void clone_(torch::nn::Module& other, detail::device_choice const& device) override {
    auto const copy = std::dynamic_pointer_cast<HCModuleImpl>(other.clone(device));
    if (!copy)
      throw invalid_call{who,
                         "the module to be copied is of another type",
                         {},
                         "let reset() of the module around make the same children each time"};
    torch::nn::Module::operator=(*copy);
    config_ = copy->config_;
    model_ = copy->model_;
    executor_.calls_ = std::make_shared<detail::recorded_calls>();
  }
  void tell_notice(char const* text) const {
    if (config_.notice()) config_.notice()(text);
    else std::clog << who << ": " << text << '\n';
  }
  [[nodiscard]] block_options how_to_divide() const {
    return {.block_size = config_.block_size(),
            .planner = config_.planner(),
            .notice = [this](char const* text) { tell_notice(text); }};
  }
  template <class Result, class... Inputs>
  [[nodiscard]] Result recorded(Inputs const&... inputs) {
    if (config_.block_size() < 0)
      throw invalid_plan{who,
                         "a block has a negative number of nodes",
                         {{"block_size", config_.block_size()}},
                         "give 1 or more, or 0 for the square root of their number"};
    auto const calls = executor_.calls_;
    calls->begin(config_);
    return calls->by_blocks<Result>(
        config_,
        [&](auto const& begin) -> Result {
          if constexpr (std::is_same_v<std::tuple<Result, Inputs...>, std::tuple<at::Tensor, at::Tensor>>)
            if (model_.has_nodes()) return model_.by_nodes(inputs..., begin);
          return model_.call<Result>(inputs...);
        },
        [&](operation_graph const& graph) {
          auto work = detail::chain_of(graph);
          auto blocks = executor_.blocks_.configure(work, how_to_divide());
          if (blocks.size() > 0) blocks.promise_peak(detail::peak_of(graph, blocks, who));
          return detail::planned_kind{
              {}, std::make_shared<block_plan const>(std::move(blocks)), std::move(work), executor_.blocks_.notice()};
        },
        [&](auto const&... of) { return teller_.of_record(of...); });
  }
  HCConfig config_;
  detail::hc_model model_;
  HCExecutor executor_;
  detail::block_teller teller_;
};
/// A holder of an `HCModuleImpl`, as for LibTorch's modules.
TORCH_MODULE(HCModule);

}  // namespace cairn::libtorch
