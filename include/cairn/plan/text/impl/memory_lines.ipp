// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/plan/text/detail/memory_axes.hpp>
#include <cairn/plan/text/detail/picture_checks.hpp>
#include <cairn/plan/text/detail/plan_words.hpp>
#include <cairn/plan/text/detail/quantities.hpp>
#include <cairn/plan/text/detail/svg_chart.hpp>
#include <cairn/plan/text/figure_text.hpp>
#include <cairn/plan/text/memory_lines.hpp>

namespace cairn {
namespace detail {

inline constexpr char const* draws_memory_lines = "cairn::memory_lines_svg";

[[noreturn]] inline void refuse_sample(std::size_t line, std::size_t number, memory_sample const& at) {
  throw invalid_plan{draws_memory_lines,
                     "a sample is out of order or holds less than nothing",
                     {{"line", line}, {"sample", number}, {"begin", at.begin}, {"bytes", at.bytes}},
                     "give the samples in the order of time, with bytes and times that are not negative"};
}

inline void check_lines(std::vector<memory_line> const& lines, bool over_time) {
  check_colours(draws_memory_lines, lines.size());
  std::size_t count = 0;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    std::int64_t now = 0;
    for (auto const& at : lines[k].samples) {
      auto const number = std::size_t(&at - lines[k].samples.data());
      if (at.bytes < 0) refuse_sample(k, number, at);
      if (over_time && (at.begin < now || at.end < at.begin)) refuse_sample(k, number, at);
      now = at.end;
    }
    count += lines[k].samples.size();
  }
  check_drawn_count(draws_memory_lines, count);
}

[[nodiscard]] inline std::int64_t peak_of(memory_line const& line) {
  std::int64_t peak = 0;
  for (auto const& at : line.samples) peak = (std::max)(peak, at.bytes);
  return peak;
}

/// "measured: peak 1.2 % above the predicted one".
[[nodiscard]] inline std::string difference_words(memory_line const& first, memory_line const& other) {
  std::int64_t const expected = peak_of(first), found = peak_of(other);
  std::string const words = other.name + ": peak ";
  if (expected == found) return words + "as predicted";
  if (expected == 0) return words + "above a predicted one of 0";
  bool const more = found > expected;
  wide const apart = wide(more ? found - expected : expected - found);
  return words + percent_text(double(apart) / double(expected)) + (more ? " above" : " below") + " the predicted one";
}

/// The path of a line, which begins at the bottom of the plot. A sample lasts until the next one begins.
[[nodiscard]] inline svg_path sampled_path(svg_chart const& chart, memory_line const& line, axis const& x,
                                           axis const& y, bool over_time) {
  svg_path path;
  hundredths at = chart.left(), high = chart.bottom();
  path.move(at, high);
  for (std::size_t k = 0; k < line.samples.size(); ++k) {
    memory_sample const& sample = line.samples[k];
    auto const to = [&](std::int64_t nanoseconds) { return chart.across(wide(nanoseconds) * 1'000, x); };
    hundredths const begin = over_time ? to(sample.begin) : chart.across(wide(k), x);
    hundredths const end = over_time ? to(sample.end) : chart.across(wide(k) + 1, x);
    hundredths const level = chart.up(wide(sample.bytes), y);
    if (begin > at) path.across(at = begin);
    if (level < high || end > at) {  // without duration a sample shows only above the line
      if (level != high) path.down(high = level);
    }
    if (end > at) path.across(at = end);
  }
  return path;
}

}  // namespace detail

CAIRN_DECL std::string memory_lines_svg(std::vector<memory_line> const& lines, memory_lines_options const& options) {
  detail::check_lines(lines, options.over_time);
  wide longest = 0;
  std::int64_t most = 0;
  std::string names;
  std::vector<detail::legend_entry> legend;
  bool const compared = options.first_is_predicted;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    auto const& line = lines[k];
    std::int64_t const peak = detail::peak_of(line);
    most = (std::max)(most, peak);
    if (!options.over_time) longest = (std::max)(longest, wide(line.samples.size()));
    else if (!line.samples.empty()) longest = (std::max)(longest, wide(line.samples.back().end) * 1'000);
    std::string const words = line.name + ", peak " + detail::bytes_text(wide(peak));
    legend.push_back({words, detail::line_class(k), detail::line_sample});
    names += (names.empty() ? "" : "; ") + words;
  }
  std::string const what = compared ? "Memory, predicted and measured" : "Memory of a run";
  std::string note = compared ? "" : detail::with_separators(detail::plural(lines.size(), "curve"));
  for (std::size_t k = 1; k < lines.size() && compared; ++k)
    note += (k > 1 ? "; " : "") + detail::difference_words(lines[0], lines[k]);
  detail::axis const x = options.over_time ? detail::time_axis(longest)
                                           : detail::axis{options.across, longest, {}},
                     y = detail::memory_axis(wide(most));
  detail::svg_chart chart{options.title.empty() ? std::string_view{what} : options.title,
                          note,
                          what + ": " + names + ". Across: " + x.name + "; up: the bytes that are held.",
                          32'000,
                          legend,
                          {.lines = lines.size()}};
  chart.axes(x, y, false);
  chart.open_group("marks");
  for (std::size_t k = 0; k < lines.size(); ++k) {
    auto const path = detail::sampled_path(chart, lines[k], x, y, options.over_time);
    if (k == 0 && compared) chart.draw("kept", detail::svg_path{path}.down(chart.bottom()).close());
    chart.draw(detail::line_class(k), path, lines[k].samples.size() > 1'000 ? 80 : 0);
  }
  chart.close_group();
  return std::move(chart).finish();
}

}  // namespace cairn
