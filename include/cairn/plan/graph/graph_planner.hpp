// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_planner.hpp  Finds a fast plan for a graph of operations within a budget in bytes.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <cairn/core/byte_budget.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/graph/graph_plan.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn {
namespace detail {
class graph_search;
}  // namespace detail

/// Plans one graph for any number of budgets. Small graphs are planned exactly. A longer graph is divided into blocks
/// at the gaps that few values cross; a dynamic program chooses an option for each block and the boundaries to keep;
/// then a search makes the plans faster. The same arguments give the same results.
class graph_planner {
 public:
  /// \throws invalid_plan, overflow_error   for an invalid graph or invalid options
  CAIRN_DECL explicit graph_planner(operation_graph const& graph, graph_options options = {});
  graph_planner(graph_planner&& from) noexcept
      : search_{std::exchange(from.search_, nullptr)} {}     ///< takes over the plans of `from`
  graph_planner& operator=(graph_planner&& from) noexcept {  ///< swaps with `from`
    std::swap(search_, from.search_);
    return *this;
  }
  CAIRN_DECL ~graph_planner();

  /// The fastest plan found whose peak is at most `budget`. If the limit of work is reached, the best plan found so
  /// far; its gap says what is proven.
  /// \param budget  a size, "512MiB", if the graph is in bytes; or a number in the unit of the graph
  /// \throws infeasible_budget   below `least_budget`
  /// \throws too_much_work   if the limit was reached before any plan was found
  [[nodiscard]] CAIRN_DECL graph_plan plan(byte_budget budget);
  /// The least budget for which `plan` finds a plan; the least of all plans if the graph is planned exactly. If the
  /// limit of work is reached, the least budget known to be enough.
  [[nodiscard]] CAIRN_DECL std::int64_t least_budget();
  /// Plans from the least budget to that of storing everything, at budgets in equal steps. Each plan is faster than all
  /// plans with smaller budgets. Fewer plans if the limit of work is reached.
  /// \param most_points  >= 2
  [[nodiscard]] CAIRN_DECL std::vector<graph_plan> pareto(std::size_t most_points = 20);

 private:
  detail::graph_search* search_;  ///< owned; its type is complete only in impl/
};

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/graph/impl/graph_planner.ipp>
#endif
