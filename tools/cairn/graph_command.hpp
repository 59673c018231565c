// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_command.hpp  Answers for a graph of operations from a file: its plan, its properties, and a picture.
#include <iosfwd>
#include <string>

namespace tool {

/// A request about a graph, as written on the command line.
struct asked_graph {
  std::string file;           ///< "-" for standard input
  std::string memory;         ///< the budget; without one, `plan` lists all budgets and `svg` stores everything
  std::string points;         ///< the most plans of a curve
  std::string svg;            ///< the file for the picture
  std::string title;          ///< of the picture; by default it says what it shows
  bool json = false, actions = false;
};

/// The fastest plan within a budget, or the plans over all budgets.
/// \throws wrong_request, cairn::error   for text that is not a graph, and for a budget that is too small, with the
///   least feasible one
void plan_graph(std::ostream& to, asked_graph const& asked);
/// The least and the most memory of a graph, and the values that occupy the most bytes while idle.
/// \throws as `plan_graph`
void explain_graph(std::ostream& to, asked_graph const& asked);
/// Memory over time as an SVG, for the plan within a budget or for the one that stores everything.
/// \throws as `plan_graph`
void draw_graph(std::ostream& to, asked_graph const& asked);

}  // namespace tool
