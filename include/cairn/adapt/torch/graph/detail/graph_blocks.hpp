#pragma once
/// \file graph_blocks.hpp  Plans that run a graph by blocks of operations: values that pass between blocks are kept,
/// values inside a block are made again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/core/chain.hpp>
#include <cairn/core/operation_graph.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/graph/graph_plan.hpp>
#include <cairn/plan/graph/replay.hpp>

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
  using namespace graph_actions;
  auto const last = last_readers(graph);
  auto const count = graph.size();
  std::vector<action> runs;
  auto const has_tape = [&](step_index v) { return graph.operations[std::size_t(v)].tape_bytes > 0; };
  for (step_index j = 0; j < blocks.size(); ++j)
    for (auto v = blocks[j].first; v < blocks[j].last; ++v)
      runs.push_back(j + 1 == blocks.size() && has_tape(v) ? record(v) : advance(v));
  runs.push_back(turn(count));
  for (step_index j = blocks.size(); j-- > 0;) {
    auto const [first, end] = blocks[j];
    for (auto v = first; v < end && j + 1 < blocks.size(); ++v)
      if (has_tape(v)) runs.push_back(record(v));
      else if (last[std::size_t(v)] < end) runs.push_back(advance(v));
    for (auto v = end; v-- > first;) runs.push_back(reverse(v));
  }
  auto const visit_reads = [&](action const& a, auto const& visit) {
    if (a.kind == action_kind::turn) {
      for (step_index u = 0; u < count; ++u) if (last[std::size_t(u)] == count) visit(u);
      return;
    }
    auto const& one = graph.operations[std::size_t(a.from)];
    bool const is_adjoint = a.kind == action_kind::reverse;
    if (!is_adjoint || one.adjoint_needs_inputs) for (auto const u : one.inputs) visit(u);
    if (is_adjoint && one.adjoint_needs_output) visit(a.from);
  };
  // From the back: removes a run whose value nobody reads, and drops a value after its last reader.
  std::vector<char> is_read(graph.operations.size());
  std::vector<std::vector<action>> drops(runs.size());
  std::vector<char> stays(runs.size(), 1);
  for (std::size_t i = runs.size(); i-- > 0;) {
    auto const& a = runs[i];
    bool const makes = a.kind == action_kind::advance || a.kind == action_kind::record;
    if (makes) {
      auto& read = is_read[std::size_t(a.from)];
      if (!read && a.kind == action_kind::advance) {
        stays[i] = 0;
        continue;
      }
      if (!read) drops[i].push_back(drop(a.from));
      read = 0;
    }
    visit_reads(a, [&](step_index u) {
      if (is_read[std::size_t(u)]) return;
      is_read[std::size_t(u)] = 1;
      bool const forgets = a.kind == action_kind::reverse && u == a.from;
      if (!forgets) drops[i].push_back(drop(u));
    });
  }
  graph_plan plan;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (stays[i]) plan.actions.push_back(runs[i]);
    plan.actions.insert(plan.actions.end(), drops[i].begin(), drops[i].end());
  }
  plan.cost = replay(graph, plan.actions);
  plan.budget = plan.cost.peak;
  plan.lower_bound_time = plan.cost.makespan - plan.cost.extra_forward;
  return plan;
}

}  // namespace cairn::libtorch::detail
