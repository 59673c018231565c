// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file hc_module.hpp  Wraps a model so that it trains by blocks of about the square root of its length, as
/// tiny-backprop's HCModule does in Python.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/arg.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/pimpl.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/record/detail/call_record.hpp>
#include <cairn/adapt/torch/record/detail/record_graph.hpp>
#include <cairn/adapt/torch/record/detail/record_regions.hpp>
#include <cairn/adapt/torch/record/detail/record_scope.hpp>
#include <cairn/adapt/torch/record/record_report.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/versions.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/block/block_planner.hpp>
#include <cairn/plan/graph/replay.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/detail/graph_segments.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/block_executor.hpp>

namespace cairn::libtorch {

/// How an `HCModule` divides its model into blocks. By default: blocks of ceil(sqrt(number of nodes)).
struct HCConfig {
  /// Nodes per block; 0 for the default. Nodes are recorded operators if the model is not a Sequential.
  TORCH_ARG(std::int64_t, block_size) = 0;
  /// A callable `plan(chain const& work)` that returns a `block_plan`, used in place of a block size. The chain holds
  /// the sizes and times of the nodes, measured on the example inputs.
  TORCH_ARG(block_planner, planner) = {};
  /// Called with the reason if the model runs without checkpoints, or if something is held that cannot be made again;
  /// if empty, it goes to std::clog.
  TORCH_ARG(std::function<void(char const*)>, notice) = {};
  /// Whether each saved tensor that is made again is compared with what it was, by a sum of 64 bits.
  TORCH_ARG(bool, verify) = false;
  /// Which operators' results are held in blocks, as in a region; `cairn::libtorch::keep` works there, too. The plan
  /// does not count these bytes. By default none.
  TORCH_ARG(checkpoint_policy, policy) = {};
};

namespace detail {

/// A graph as a chain to divide into blocks: state i holds the values that operations i and later read from earlier
/// ones.
[[nodiscard]] inline chain chain_of(operation_graph const& graph) {
  std::vector<step_index> last(graph.operations.size(), -1);
  for (std::size_t v = 0; v < last.size(); ++v)
    for (auto const u : graph.operations[v].inputs) last[std::size_t(u)] = step_index(v);
  for (auto const u : graph.outputs) last[std::size_t(u)] = graph.size();
  chain work{.x = {0}, .s = {}, .u = {}};
  for (step_index v = 0; v < graph.size(); ++v) {
    auto const& one = graph.operations[std::size_t(v)];
    std::int64_t passes = 0;
    for (step_index u = 0; u <= v; ++u)
      if (last[std::size_t(u)] > v) passes += graph.operations[std::size_t(u)].bytes;
    work.x.push_back(passes);
    work.s.push_back(passes + one.tape_bytes);
    work.f.push_back(one.work);
    work.u.push_back(one.time);
  }
  return work;
}

/// The most bytes of a call by blocks: the last block keeps what its adjoints read, the others run again.
[[nodiscard]] inline std::int64_t peak_of(operation_graph const& graph, block_plan const& blocks, char const* who) {
  std::vector<step_index> ends;
  for (step_index j = 0; j < blocks.size(); ++j) ends.push_back(blocks[j].last);
  return replay(graph, cairn::detail::segmented_actions({graph, who}, ends)).peak;
}

/// A kind of call, and the blocks that were planned for it.
struct planned_kind : block_ends {
  std::shared_ptr<block_plan const> blocks;
  chain work;
  std::string notice;
};

/// The recorded calls of one module. Those that have not run backward yet may outlive it.
class recorded_calls {
 public:
  std::vector<std::shared_ptr<planned_kind const>> kinds;  ///< those that are known
  std::shared_ptr<planned_kind const> last;  ///< the kind of the last call; null if that failed

  [[nodiscard]] RecordReport report() const {
    auto all = calls_.report();
    all.limit = 0;
    return all;
  }
  void begin(HCConfig const& config) {
    last.reset();
    if (auto const& notice = config.notice())
      calls_.totals->notice = [notice](std::string const& what) { notice(what.c_str()); };
  }
  /// \param run(begin)  calls `begin()` in front of each node, if nodes are known
  /// \param plan(graph)  returns a new kind, without ends and signature   \param tell(blocks, call)  as for
  ///   `block_teller::of_record`
  template <class Result, class Run, class Plan, class Tell>
  [[nodiscard]] Result by_blocks(HCConfig const& config, Run const& run, Plan const& plan, Tell const& tell) {
    auto const blocks = std::make_shared<record_blocks>(record_blocks::kinds(kinds.begin(), kinds.end()));
    return calls_.call(who_, config.verify(), [&](call_record& record) {
      if (config.policy()) record.in_force.policy = &config.policy();
      record.divide(blocks);
      std::vector<int> nodes;
      Result result = run([&] { nodes.push_back(record.operators().size()); });
      last = std::static_pointer_cast<planned_kind const>(blocks->kind());
      if (!last) {
        record_graph const call{record, std::move(nodes)};
        auto made = std::make_shared<planned_kind>(plan(call.graph));
        made->signature = blocks->signature();
        for (step_index j = 0; j < made->blocks->size(); ++j)
          made->ends.push_back(call.begins[std::size_t((*made->blocks)[j].last)]);
        if (kinds.size() == most) kinds.erase(kinds.begin());
        kinds.push_back(made);
        last = std::move(made);
      }
      record.settle(last->ends, tell(last->blocks, blocks));
      return result;
    });
  }

 private:
  static constexpr std::size_t most = 8;  ///< kinds that are known at once
  static constexpr char const* who_ = "cairn::libtorch::HCModule";
  recorded_verb calls_;
};

/// Holds the callbacks of the current backward pass, and makes functions that call them. These functions may outlive
/// the teller; between passes they do nothing.
class block_teller {
  struct state {
    execution_callbacks callbacks;
    bool is_in_pass = false;
    std::vector<std::weak_ptr<record_blocks>> calls;  ///< those of the pass
  };

 public:
  /// Removes the callbacks when it is destroyed.
  class pass {
   public:
    explicit pass(std::shared_ptr<state> of) : of_{std::move(of)} {}
    pass(pass const&) = delete;
    pass& operator=(pass const&) = delete;
    ~pass() { *of_ = {}; }
    /// Reports the blocks in which nothing was asked for, and behind which nothing came.
    void finish() {
      auto const calls = of_->calls;  // a copy: callbacks may begin a pass of their own
      for (auto const& one : calls)
        if (auto const call = one.lock()) call->finish();
    }

   private:
    std::shared_ptr<state> of_;
  };

  /// Callbacks are called while the result lives.
  [[nodiscard]] pass during(execution_callbacks const& callbacks) {
    *now_ = {callbacks, true, {}};
    return pass{now_};
  }
  /// For a recorded call.
  [[nodiscard]] std::function<void(int block, bool again)> of_record(std::shared_ptr<block_plan const> blocks,
                                                                     std::weak_ptr<record_blocks> call) const {
    return [now = now_, blocks = std::move(blocks), call = std::move(call)](int block, bool again) {
      if (!now->is_in_pass) return;
      auto const is_it = [&](auto const& one) { return !one.owner_before(call) && !call.owner_before(one); };
      if (std::none_of(now->calls.begin(), now->calls.end(), is_it)) now->calls.push_back(call);
      auto const [first, last] = (*blocks)[block];
      auto const tell = again ? now->callbacks.run_forward : now->callbacks.run_backward;
      if (tell) tell(first, last);
    };
  }

 private:
  std::shared_ptr<state> now_ = std::make_shared<state>();
};


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
