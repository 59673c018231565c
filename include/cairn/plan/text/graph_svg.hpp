#pragma once
/// \file graph_svg.hpp  A plan for a graph as a picture: memory over time.
#include <span>
#include <string>
#include <string_view>
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

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/graph_svg.ipp>
#endif
