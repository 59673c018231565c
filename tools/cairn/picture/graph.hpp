// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph.hpp  A plan for a graph as a picture: memory over time.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/plan/text/figure_text.hpp>
#include <cairn/plan/text/memory_over_time.hpp>
#include <cairn/rules/operation_graph.hpp>

#include "checks.hpp"
#include "memory_moments.hpp"
#include "words.hpp"

namespace picture {

/// Memory over time as an SVG: a line for all memory held, an area for the values and tapes that exist before each
/// action, and the peak. Actions that take no time are vertical; if no action takes time, all are drawn equally wide.
/// \param title  title of the picture; by default it says what is shown
/// \throws invalid_plan   for more than `most_drawn_actions` actions   \throws invalid_schedule, invalid_plan,
///   overflow_error   as `replay`
[[nodiscard]] inline std::string graph_memory_svg(operation_graph const& graph, std::span<action const> actions,
                                                  std::string_view title = {});

[[nodiscard]] inline std::string graph_action_words(action const& a) {
  std::string const number = digits_of(wide(a.from));
  switch (a.kind) {
    case action_kind::record:
      return "the recorded run of operation " + number;
    case action_kind::turn:
      return "the loss";
    case action_kind::reverse:
      return "the adjoint of operation " + number;
    default:
      return "the run of operation " + number;
  }
}

inline std::string graph_memory_svg(operation_graph const& graph, std::span<action const> actions,
                                    std::string_view title) {
  constexpr char const* who = "picture::graph_memory_svg";
  check_drawn_actions(who, actions, "draw a shorter graph of the same kind, or a larger budget");
  auto const curve = graph_memory_over(graph, actions);
  return moments_svg(curve, {"Memory of a plan for a graph of " + plural(wide(graph.size()), "operation"),
                             "peak " + exact_bytes_text(curve.peak) + " in " +
                                 graph_action_words(actions[curve.moments[curve.summit].action]),
                             "values and tapes that stand", "the caller's", title});
}

}  // namespace picture
