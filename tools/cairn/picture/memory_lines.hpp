// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_lines.hpp  Memory over time or over actions, several curves in one picture: predicted beside measured,
/// or one for each size of a batch.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/memory_sample.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/plan/text/figure_text.hpp>

#include "checks.hpp"
#include "memory_axes.hpp"
#include "svg_chart.hpp"
#include "words.hpp"

namespace picture {

/// One curve of a picture.
struct memory_line {
  std::string name;                    ///< in the legend, beside its peak
  std::vector<memory_sample> samples;  ///< in the order of time
};

/// What a picture of memory shows across, and its title.
struct memory_lines_options {
  bool over_time = false;         ///< across: `begin` and `end` of the samples; otherwise their numbers 0, 1, 2 ...
  std::string across = "action";  ///< what a sample is, unless `over_time`
  /// The first curve is drawn as an area, and the text below the title says how far the peaks of the others are from
  /// its peak.
  bool first_is_predicted = false;
  std::string_view title = {};  ///< by default it says what is shown
};

/// Memory as an SVG: a line for each curve, and the peak of each in the legend. See `samples_of` for predicted curves,
/// and `memory_samples` for measured ones.
/// \param lines  1 .. `most_colours` of them, at most `most_drawn_actions` samples in all
/// \throws invalid_plan   for another number of lines or samples, for negative bytes, and, over time, for samples that
///   begin before the one before them ends, or end before they begin
[[nodiscard]] inline std::string memory_lines_svg(std::vector<memory_line> const& lines,
                                                  memory_lines_options const& options = {});

inline constexpr char const* draws_memory_lines = "picture::memory_lines_svg";

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

inline std::string memory_lines_svg(std::vector<memory_line> const& lines, memory_lines_options const& options) {
  check_lines(lines, options.over_time);
  wide longest = 0;
  std::int64_t most = 0;
  std::string names;
  std::vector<legend_entry> legend;
  bool const compared = options.first_is_predicted;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    auto const& line = lines[k];
    std::int64_t const peak = peak_of(line);
    most = (std::max)(most, peak);
    if (!options.over_time) longest = (std::max)(longest, wide(line.samples.size()));
    else if (!line.samples.empty()) longest = (std::max)(longest, wide(line.samples.back().end) * 1'000);
    std::string const words = line.name + ", peak " + bytes_text(wide(peak));
    legend.push_back({words, line_class(k), line_sample});
    names += (names.empty() ? "" : "; ") + words;
  }
  std::string const what = compared ? "Memory, predicted and measured" : "Memory of a run";
  std::string note = compared ? "" : with_separators(plural(lines.size(), "curve"));
  for (std::size_t k = 1; k < lines.size() && compared; ++k)
    note += (k > 1 ? "; " : "") + difference_words(lines[0], lines[k]);
  axis const x = options.over_time ? time_axis(longest) : axis{options.across, longest, {}},
             y = memory_axis(wide(most));
  svg_chart chart{options.title.empty() ? std::string_view{what} : options.title,
                  note,
                  what + ": " + names + ". Across: " + x.name + "; up: the bytes that are held.",
                  32'000,
                  legend,
                  {.lines = lines.size()}};
  chart.axes(x, y, false);
  chart.open_group("marks");
  for (std::size_t k = 0; k < lines.size(); ++k) {
    auto const path = sampled_path(chart, lines[k], x, y, options.over_time);
    if (k == 0 && compared) chart.draw("kept", svg_path{path}.down(chart.bottom()).close());
    chart.draw(line_class(k), path, lines[k].samples.size() > 1'000 ? 80 : 0);
  }
  chart.close_group();
  return std::move(chart).finish();
}

}  // namespace picture
