#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <cairn/plan/text/graph_svg.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/operation_graph.hpp>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/replay.hpp>
#include <cairn/plan/text/detail/quantities.hpp>
#include <cairn/plan/text/detail/memory_axes.hpp>
#include <cairn/plan/text/detail/plan_words.hpp>
#include <cairn/plan/text/detail/svg_chart.hpp>
#include <cairn/plan/text/figure_text.hpp>
#include <cairn/plan/text/drawn_actions.hpp>

namespace cairn {
namespace detail {

// The time and the memory of one action of a plan for a graph.
struct graph_moment {
  wide begin, end;
  std::int64_t held, standing;
};
[[nodiscard]] inline std::string graph_action_words(action const& a) {
  std::string const number = digits_of(wide(a.from));
  switch (a.kind) {
    case action_kind::record: return "the recorded run of operation " + number;
    case action_kind::turn: return "the loss";
    case action_kind::reverse: return "the adjoint of operation " + number;
    default: return "the run of operation " + number;
  }
}

}  // namespace detail

CAIRN_DECL std::string graph_memory_svg(operation_graph const& graph, std::span<action const> actions,
                                        std::string_view title) {
  constexpr char const* who = "cairn::graph_memory_svg";
  if (actions.size() > most_drawn_actions)
    throw invalid_plan{who,
                       "too many actions for a picture",
                       {{"actions", actions.size()}, {"most actions drawn", most_drawn_actions}},
                       "draw a shorter graph of the same kind, or a larger budget"};
  detail::graph_model const model{graph, who};
  detail::graph_interpreter player{model, who};
  std::vector<detail::graph_moment> moments;
  std::vector<action> shown;  // without drops
  wide now = 0;
  for (action const& a : actions) {
    std::int64_t const standing = player.kept();
    player.obey(a);
    if (a.kind == action_kind::drop) continue;
    bool const reverses = a.kind == action_kind::turn || a.kind == action_kind::reverse;
    std::int64_t const time = (reverses ? model.adjoint_time : model.time)[std::size_t(a.from)];
    moments.push_back({now, now + wide(time), player.reached(), standing});
    shown.push_back(a);
    now += wide(time);
  }
  graph_cost const cost = player.finish();
  bool const timed = now > 0;
  if (!timed)
    for (std::size_t k = 0; k < moments.size(); ++k) moments[k].begin = k, moments[k].end = k + 1;
  std::size_t summit = 0;
  while (moments[summit].held < cost.peak) ++summit;
  wide const all = moments.back().end, most = wide(cost.peak);
  std::string const what = "Memory of a plan for a graph of " + detail::plural(wide(graph.size()), "operation");
  std::string const peak =
      "peak " + exact_bytes_text(cost.peak) + " in " + detail::graph_action_words(shown[summit]);
  std::vector<detail::legend_entry> const legend{{"all that is held", "held", detail::line_sample},
                                                 {"values and tapes that stand", "kept", detail::area_sample},
                                                 {"peak", "peak", detail::line_sample}};
  detail::svg_chart chart{title.empty() ? what : title, peak,
                          what + ": " + peak + ". Across: time; up: what is held beside the caller's.", 32'000, legend};
  chart.axes(detail::count_axis(timed ? "time" : "action", all), detail::memory_axis(most), false);
  detail::svg_path held, kept;
  held.move(chart.across(0, all), chart.bottom());
  kept.move(chart.across(0, all), chart.bottom());
  detail::hundredths x = chart.across(0, all), held_at = chart.bottom(), kept_at = chart.bottom();
  auto const level = [](detail::svg_path& path, detail::hundredths& last, detail::hundredths to) {
    if (to != last) path.down(last = to);
  };
  for (auto const& at : moments) {
    detail::hundredths const high = chart.up(wide(at.held), most);
    if (at.end > at.begin || high < held_at) level(held, held_at, high);  // actions without duration show only as peaks
    if (at.end > at.begin) level(kept, kept_at, chart.up(wide(at.standing), most));
    if (detail::hundredths const end = chart.across(at.end, all); end != x) {
      x = end;
      held.across(x);
      kept.across(x);
    }
  }
  kept.down(chart.bottom()).close();
  detail::hundredths const top = chart.up(most, most);
  chart.open_group("marks");
  chart.draw("kept", kept);
  chart.draw("held", held, moments.size() > 1'000 ? 80 : 0);
  chart.draw("peak", detail::svg_path{}.move(detail::svg_chart::left, top).across(detail::svg_chart::right));
  chart.draw(
      "summit",
      detail::svg_path{}.move(chart.across(moments[summit].begin + moments[summit].end, 2 * all), top).ring(350));
  chart.close_group();
  return std::move(chart).finish();
}

}  // namespace cairn
