// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file hc_module.hpp  Wraps a model so that it trains by blocks of about the square root of its length, as
/// tiny-backprop's HCModule does in Python.
#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/pimpl.h>
#include <cairn/adapt/torch/checkpoint/detail/chain_frame.hpp>
#include <cairn/adapt/torch/checkpoint/detail/region_call.hpp>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/checkpoint/detail/sequential_plan.hpp>
#include <cairn/adapt/torch/checkpoint/sequential.hpp>
#include <cairn/adapt/torch/compat/detail/block_teller.hpp>
#include <cairn/adapt/torch/compat/detail/hc_model.hpp>
#include <cairn/adapt/torch/compat/hc_config.hpp>
#include <cairn/adapt/torch/graph/detail/captured_arguments.hpp>
#include <cairn/adapt/torch/graph/detail/graph_blocks.hpp>
#include <cairn/adapt/torch/graph/detail/graph_node.hpp>
#include <cairn/adapt/torch/graph/detail/module_plans.hpp>
#include <cairn/adapt/torch/graph/module_report.hpp>
#include <cairn/adapt/torch/memory/memory_limit.hpp>
#include <cairn/adapt/torch/state/detail/device_choice.hpp>
#include <cairn/core/byte_budget.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/block_executor.hpp>

namespace cairn::libtorch {

/// The blocks of an `HCModule` and the measurements they were planned from.
class HCExecutor {
 public:
  /// The blocks. Its `meta()` has num_blocks, the largest block, the predicted peak_bytes and more.
  /// \throws invalid_call   if nothing is planned, or if the plan was made for a limit; `report` shows that one
  [[nodiscard]] block_plan const& checkpoint_plan() const {
    if (call_ && !call_->blocks)
      throw invalid_call{"cairn::libtorch::HCModule",
                         "the model runs within a limit, and not by blocks",
                         {},
                         "ask report() for its plan, or give a block size"};
    return call_ ? *call_->blocks : blocks_.plan();
  }
  /// Bytes and nanoseconds of the nodes, measured on the example inputs.
  [[nodiscard]] chain const& work() const noexcept { return call_ ? call_->work : work_; }
  /// Why the model runs without checkpoints; empty if a plan was made.
  [[nodiscard]] char const* notice() const noexcept { return call_ ? call_->notice.c_str() : blocks_.notice(); }
  /// How often a plan was made.
  [[nodiscard]] std::uint64_t plans_made() const noexcept { return blocks_.plans_made() + limits_planned_; }
  /// The operations and the plan of the last call of a captured model; empty for other models.
  [[nodiscard]] ModuleReport report() const { return graphs_ ? graphs_->report() : ModuleReport{}; }

 private:
  friend class HCModuleImpl;
  /// A kind of call that was captured.
  struct captured_kind {
    std::shared_ptr<detail::planned_call const> planned;
    std::shared_ptr<block_plan const> blocks;  ///< null if it is planned by a limit
    chain work;
    std::string notice;
  };

  block_executor blocks_{{}, "cairn::libtorch::HCModule"};
  chain work_;
  detail::sequential_plan plan_;
  std::vector<std::int64_t> key_;
  std::shared_ptr<detail::module_plans> graphs_;
  std::vector<std::shared_ptr<captured_kind const>> kinds_;
  std::shared_ptr<captured_kind const> call_;  ///< the kind of the last call
  std::uint64_t limits_planned_ = 0;
};

/// A model that runs by blocks: forward keeps the first state of each block but the last, and backward runs the blocks
/// again. The nodes are the children of a Sequential, or a list that is given. For another model, or within a limit,
/// the nodes are the operations of its call, which is captured as `checkpoint_module` does. A model that cannot be
/// captured runs without checkpoints, and a notice says why. A child that changes its input in place, or returns its
/// input or a view of it, is one node with the child before. Gradients have the same bits as those of the model.
/// Parameters have the names of the model's, with the prefix "module.".
class HCModuleImpl : public torch::nn::Module {
 public:
  /// A function that lists the nodes of a model.
  using list_of_nodes = detail::hc_model::list_of_nodes;

  /// \param model  its children are the nodes
  explicit HCModuleImpl(torch::nn::Sequential model, HCConfig config = {})
      : HCModuleImpl(detail::hc_model{std::move(model)}, std::move(config)) {}
  /// \param model  a module from tensors to tensors, whose calls are captured
  explicit HCModuleImpl(torch::nn::AnyModule model, HCConfig config = {})
      : HCModuleImpl(detail::hc_model{std::move(model)}, std::move(config)) {}
  /// \param model  the module with the parameters and modes   \param nodes  modules of one tensor each, which give the
  ///   model when they are called one after the other. An HCModule made from such a list cannot be cloned
  HCModuleImpl(torch::nn::AnyModule model, std::vector<torch::nn::AnyModule> nodes, HCConfig config = {})
      : HCModuleImpl(detail::hc_model{std::move(model), std::move(nodes)}, std::move(config)) {}
  /// \param nodes_of  lists the nodes of the model; called again for a copied model when this module is cloned
  HCModuleImpl(torch::nn::AnyModule model, list_of_nodes nodes_of, HCConfig config = {})
      : HCModuleImpl(detail::hc_model{std::move(model), std::move(nodes_of)}, std::move(config)) {}

