#pragma once
/// \file graph_plan.hpp  How a graph is planned, and a plan for it with what it costs.
#include <cstdint>
#include <vector>
#include <cairn/core/operation_graph.hpp>
#include <cairn/plan/graph/replay.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// How a graph is planned.
struct graph_options {
  step_index exact_operations = 16;  ///< graphs of up to so many operations and tapes are planned by search over all
                                     ///< plans, 0..18: some 30 ms and 10 MB for 16
  step_index block_operations = 7;   ///< of longer graphs, blocks between cuts of up to so many operations and tapes
                                     ///< are searched, 1..10
  std::int64_t effort = 20'000'000;  ///< a quarter of the actions that the search for faster plans looks at, >= 0: a
                                     ///< second for 200 operations
  work_limit limit = {};             ///< how much work one call of the planner may be; then it answers the best plan
                                     ///< found, or throws too_much_work
};

/// A plan for a graph at a budget.
struct graph_plan {
  std::vector<action> actions;        ///< for `replay` and whatever runs the graph
  graph_cost cost;                    ///< by playing them
  std::int64_t budget = 0;            ///< bytes it was made for; cost.peak is at most that
  bool is_exact = false;              ///< nothing within the budget is faster
  std::int64_t lower_bound_time = 0;  ///< no plan within the budget has a shorter makespan
  std::int64_t lower_bound_peak = 0;  ///< no plan of any makespan has a lower peak

  /// (makespan - lower_bound_time) / lower_bound_time: how far it is, at most, from the fastest plan there is; 0 where
  /// nothing is faster.
  [[nodiscard]] double gap() const noexcept {
    return lower_bound_time > 0 ? double(cost.makespan - lower_bound_time) / double(lower_bound_time) : 0;
  }
};

}  // namespace cairn
