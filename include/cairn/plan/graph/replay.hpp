// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file replay.hpp  Plays a plan for a graph action by action and counts its cost.
#include <span>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/graph/graph_cost.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn {

/// Plays a plan for a graph and returns its cost.   Cost: O(reads) per action.
/// \throws invalid_schedule   at the first invalid action, or if the plan ends early
/// \throws invalid_plan, overflow_error   for an invalid graph
[[nodiscard]] CAIRN_DECL graph_cost replay(operation_graph const& graph, std::span<action const> actions);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/graph/impl/replay.ipp>
#endif
