#pragma once
/// \file graph_plan.hpp  How a graph is planned, and a plan for it with what it costs.
#include <cstdint>
#include <vector>
#include <cairn/core/operation_graph.hpp>
#include <cairn/plan/graph/replay.hpp>

namespace cairn {

/// How a graph is planned.
struct graph_options {
  step_index exact_operations = 16;  ///< graphs of up to so many operations are planned by search over all plans,
                                     ///< 0..18: some 30 ms and 10 MB for 16
  step_index block_operations = 7;   ///< of longer graphs, blocks between cuts of up to so many are searched, 1..10
  std::int64_t effort = 20'000'000;  ///< actions that the search for faster plans looks at, >= 0: some tenths of a
                                     ///< second for 200 operations
};

/// A plan for a graph at a budget.
struct graph_plan {
  std::vector<action> actions;        ///< for `replay` and whatever runs the graph
  graph_cost cost;                    ///< by playing them
  std::int64_t budget = 0;            ///< bytes it was made for; cost.peak is at most that
  bool is_exact = false;              ///< nothing within the budget is faster
  std::int64_t lower_bound_time = 0;  ///< no plan within the budget has a shorter makespan
  std::int64_t lower_bound_peak = 0;  ///< no plan of any makespan has a lower peak
};

}  // namespace cairn
