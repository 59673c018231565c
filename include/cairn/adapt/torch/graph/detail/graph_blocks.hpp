// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_blocks.hpp  Plans that run a graph by blocks of operations: values that pass between blocks are kept,
/// values inside a block are made again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/graph/graph_plan.hpp>
#include <cairn/plan/graph/replay.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/detail/graph_segments.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::libtorch::detail {

/// The last operation that reads each value; n for the loss.
[[nodiscard]] inline std::vector<step_index> last_readers(operation_graph const& graph) {
  std::vector<step_index> last(graph.operations.size(), -1);
  for (std::size_t v = 0; v < last.size(); ++v)
    for (auto const u : graph.operations[v].inputs) last[std::size_t(u)] = step_index(v);
  for (auto const u : graph.outputs) last[std::size_t(u)] = graph.size();
  for (auto& one : last) if (one < 0) one = graph.size();
  return last;
}

/// The graph as a chain to divide into blocks: state i holds the values that operations i and later read from earlier
/// ones.
[[nodiscard]] inline chain chain_of(operation_graph const& graph) {
  chain work{.x = {0}, .s = {}, .u = {}};
  auto const last = last_readers(graph);
  for (step_index v = 0; v < graph.size(); ++v) {
    auto const& one = graph.operations[std::size_t(v)];
    std::int64_t passes = 0;
    for (step_index u = 0; u <= v; ++u)
      if (last[std::size_t(u)] > v) passes += graph.operations[std::size_t(u)].bytes;
    work.x.push_back(passes);
    work.s.push_back(passes + one.tape_bytes);
    work.f.push_back(one.work);
    work.b.push_back(one.adjoint_work);
    work.u.push_back(one.time);
    work.v.push_back(one.adjoint_time);
  }
  work.b.push_back(graph.loss_work);
  work.v.push_back(graph.loss_time);
  return work;
}

/// The plan that runs a graph by blocks of its operations: the last block keeps what its adjoints read, the others run
/// again.
/// \pre the blocks hold each operation once, in order
[[nodiscard]] inline graph_plan plan_of_blocks(operation_graph const& graph, block_plan const& blocks) {
  std::vector<step_index> ends;
  for (step_index j = 0; j < blocks.size(); ++j) ends.push_back(blocks[j].last);
  graph_plan plan;
  plan.actions = cairn::detail::segmented_actions({graph, "cairn::libtorch::HCModule"}, ends);
  plan.cost = replay(graph, plan.actions);
  plan.budget = plan.cost.peak;
  plan.lower_bound_time = plan.cost.makespan - plan.cost.extra_forward;
  return plan;
}

}  // namespace cairn::libtorch::detail
