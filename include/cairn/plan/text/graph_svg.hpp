// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_svg.hpp  A plan for a graph as a picture: memory over time.
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/core/memory_sample.hpp>
#include <cairn/core/operation_graph.hpp>
#include <cairn/detail/linkage.hpp>

namespace cairn {

/// Memory over time as an SVG: a line for all memory held, an area for the values and tapes that exist before each
/// action, and the peak. Actions that take no time are vertical; if no action takes time, all are drawn equally wide.
/// \param title  title of the picture; by default it says what is shown
/// \throws invalid_plan   for more than `most_drawn_actions` actions   \throws invalid_schedule, invalid_plan,
///   overflow_error   as `replay`
[[nodiscard]] CAIRN_DECL std::string graph_memory_svg(operation_graph const& graph, std::span<action const> actions,
                                                      std::string_view title = {});

/// The line of that picture: the most bytes at once during each action, in the graph's unit of time; actions that drop
/// something are left out. The samples are for `memory_lines_svg`, to be drawn beside those of a run.
/// \throws invalid_schedule, invalid_plan, overflow_error   as `replay`
[[nodiscard]] CAIRN_DECL std::vector<memory_sample> graph_memory_samples(operation_graph const& graph,
                                                                         std::span<action const> actions);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/graph_svg.ipp>
#endif