  /// The model's output. The first call measures the nodes on `x` and plans; so does the first call after a change of
  /// the model.
  /// \throws as `checkpoint_sequential`; invalid_plan   for an invalid block size, and if the planner returns invalid
  ///   blocks; invalid_call   with `strict`, if the model cannot be captured
  [[nodiscard]] at::Tensor forward(at::Tensor const& x) {
    if (!at::GradMode::is_enabled() || torch::jit::tracer::isTracing()) return model_.call<at::Tensor>(x);
    if (is_captured()) return call(x);
    configure(x);
    if (executor_.plan_.actions.empty()) return model_.call<at::Tensor>(x);
    auto const told = teller_.of_chain(std::make_shared<block_plan const>(executor_.blocks_.plan()));
    return detail::run_chain(executor_.plan_, x, {config_.rng(), config_.determinism(), who, told, config_.policy()});
  }
  /// The same for a model with several inputs.
  /// \tparam Result  what the model returns: a tensor, or a tuple, vector ... of tensors
  /// \param inputs  tensors, tuples, vectors ... of them, and scalars, of exactly the types that the model takes
  template <class Result = at::Tensor, class... Inputs>
  [[nodiscard]] Result call(Inputs const&... inputs) {
    bool const is_part = torch::jit::tracer::isTracing();
    if (!is_captured() || is_part || !at::GradMode::is_enabled()) return model_.call<Result>(inputs...);
    configure_call<Result>(inputs...);
    auto const& planned = *executor_.call_->planned;
    if (!planned.program) return model_.call<Result>(inputs...);
    tensor_list leaves;
    (detail::append_argument(inputs, leaves), ...);
    auto const& graph = planned.program->graph;
    leaves.insert(leaves.end(), graph.leaves.begin() + std::ptrdiff_t(graph.inputs), graph.leaves.end());
    auto const results = detail::graph_node::call(planned.program, leaves);
    tensor_reader from{results};
    return read_tensors(std::any_cast<Result const&>(planned.like), from);
  }
  /// Calls `loss.backward()`.
  void backward(at::Tensor const& loss) { loss.backward(); }
  /// The same, and reports when blocks are run again and reversed: calls `run_forward(first, last)` before the nodes
  /// [first, last) run again, and `run_backward` before their adjoints. A block whose tapes forward has kept, such as
  /// the last one, is only reversed. An exception of a callback ends the backward pass.
  void backward(at::Tensor const& loss, execution_callbacks const& callbacks) {
    auto const telling = teller_.during(callbacks);
    loss.backward();
  }
  /// Measures the nodes on an input and makes a new plan.
  /// \throws as `forward`
  HCExecutor const& configure_executor(at::Tensor const& example_input) {
    executor_.key_.clear();
    if (is_captured()) return configure_calls(example_input);
    configure(example_input);
    return executor_;
  }
  /// The same for a captured model with several inputs.
  template <class Result = at::Tensor, class... Inputs>
  HCExecutor const& configure_calls(Inputs const&... example_inputs) {
    if (executor_.graphs_) executor_.graphs_->clear();
    executor_.kinds_.clear();
    configure_call<Result>(example_inputs...);
    return executor_;
  }
  /// \throws invalid_call   before the first forward and `configure_executor`
  [[nodiscard]] HCExecutor const& executor() const {
    if (executor_.key_.empty())
      throw invalid_call{who, "nothing is configured", {}, "call forward or configure_executor first"};
    return executor_;
  }
  /// A copy of the model with the same config; also used when this module is a child of a module that is cloned. The
  /// copy plans at its own first forward.
  /// \throws invalid_call   if the nodes were given as a list, because the matching modules of the copied model are
  ///   unknown
  [[nodiscard]] std::shared_ptr<torch::nn::Module> clone(detail::device_choice const& device = {}) const override {
    return std::shared_ptr<HCModuleImpl>(new HCModuleImpl(model_.clone(device, who), config_));
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
    executor_.plan_ = {};
    executor_.key_.clear();
    executor_.graphs_.reset();
    executor_.kinds_.clear();
    executor_.call_.reset();
  }
  [[nodiscard]] std::optional<byte_size> limit() const {
    if (config_.memory_limit()) return config_.memory_limit();
    if (config_.block_size() != 0 || config_.planner()) return {};
    return libtorch::memory_limit();
  }
  /// Whether the nodes are operations of the model's call.
  [[nodiscard]] bool is_captured() const { return !model_.has_nodes() || limit(); }
  void tell_notice(char const* text) const {
    if (config_.notice()) config_.notice()(text);
    else std::clog << who << ": " << text << '\n';
  }
  template <class Result, class... Inputs>
  void configure_call(Inputs const&... inputs) {
    if (!executor_.graphs_) executor_.graphs_ = std::make_shared<detail::module_plans>(config_.rng(), who);
    detail::captured_arguments arguments{inputs...};
    auto const run = [&](tensor_list const& leaves) {
      return arguments.call([&](auto const&... one) { return model_.call<Result>(one...); }, leaves);
    };
    auto const bytes = limit();
    auto kind = std::make_shared<HCExecutor::captured_kind>();
    auto const plan = [&](operation_graph const& measured, detail::call_counter const& count) {
      return plan_call(measured, bytes, *kind, count);
    };
    std::int64_t const number = bytes ? byte_budget{*bytes}.count() : -1;
    kind->planned =
        executor_.graphs_->of(run, arguments.tensors, arguments.constants, arguments.like, this, number, plan);
    executor_.key_ = {number};
    for (auto const& known : executor_.kinds_)
      if (known->planned == kind->planned) {
        executor_.call_ = known;
        return;
      }
    if (kind->planned->program && !bytes && !kind->blocks) {  // its blocks have been discarded
      executor_.graphs_->clear();
      return configure_call<Result>(inputs...);
    }
    if (!kind->planned->program) {
      if (bytes && config_.strict())
        throw invalid_call{who,
                           ("the model cannot be captured, and so not be kept within its limit: " +
                            kind->planned->report.notice).c_str(),
                           {{"limit", number}},
                           "list nodes that can be run one after another, or run without `strict`"};
      kind->notice = "the model cannot be captured, so it runs without checkpoints: " + kind->planned->report.notice;
      kind->blocks = std::make_shared<block_plan const>(executor_.blocks_.configure(chain{.x = {0}, .s = {}, .u = {}}));
      tell_notice(kind->notice.c_str());
    } else if (kind->blocks) {
      kind->notice = executor_.blocks_.notice();
    }
    executor_.call_ = kind;
    if (executor_.kinds_.size() > 8) executor_.kinds_.erase(executor_.kinds_.begin());
    executor_.kinds_.push_back(std::move(kind));
  }
  [[nodiscard]] detail::call_plan plan_call(operation_graph const& measured, std::optional<byte_size> bytes,
                                            HCExecutor::captured_kind& kind, detail::call_counter const& count) {
    kind.work = detail::chain_of(measured);
    if (bytes) {
      ++executor_.limits_planned_;
      return detail::plan_call(measured, byte_budget{*bytes}.count(), who, count);
    }
    block_options options{.block_size = config_.block_size(), .planner = config_.planner(),
                          .notice = [this](char const* text) { tell_notice(text); }};
    auto const& blocks = executor_.blocks_.configure(kind.work, std::move(options));
    kind.blocks = std::make_shared<block_plan const>(blocks);
    return {detail::plan_of_blocks(measured, blocks), teller_.of_graph(kind.blocks)};
  }
  void configure(at::Tensor const& x) {
    auto key = detail::sequential_key(*this, x);
    if (key == executor_.key_) return;
    executor_.call_.reset();
    auto const notice = [this](char const* text) { tell_notice(text); };
    auto stages = model_.stages();
    block_options options{.block_size = config_.block_size(), .planner = config_.planner(), .notice = notice};
    detail::sequential_plan plan;
    chain work{.x = {0}, .s = {}, .u = {}};
    if (!stages.empty()) {
      detail::need_saved_hooks(who);
      detail::measured_stages measured{std::move(stages), x, config_.rng()};
      work = std::move(measured.work);
      plan.stages = std::move(measured.stages);
    }
    auto const& blocks = executor_.blocks_.configure(work, std::move(options));
    if (!plan.stages.empty()) plan.actions = actions_of(blocks, work);
    executor_.plan_ = std::move(plan);
    executor_.work_ = std::move(work);
    executor_.key_ = std::move(key);
  }
  HCConfig config_;
  detail::hc_model model_;
  HCExecutor executor_;
  detail::block_teller teller_;
};
/// A holder of an `HCModuleImpl`, as for LibTorch's modules.
TORCH_MODULE(HCModule);

}  // namespace cairn::libtorch
