// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file recorded_calls.hpp  The calls of an `HCModule` that are recorded: the kinds that are known, and their blocks.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/compat/hc_config.hpp>
#include <cairn/adapt/torch/record/detail/record_blocks.hpp>
#include <cairn/adapt/torch/record/detail/record_graph.hpp>
#include <cairn/adapt/torch/record/detail/recorded_verb.hpp>
#include <cairn/adapt/torch/record/record_report.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/graph/replay.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/detail/graph_segments.hpp>
#include <cairn/rules/operation_graph.hpp>

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
  std::shared_ptr<planned_kind const> last;  ///< the kind of the last call; null if that had a limit, or failed

  [[nodiscard]] RecordReport report() const {
    auto all = calls_.report();
    if (!has_limit_) all.limit = 0;
    return all;
  }
  /// \param limit  none for a call by blocks
  void begin(std::optional<std::int64_t> limit, HCConfig const& config) {
    last.reset();
    has_limit_ = limit.has_value();
    calls_.account->set_limit(limit.value_or((std::numeric_limits<std::int64_t>::max)()));
    calls_.account->set_strict(config.strict());
    if (auto const& notice = config.notice())
      calls_.totals->notice = [notice](std::string const& what) { notice(what.c_str()); };
  }
  template <class Result, class Run>
  [[nodiscard]] Result within_limit(HCConfig const& config, Run const& run) {
    return calls_.call(who_, config.verify(), [&](call_record&) { return run(); });
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
  bool has_limit_ = false;
};

}  // namespace cairn::libtorch::detail
