// SPDX-License-Identifier: Apache-2.0
#pragma once
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
#include <cairn/plan/text/batch_svg.hpp>
#include <cairn/plan/text/detail/memory_axes.hpp>
#include <cairn/plan/text/detail/picture_checks.hpp>
#include <cairn/plan/text/detail/plan_words.hpp>
#include <cairn/plan/text/detail/quantities.hpp>
#include <cairn/plan/text/detail/scale.hpp>
#include <cairn/plan/text/detail/svg_chart.hpp>

namespace cairn {
namespace detail {

inline void check_series(std::vector<batch_series> const& series, std::int64_t limit) {
  constexpr char const* who = "cairn::batch_svg";
  check_colours(who, series.size());
  if (limit < 0) throw invalid_plan{who, "a limit below 0 bytes", {{"limit", limit}}, "give 0 for no limit"};
  std::size_t count = 0;
  for (auto const& one : series) {
    std::int64_t before = 0;
    for (auto const& at : one.figures) {
      if (at.batch <= before)
        throw invalid_plan{who, "the batches of a series do not ascend from 1",
                           {{"series", std::size_t(&one - series.data())}, {"batch", at.batch}, {"before it", before}},
                           "give each size once, the smallest first"};
      if (at.peak_bytes < 0 || !(at.seconds >= 0) || std::isinf(at.seconds))
        throw invalid_plan{who, "a figure of a batch is negative or infinite",
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

}  // namespace detail

CAIRN_DECL std::string batch_svg(std::vector<batch_series> const& series, std::int64_t limit, std::string_view title) {
  detail::check_series(series, limit);
  detail::value_range batches, bytes, times;
  std::set<std::int64_t> sizes;
  std::vector<detail::legend_entry> legend;
  std::string told;
  for (auto const& one : series) {
    auto const number = std::size_t(&one - series.data());
    legend.push_back({one.name, detail::line_class(number), detail::disc_sample});
    for (auto const& at : one.figures) {
      sizes.insert(at.batch);
      batches.take(wide(at.batch));
      bytes.take(wide(at.peak_bytes));
      times.take(detail::picoseconds(at.seconds));
      told += " " + one.name + ", batch " + std::to_string(at.batch) + ": " + detail::bytes_text(wide(at.peak_bytes)) +
              (at.seconds > 0 ? ", " + detail::seconds_text(at.seconds) : std::string{}) + ".";
    }
  }
  if (limit > 0) {
    bytes.take(wide(limit));
    legend.push_back({"limit " + detail::bytes_text(wide(limit)), "peak", detail::line_sample});
  }
  bool const timed = times.most > 0;
  std::string const what = timed ? "Peak memory and time over the size of the batch"
                                 : "Peak memory over the size of the batch";
  std::string const note = batches.empty
                               ? "no figure"
                               : detail::with_separators(detail::plural(sizes.size(), "batch size")) + " from " +
                                     detail::grouped(batches.least) + " to " + detail::grouped(batches.most);
  using detail::quantity;
  auto x = detail::ranging({"batch", batches.most, {}}, "batch", quantity::count, batches.least);
  for (std::int64_t const size : sizes) x.marked.push_back({wide(size), detail::grouped(wide(size))});
  if (x.marked.empty()) x.marked.push_back({0, "0"});
  auto const memory = ranging(detail::memory_axis(bytes.most), "memory", quantity::bytes, bytes.least);
  detail::svg_chart chart{title.empty() ? what : title, note, what + "." + told, timed ? 20'000 : 32'000, legend,
                          {.left = 9'600, .parts = series.size(), .lines = series.size()}};  // room for "1007 MiB"
  chart.axes(x, memory, false);
  draw_series(chart, series, x, memory, "marks", limit, [](batch_figure const& at) { return wide(at.peak_bytes); });
  if (timed) {
    auto const time = ranging(detail::time_axis(times.most), "time", quantity::time, times.least);
    chart.next_plot(20'000);
    chart.axes(x, time, false);
    draw_series(chart, series, x, time, "marks", 0,
                [](batch_figure const& at) { return detail::picoseconds(at.seconds); });
  }
  return std::move(chart).finish();
}

}  // namespace cairn
