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
/// \param plan  as without; each rank measures and plans for itself within a `graph_budget`, and the plans are compared
/// \param with  the ranks; see `collective`. With `every`, its steps are actions   \param rest  as without
/// \throws collective_error   on all ranks, if one of them cannot go on: if plans differ, before any operation runs but
///   those that are measured
template <class Plan, bool BetweenActions, class... Rest>
[[nodiscard]] graph_adjoints graph_gradient(graph_builder const& net, Plan&& plan,
                                            std::vector<graph_binding> const& inputs,
                                            std::vector<graph_seed> const& seeds, collective<BetweenActions> with,
                                            Rest&&... rest) {
  constexpr char const* operation = "cairn::graph_gradient";
  auto const& ranks = detail::inside::of(with);
  auto const by = [&](auto const& actions) {
    return ranks.around(operation, actions, [&] {
      auto const run = [&](auto&&... extras) {
        return graph_gradient(net, actions, inputs, seeds, std::forward<decltype(extras)>(extras)...);
      };
      return detail::run_with_extras<BetweenActions>(ranks, operation, run, std::forward<Rest>(rest)...);
    });
  };
  if constexpr (detail::budgets_graphs<std::remove_reference_t<Plan>>) {
    ranks.guarded(operation, [&] { detail::plan_within(plan, net, inputs, seeds); });
    graph_adjoints made = by(plan.plan());
    plan.ran(made.peak_bytes());
    return made;
  } else return by(plan);
}

}  // namespace cairn
