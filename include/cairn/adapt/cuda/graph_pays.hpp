// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_pays.hpp  Whether to capture a sweep into a graph: if its steps are short, and not too many.
#include <cairn/core/action.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/workload.hpp>

namespace cairn {

/// The criteria of `graph_pays`. The defaults are for a host that needs about 2 us to launch a kernel and a device that
/// needs about 1 us per node.
struct graph_rule {
  double longest_step_seconds = 10e-6;  ///< longer steps hide the time to launch them
  wide most_nodes = 100'000;            ///< each node takes memory, and time to capture
  wide nodes_a_step = 1;                ///< kernels and copies in one step
  wide nodes_an_adjoint = 1;            ///< kernels and copies in the adjoint of one step
  wide nodes_a_copy = 1;                ///< buffers in device memory of one state
};

namespace detail {

/// Nodes of a sweep, or any number above `enough` if it has more than that.
template <schedule Plan>
[[nodiscard]] wide count_nodes(Plan const& plan, step_form form, graph_rule const& rule, wide enough) {
  wide nodes = rule.nodes_a_step;  // for the start
  cursor_of<Plan> cursor = plan.walk();
  for (action a = cursor.next(); a.kind != action_kind::done && nodes <= enough; a = cursor.next()) {
    wide const steps = wide(a.to > a.from ? a.to - a.from : 0);
    switch (a.kind) {
      case action_kind::turn: nodes += rule.nodes_an_adjoint; [[fallthrough]];  // for the seed
      case action_kind::advance:
        nodes += steps * rule.nodes_a_step;
        if (form == step_form::in_place && steps > 0) nodes += rule.nodes_a_copy;
        break;
      case action_kind::reverse: nodes += steps * rule.nodes_an_adjoint; break;
      case action_kind::save:
      case action_kind::load:
        if (a.where == tier::host) nodes += rule.nodes_a_copy;
        break;
      default: break;
    }
  }
  return nodes;
}

}  // namespace detail

/// The most nodes that `device_sweep::capture` makes for a plan: exact for out-of-place steps without slots on the
/// host; otherwise it includes copies that the sweep may avoid.   Cost: one walk
template <schedule Plan>
[[nodiscard]] wide graph_nodes(Plan const& plan, step_form form = step_form::out_of_place,
                               graph_rule const& rule = {}) {
  return detail::count_nodes(plan, form, rule, ~wide{0});
}

/// Whether capturing a sweep that is run many times saves time: if a step is so short that the host cannot launch steps
/// as fast as they run, and the graph is not too large. A capture costs about as much as one sweep, so a loop that is
/// reversed once gains nothing.
/// \param work  `step_seconds`, as measured in a stream, and `form.step`; 0 seconds means not measured, and the answer
///   is false   Cost: at most one walk
template <schedule Plan>
[[nodiscard]] bool graph_pays(workload const& work, Plan const& plan, graph_rule const& rule = {}) {
  if (!(work.step_seconds > 0 && work.step_seconds < rule.longest_step_seconds)) return false;
  return detail::count_nodes(plan, work.form.step, rule, rule.most_nodes) <= rule.most_nodes;
}

}  // namespace cairn
