// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_plan.hpp  Options of planners for graphs, and a plan for a graph with its cost.
#include <cstdint>
#include <vector>
#include <cairn/plan/graph/graph_cost.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// Options of planners for graphs.
struct graph_options {
  step_index exact_operations = 16;  ///< graphs of up to this many operations and tapes are planned by search over all
                                     ///< plans, 0..18; 16 take some 30 ms and 10 MB
  step_index block_operations = 7;   ///< in longer graphs, blocks between cuts of up to this many operations and tapes
                                     ///< are searched, 1..10
  std::int64_t effort = 20'000'000;  ///< a quarter of the actions that the search for faster plans may visit, >= 0: a
                                     ///< second for 200 operations
  work_limit limit = {};             ///< the most work of one call of the planner. A call that reaches it returns the
                                     ///< best plan found, or throws too_much_work
};

/// A plan for a graph at a budget.
struct graph_plan {
  std::vector<action> actions;        ///< for `replay` and for executors of graphs
  graph_cost cost;                    ///< what `replay` says of `actions`
  std::int64_t budget = 0;            ///< bytes the plan was made for; cost.peak is at most this
  bool is_exact = false;              ///< whether no plan within the budget is faster
  std::int64_t lower_bound_time = 0;  ///< no plan within the budget has a shorter makespan
  std::int64_t lower_bound_peak = 0;  ///< no plan has a lower peak, however slow it is

  /// (makespan - lower_bound_time) / lower_bound_time: an upper bound on the distance from the fastest plan; 0 if no
  /// plan is faster.
  [[nodiscard]] double gap() const noexcept {
    return lower_bound_time > 0 ? double(cost.makespan - lower_bound_time) / double(lower_bound_time) : 0;
  }
};

}  // namespace cairn
