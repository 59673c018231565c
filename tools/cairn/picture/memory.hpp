// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory.hpp  The memory of a sweep over its actions: in states, or in bytes if sizes are given.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/bytes.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/plan/text/memory_curve.hpp>

#include "drawn_loop.hpp"
#include "memory_axes.hpp"
#include "svg_chart.hpp"
#include "text_chart.hpp"
#include "words.hpp"

namespace picture {

[[nodiscard]] inline std::string amount(memory_curve const& curve) {
  if (!curve.in_bytes) return with_separators(plural(curve.peak, "state"));
  std::string const exact = with_separators(plural(curve.peak, "byte"));
  return curve.peak < 1024 ? exact : exact + " (" + to_short_text(curve.peak).c_str() + ")";
}
[[nodiscard]] inline std::string peak_words(memory_curve const& curve) {
  return "peak " + amount(curve) + ", first at action " + grouped(curve.summit) + " of " + grouped(curve.held.size());
}
[[nodiscard]] inline axis memory_axis(memory_curve const& curve) {
  return curve.in_bytes ? memory_axis(curve.peak) : axis{"states", curve.peak, {}};
}

[[nodiscard]] inline std::string memory_svg_of(memory_curve const& curve, std::string const& loop,
                                               std::string_view title) {
  wide const count = curve.held.size();
  std::string const what = "Memory of a sweep over " + loop, peak = peak_words(curve);
  std::vector<legend_entry> const legend{{curve.in_bytes ? "all that is held" : "all states", "held", line_sample},
                                         {curve.in_bytes ? "checkpoints" : "states in slots", "kept", area_sample},
                                         {"peak", "peak", line_sample}};
  svg_chart chart{title.empty() ? what : title, title.empty() ? peak : loop + ": " + peak,
                  what + ": " + peak + ". Across: actions in the order of time; up: what is held.", 32'000, legend};
  chart.axes({"action", count, {}}, memory_axis(curve), false);

  auto const steps = [&](std::vector<wide> const& values, svg_path& path) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (k > 0 && values[k] == values[k - 1]) continue;
      if (k > 0) path.across(chart.across(k, count));
      path.down(chart.up(values[k], curve.peak));
    }
    path.across(chart.right());
  };
  svg_path kept, held;
  steps(curve.kept, kept.move(chart.across(0, count), chart.bottom()));
  kept.down(chart.bottom()).close();
  steps(curve.held, held.move(chart.across(0, count), chart.bottom()));
  hundredths const summit = chart.across(2 * wide(curve.summit) + 1, 2 * std::max<wide>(count, 1)),
                   top = chart.up(curve.peak, curve.peak);
  chart.open_group("marks");
  chart.draw("kept", kept);
  chart.draw("held", held, count > 1'000 ? 80 : 0);
  chart.draw("peak", svg_path{}.move(chart.left(), top).across(chart.right()));
  chart.draw("summit", svg_path{}.move(summit, top).ring(350));
  chart.close_group();
  return std::move(chart).finish();
}

[[nodiscard]] inline std::string memory_text_of(memory_curve const& curve, std::string const& loop, int columns,
                                                int rows, glyphs set) {
  axis const y = memory_axis(curve);
  auto const ticks = ticks_to(curve.peak, std::max<wide>(wide(rows) / 3, 1), y.in.unit);
  std::size_t gutter = 1;
  for (auto const& tick : ticks) gutter = (std::max)(gutter, tick.label.size() + 1);
  // Each state has the same number of rows.
  auto height = wide(rows);
  if (!curve.in_bytes && curve.peak > 0 && curve.peak < height) height -= height % curve.peak;
  enum : unsigned char { held = 1, kept };
  std::size_t const lines = std::size_t(height), count = curve.held.size();
  text_chart chart{std::size_t(columns), lines, gutter, set, {{" ", " "}, {"░", "."}, {"█", "#"}}};

  std::size_t const width = chart.width();
  auto const fill = [&](std::size_t column, wide value, unsigned char rank) {
    wide const peak = std::max<wide>(curve.peak, 1);
    int const fold = int(peak >> 64 != 0) * 64;
    std::size_t const filled = std::size_t(((value >> fold) * height + (peak >> fold) - 1) / (peak >> fold));
    for (std::size_t k = 0; k < (std::min)(filled, lines); ++k) chart.put(lines - 1 - k, column, rank);
  };
  for (std::size_t column = 0; column < width && count > 0; ++column) {
    std::size_t const first = column * count / width, end = (std::max)(first + 1, (column + 1) * count / width);
    fill(column,
         *std::max_element(curve.held.begin() + std::ptrdiff_t(first), curve.held.begin() + std::ptrdiff_t(end)), held);
    fill(column,
         *std::max_element(curve.kept.begin() + std::ptrdiff_t(first), curve.kept.begin() + std::ptrdiff_t(end)), kept);
  }
  for (auto const& tick : ticks)
    if (tick.at > 0)
      chart.label(lines - std::max<std::size_t>(1, std::size_t(place_on(tick.at, curve.peak, std::int64_t(lines)))),
                  tick.label);

  std::string words = "Memory of a sweep over " + loop + ": " + peak_words(curve) + ".";
  if (count > width)
    words += " Downsampled: a column shows the most of up to " + grouped((count + width - 1) / width) + " actions.";
  std::vector<std::string> const key{chart.mark(held) + (curve.in_bytes ? " all that is held" : " all states"),
                                     chart.mark(kept) + (curve.in_bytes ? " checkpoints" : " states in slots")};
  auto const column_of = [&](tick const& tick) {
    return std::size_t(place_on(tick.at, count, std::int64_t(width) - 1));
  };
  return wrapped(words, std::size_t(columns)) + flowed(key, "  ", std::size_t(columns)) + y.name + "\n" +
         chart.drawn(ticks_to(count, 10), column_of, "action");
}

/// Memory over actions: a line for all memory held, an area for the checkpoints in it, and the peak. In bytes if `work`
/// has sizes, otherwise in states.
/// \param title  title of the picture; by default it says what is shown
/// \throws invalid_plan   for more than `most_drawn_actions` actions, and as `estimate`
/// \throws invalid_schedule, overflow_error
template <schedule Plan>
[[nodiscard]] std::string memory_svg(Plan const& plan, workload const& work = {}, std::string_view title = {}) {
  return memory_svg_of(memory_over(plan, work), plan_words(plan), title);
}

/// The same picture for a terminal: lines of at most `columns` characters, at most `rows` of them for the curve and
/// some for words and axes. If there are more actions than columns, a column shows the most that its actions hold, and
/// the picture says so.
/// \param columns  24 .. 1000   \param rows  1 .. 10000
/// \throws invalid_plan   for another size, and as `memory_svg`   \throws invalid_schedule, overflow_error
template <schedule Plan>
[[nodiscard]] std::string memory_text(Plan const& plan, workload const& work = {}, int columns = 80, int rows = 20,
                                      glyphs set = glyphs::utf8) {
  check_text_size("picture::memory_text", columns, rows);
  return memory_text_of(memory_over(plan, work), plan_words(plan), columns, rows, set);
}

}  // namespace picture
