#pragma once
/// \file bar_chart.hpp  Bars over ranks or over names, in the manner of the other pictures.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/plan/text/detail/svg_chart.hpp>
#include <cairn/profile/profile_stats.hpp>

namespace cairn::detail {

/// The classes of paths that bars of a part of the sweep, and of a type, have.
[[nodiscard]] constexpr std::string_view colour_of(graph_type part) noexcept {
  return part == graph_type::forward ? "advance" : part == graph_type::backward ? "reverse" : "turn";
}
[[nodiscard]] constexpr std::string_view colour_of(node_type type) noexcept {
  switch (type) {
    case node_type::param: return "turn";
    case node_type::act: return "advance";
    case node_type::grad: return "reverse";
    case node_type::opt_state: return "record";
    default: return "drop";
  }
}
inline constexpr node_type all_node_types[]{node_type::param, node_type::act, node_type::grad, node_type::opt_state,
                                            node_type::other};
inline constexpr std::string_view series_colours[]{"advance", "reverse", "record", "turn", "load", "drop"};

/// An axis of nanoseconds in the largest unit of which `most` has at least four.
[[nodiscard]] inline axis duration_axis(wide most) {
  constexpr struct { wide unit; char const* name; } units[]{{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}};
  for (auto const& one : units)
    if (most >= 4 * one.unit) return {std::string{"time ("} + one.name + ")", most, {one.unit, {}}};
  return {"time (ns)", most, {}};
}

/// A bar of thickness `wide_as` from one height to another.
inline void draw_bar(svg_chart& chart, std::string_view kind, hundredths x, hundredths from, hundredths to,
                     hundredths wide_as) {
  if (from != to) chart.draw(kind, svg_path{}.move(x, from).down(to), wide_as);
}

/// The thickness of bars that stand beside one another.
[[nodiscard]] inline hundredths bar_width(svg_chart const& chart, std::size_t count) noexcept {
  hundredths const room = (chart.right() - chart.left()) / hundredths(count > 0 ? count : 1);
  return (std::clamp)(room * 7 / 10, hundredths{30}, hundredths{6'000});
}

/// An axis upwards, whose name the picture tells elsewhere, and names across instead of numbers.
inline void draw_named_axes(svg_chart& chart, std::vector<std::string> const& names, std::string const& across,
                            axis const& y) {
  svg_path grid, frame;
  wide const lines = wide(chart.bottom() - chart.top()) / 4'000;
  std::vector<tick> const ticks = ticks_to(y.most, lines < 10 ? lines : 10, y.in.unit);
  for (tick const& at : ticks) {
    hundredths const here = chart.up(at.at, y.most);
    grid.move(chart.left(), here).across(chart.right());
    frame.move(chart.left() - 500, here).across(chart.left());
  }
  frame.move(chart.left(), chart.top()).down(chart.bottom()).across(chart.right());
  chart.draw("grid", grid);
  chart.open_group("x-axis");
  for (std::size_t k = 0; k < names.size(); ++k)
    chart.write("", "middle", chart.across(2 * k + 1, 2 * names.size()), chart.bottom() + 1'900, names[k]);
  chart.write("", "middle", (chart.left() + chart.right()) / 2, chart.bottom() + 3'900, across);
  chart.close_group();
  chart.open_group("y-axis");
  for (tick const& at : ticks)
    chart.write("", "end", chart.left() - 900, chart.up(at.at, y.most) + 400, at.label);
  chart.close_group();
  chart.draw("frame", frame);
}

}  // namespace cairn::detail
