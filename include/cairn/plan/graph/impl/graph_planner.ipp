// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cairn/plan/graph/detail/graph_search.hpp>
#include <cairn/plan/graph/graph_planner.hpp>

namespace cairn {

CAIRN_DECL graph_planner::graph_planner(operation_graph const& graph, graph_options options)
    : search_{new detail::graph_search{graph, options}} {}
CAIRN_DECL graph_planner::~graph_planner() { delete search_; }

CAIRN_DECL graph_plan graph_planner::plan(byte_budget budget) { return search_->plan(budget.count()); }
CAIRN_DECL std::int64_t graph_planner::least_budget() { return search_->least_budget(); }
CAIRN_DECL std::vector<graph_plan> graph_planner::pareto(std::size_t most_points) {
  return search_->pareto(most_points);
}

}  // namespace cairn
