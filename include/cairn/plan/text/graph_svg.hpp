#pragma once
/// \file graph_svg.hpp  A plan for a graph as a picture: memory over time.
#include <span>
#include <string>
#include <string_view>
#include <cairn/core/operation_graph.hpp>
#include <cairn/detail/linkage.hpp>

namespace cairn {

/// Memory over time as an SVG: a line for all that is held, an area for the values and tapes that stand meanwhile, and
/// the peak. Actions that take no time are vertical; where none takes time each is drawn as wide as the next.
/// \param title  of the picture; what it shows where it is empty
/// \throws invalid_plan   for more than `most_drawn_actions` actions   \throws invalid_schedule, invalid_plan,
///        overflow_error   as `replay`
[[nodiscard]] CAIRN_DECL std::string graph_memory_svg(operation_graph const& graph, std::span<action const> actions,
                                                      std::string_view title = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/graph_svg.ipp>
#endif
