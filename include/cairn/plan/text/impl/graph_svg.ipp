// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <cairn/core/memory_sample.hpp>
#include <cairn/core/operation_graph.hpp>
#include <cairn/plan/graph/detail/graph_interpreter.hpp>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/text/detail/memory_moments.hpp>
#include <cairn/plan/text/detail/picture_checks.hpp>
#include <cairn/plan/text/detail/plan_words.hpp>
#include <cairn/plan/text/figure_text.hpp>
#include <cairn/plan/text/graph_svg.hpp>

namespace cairn {
namespace detail {

[[nodiscard]] inline std::string graph_action_words(action const& a) {
  std::string const number = digits_of(wide(a.from));
  switch (a.kind) {
    case action_kind::record: return "the recorded run of operation " + number;
    case action_kind::turn: return "the loss";
    case action_kind::reverse: return "the adjoint of operation " + number;
    default: return "the run of operation " + number;
  }
}

/// The memory of a plan for a graph over time; actions that drop something are left out.
struct graph_curve {
  std::vector<memory_moment> moments;
  std::size_t summit = 0;
  action at_summit{};
};
[[nodiscard]] inline graph_curve graph_curve_of(operation_graph const& graph, std::span<action const> actions,
                                                char const* who) {
  graph_model const model{graph, who};
  graph_interpreter interpreter{model, actions, who};
  graph_curve curve;
  wide now = 0;
  std::int64_t most = -1;
  for (action const& a : actions) {
    std::int64_t const standing = interpreter.kept();
    interpreter.obey(a);
    if (a.kind == action_kind::drop) continue;
    bool const reverses = a.kind == action_kind::turn || a.kind == action_kind::reverse;
    std::int64_t const time = (reverses ? model.adjoint_time : model.time)[std::size_t(a.from)];
    curve.moments.push_back({now, now + wide(time), interpreter.bytes_at_last_run(), standing});
    if (interpreter.bytes_at_last_run() > most) {
      most = interpreter.bytes_at_last_run();
      curve.summit = curve.moments.size() - 1;
      curve.at_summit = a;
    }
    now += wide(time);
  }
  (void)interpreter.finish();
  return curve;
}

}  // namespace detail

CAIRN_DECL std::vector<memory_sample> graph_memory_samples(operation_graph const& graph,
                                                           std::span<action const> actions) {
  std::vector<memory_sample> samples;
  for (auto const& at : detail::graph_curve_of(graph, actions, "cairn::graph_memory_samples").moments)
    samples.push_back({std::int64_t(at.begin), std::int64_t(at.end), at.held});
  return samples;
}

CAIRN_DECL std::string graph_memory_svg(operation_graph const& graph, std::span<action const> actions,
                                        std::string_view title) {
  constexpr char const* who = "cairn::graph_memory_svg";
  detail::check_drawn_actions(who, actions, "draw a shorter graph of the same kind, or a larger budget");
  auto curve = detail::graph_curve_of(graph, actions, who);
  std::int64_t const peak = curve.moments[curve.summit].held;
  return detail::moments_svg(std::move(curve.moments), curve.summit,
                             {"Memory of a plan for a graph of " + detail::plural(wide(graph.size()), "operation"),
                              "peak " + exact_bytes_text(peak) + " in " + detail::graph_action_words(curve.at_summit),
                              "values and tapes that stand", "the caller's", title});
}

}  // namespace cairn
