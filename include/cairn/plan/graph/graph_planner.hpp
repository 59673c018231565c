#pragma once
/// \file graph_planner.hpp  From a graph of operations and a budget in bytes to a fast plan that keeps within it.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <cairn/core/byte_budget.hpp>
#include <cairn/core/operation_graph.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/graph/graph_plan.hpp>

namespace cairn {
namespace detail {
class graph_search;
}  // namespace detail

/// Plans one graph, for as many budgets as one likes. Small graphs are planned exactly. In longer ones the gaps that
/// few values cross divide the operations into blocks; a dynamic program chooses among the options of each block and
/// which boundaries to keep; then plans are shortened by search. The same answers for the same arguments.
class graph_planner {
 public:
  /// \throws invalid_plan, overflow_error   for a graph or options that cannot be
  CAIRN_DECL explicit graph_planner(operation_graph const& graph, graph_options options = {});
  graph_planner(graph_planner&& from) noexcept
      : search_{std::exchange(from.search_, nullptr)} {}     ///< takes the place of `from`
  graph_planner& operator=(graph_planner&& from) noexcept {  ///< changes places with `from`
    std::swap(search_, from.search_);
    return *this;
  }
  CAIRN_DECL ~graph_planner();

  /// The fastest plan found whose peak is at most `budget`.
  /// \param budget  a size, "512MiB", where the graph is in bytes; or a number in the unit of the graph
  /// Where the limit of work is passed, the best found by then: its gap says what is proven.
  /// \throws infeasible_budget   below `least_budget`
  /// \throws too_much_work   where no plan was found before the limit was passed
  [[nodiscard]] CAIRN_DECL graph_plan plan(byte_budget budget);
  /// The least budget for which `plan` finds one; of all plans where the graph is planned exactly. Where the limit of
  /// work is passed, the least that is known to do.
  [[nodiscard]] CAIRN_DECL std::int64_t least_budget();
  /// Plans from the least budget to that of storing everything, at budgets in equal steps, each faster than all that
  /// are smaller; fewer where the limit of work is passed.
  /// \param most_points  >= 2
  [[nodiscard]] CAIRN_DECL std::vector<graph_plan> pareto(std::size_t most_points = 20);

 private:
  detail::graph_search* search_;  ///< its own; complete in impl/ only
};

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/graph/impl/graph_planner.ipp>
#endif
