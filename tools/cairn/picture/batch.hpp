// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file batch.hpp  Memory and time over the size of a batch.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/plan/text/figure_text.hpp>

#include "checks.hpp"
#include "memory_axes.hpp"
#include "scale.hpp"
#include "svg_chart.hpp"
#include "words.hpp"

namespace picture {

/// What one size of a batch takes.
struct batch_figure {
  std::int64_t batch = 0;       ///< above 0
  std::int64_t peak_bytes = 0;  ///< not negative
  double seconds = 0;           ///< of one run; not negative, 0 if not known
};

/// One program, or one plan, over sizes of batches.
struct batch_series {
  std::string name;                   ///< in the legend
  std::vector<batch_figure> figures;  ///< ascending by `batch`
};

/// Two plots as an SVG, peak memory above and time below, both over the size of the batch: a line for each series and
/// a dot for each figure. An axis is logarithmic if its largest value is at least ten times the smallest. Without any
/// time there is one plot.
/// \param series  1 .. `most_colours` of them   \param limit  bytes; above 0 a line marks them
/// \param title  title of the picture; by default it says what is shown
/// \throws invalid_plan   for another number of series, for batches that do not ascend from 1, and for negative or
///   infinite figures
[[nodiscard]] inline std::string batch_svg(std::vector<batch_series> const& series, std::int64_t limit = 0,
                                           std::string_view title = {});

inline void check_series(std::vector<batch_series> const& series, std::int64_t limit) {
  constexpr char const* who = "picture::batch_svg";
  check_colours(who, series.size());
  if (limit < 0) throw invalid_plan{who, "a limit below 0 bytes", {{"limit", limit}}, "give 0 for no limit"};
  std::size_t count = 0;
  for (auto const& one : series) {
    std::int64_t before = 0;
    for (auto const& at : one.figures) {
      if (at.batch <= before)
        throw invalid_plan{who,
                           "the batches of a series do not ascend from 1",
                           {{"series", std::size_t(&one - series.data())}, {"batch", at.batch}, {"before it", before}},
                           "give each size once, the smallest first"};
      if (at.peak_bytes < 0 || !(at.seconds >= 0) || std::isinf(at.seconds))
        throw invalid_plan{who,
                           "a figure of a batch is negative or infinite",
                           {{"series", std::size_t(&one - series.data())}, {"batch", at.batch}},
                           "give 0 seconds where the time is not known"};
      before = at.batch;
    }
    count += one.figures.size();
  }
  check_drawn_count(who, count);
}

/// Lines and dots of one plot.   \param height_of  height_of(batch_figure const&), as the y axis counts it
template <class HeightOf>
void draw_series(svg_chart& chart, std::vector<batch_series> const& series, axis const& x, axis const& y,
                 std::string_view group, std::int64_t limit, HeightOf height_of) {
  chart.open_group(group);
  if (limit > 0) {
    hundredths const high = chart.up(wide(limit), y);
    chart.draw("peak", svg_path{}.move(chart.left(), high).across(chart.right()));
  }
  for (std::size_t k = 0; k < series.size(); ++k) {
    svg_path line, dots;
    for (auto const& at : series[k].figures) {
      hundredths const here = chart.across(wide(at.batch), x), high = chart.up(height_of(at), y);
      if (line.empty()) line.move(here, high);
      else line.line(here, high);
      dots.move(here, high).ring(350);
    }
    chart.draw(line_class(k), line);
    chart.draw(part_class(k), dots);
  }
  chart.close_group();
}

inline std::string batch_svg(std::vector<batch_series> const& series, std::int64_t limit, std::string_view title) {
  check_series(series, limit);
  value_range batches, bytes, times;
  std::set<std::int64_t> sizes;
  std::vector<legend_entry> legend;
  std::string told;
  for (auto const& one : series) {
    auto const number = std::size_t(&one - series.data());
    legend.push_back({one.name, line_class(number), disc_sample});
    for (auto const& at : one.figures) {
      sizes.insert(at.batch);
      batches.take(wide(at.batch));
      bytes.take(wide(at.peak_bytes));
      times.take(picoseconds(at.seconds));
      told += " " + one.name + ", batch " + std::to_string(at.batch) + ": " + bytes_text(wide(at.peak_bytes)) +
              (at.seconds > 0 ? ", " + seconds_text(at.seconds) : std::string{}) + ".";
    }
  }
  if (limit > 0) {
    bytes.take(wide(limit));
    legend.push_back({"limit " + bytes_text(wide(limit)), "peak", line_sample});
  }
  bool const timed = times.most > 0;
  std::string const what =
      timed ? "Peak memory and time over the size of the batch" : "Peak memory over the size of the batch";
  std::string const note = batches.empty ? "no figure"
                                         : with_separators(plural(sizes.size(), "batch size")) + " from " +
                                               grouped(batches.least) + " to " + grouped(batches.most);
  auto x = ranging({"batch", batches.most, {}}, "batch", quantity::count, batches.least);
  for (std::int64_t const size : sizes) x.marked.push_back({wide(size), grouped(wide(size))});
  if (x.marked.empty()) x.marked.push_back({0, "0"});
  auto const memory = ranging(memory_axis(bytes.most), "memory", quantity::bytes, bytes.least);
  svg_chart chart{title.empty() ? what : title,
                  note,
                  what + "." + told,
                  timed ? 20'000 : 32'000,
                  legend,
                  {.left = 9'600, .parts = series.size(), .lines = series.size()}};  // room for "1007 MiB"
  chart.axes(x, memory, false);
  draw_series(chart, series, x, memory, "marks", limit, [](batch_figure const& at) { return wide(at.peak_bytes); });
  if (timed) {
    auto const time = ranging(time_axis(times.most), "time", quantity::time, times.least);
    chart.next_plot(20'000);
    chart.axes(x, time, false);
    draw_series(chart, series, x, time, "marks", 0, [](batch_figure const& at) { return picoseconds(at.seconds); });
  }
  return std::move(chart).finish();
}

}  // namespace picture
