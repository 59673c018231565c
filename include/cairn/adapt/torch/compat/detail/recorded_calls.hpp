// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file recorded_calls.hpp  The calls of an `HCModule` that are recorded: the kinds that are known, their blocks,
/// and what the caller of a backward pass is told of them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/compat/hc_config.hpp>
#include <cairn/adapt/torch/record/detail/record_blocks.hpp>
#include <cairn/adapt/torch/record/detail/record_graph.hpp>
#include <cairn/adapt/torch/record/detail/record_scope.hpp>
#include <cairn/adapt/torch/record/record_report.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/graph/replay.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/detail/graph_segments.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/block_executor.hpp>

namespace cairn::libtorch::detail {

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

}  // namespace cairn::libtorch::detail
