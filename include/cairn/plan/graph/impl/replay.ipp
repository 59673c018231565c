// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/replay.hpp>

namespace cairn {

CAIRN_DECL graph_cost replay(operation_graph const& graph, std::span<action const> actions) {
  constexpr char const* who = "cairn::replay";
  return detail::replay(detail::graph_model{graph, who}, actions, who);
}

}  // namespace cairn
