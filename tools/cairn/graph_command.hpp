#pragma once
/// \file graph_command.hpp  A graph of operations from a file: its plan, what is known of it, and a picture.
#include <iosfwd>
#include <string>

namespace tool {

/// What is asked of a graph, as it was written.
struct asked_graph {
  std::string file;           ///< - for standard input
  std::string memory;         ///< budget; what is stored without one where it is empty
  std::string points;         ///< plans of a curve at most
  std::string svg;            ///< where a picture goes
  bool json = false, actions = false;
};

/// The fastest plan within a budget, or what memory buys.
/// \throws wrong_request, cairn::error   for what is no graph, and a budget that is too small, with the least that
/// would do
void plan_graph(std::ostream& to, asked_graph const& asked);
/// What a graph takes at least and at most, and its values that lie idle with the most bytes.   \throws as `plan_graph`
void explain_graph(std::ostream& to, asked_graph const& asked);
/// Memory over time of the plan within a budget, or of one that stores everything, as an SVG.   \throws as `plan_graph`
void draw_graph(std::ostream& to, asked_graph const& asked);

}  // namespace tool
