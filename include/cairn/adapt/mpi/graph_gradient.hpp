// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_gradient.hpp  The adjoints of a graph that all ranks run together. Not part of <cairn/adapt/mpi.hpp>.
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/adapt/mpi/detail/extras.hpp>
#include <cairn/run/graph/gradient.hpp>

namespace cairn {

/// The same as `graph_gradient` without `collective`, by all ranks together.
/// \param plan  as without `collective`, but not a `graph_budget`: each rank would run operations a different number of
///   times to measure them, and operations that communicate would wait forever
/// \param with  the ranks; see `collective`; `every` counts actions   \param rest  as without `collective`
/// \throws collective_error   on all ranks, if one of them cannot go on: before any operation runs if plans differ
template <class Plan, bool BetweenActions, class... Rest>
[[nodiscard]] graph_adjoints graph_gradient(graph_builder const& net, std::vector<graph_binding> const& inputs,
                                            Plan&& plan, std::vector<graph_seed> const& seeds,
                                            collective<BetweenActions> with, Rest&&... rest) {
  constexpr bool planned = !detail::budgets_graphs<std::remove_reference_t<Plan>>;
  static_assert(planned,
                "cairn: ranks that run a graph together need its plan, not a graph_budget: to measure operations, each "
                "rank would run them a different number of times");
  if constexpr (!planned) return {net, {}, 0};
  else {
    auto const run = [&](auto&&... extras) {
      return graph_gradient(net, inputs, plan, seeds, std::forward<decltype(extras)>(extras)...);
    };
    return detail::run_with_extras(with, "cairn::graph_gradient", plan, run, std::forward<Rest>(rest)...);
  }
}

}  // namespace cairn
