// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file breakdown.hpp  What memory or time is spent on: parts of a whole, for one moment or for many.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/plan/text/figure_text.hpp>

#include "checks.hpp"
#include "memory_axes.hpp"
#include "svg_chart.hpp"
#include "words.hpp"

namespace picture {

/// What the numbers of a breakdown are.
enum class breakdown_unit : std::uint8_t { bytes, nanoseconds, count };

/// The parts of one whole: the memory at one moment or for one batch, the time of one node.
struct breakdown_row {
  std::string name;                  ///< beside its bar
  std::vector<std::int64_t> values;  ///< one for each kind, not negative
};

/// Wholes and their parts by kind, for example the bytes of parameters, activations and gradients at each peak.
struct breakdown {
  std::vector<std::string> kinds;   ///< 1 .. `most_colours` of them
  std::vector<breakdown_row> rows;  ///< up to `most_bars` are drawn as bars with names, more as areas side by side
  breakdown_unit unit = breakdown_unit::bytes;  ///< of all numbers
  std::string across = "row";                   ///< what a row is: "batch", "action", "rank"
  std::string title = {};                       ///< by default it says what is shown
};

/// The most rows that `breakdown_svg` draws as bars.
inline constexpr std::size_t most_bars = 32;

/// The breakdown as an SVG: a horizontal bar for each row, with its sum, or, for many rows, areas over the row numbers
/// with the largest sum marked. The text below the title names the parts of the largest sum.
/// \throws invalid_plan   for another number of kinds, for a row without one number for each kind, and for negative
///   numbers
[[nodiscard]] inline std::string breakdown_svg(breakdown const& of);

inline void check_breakdown(breakdown const& of) {
  constexpr char const* who = "picture::breakdown_svg";
  check_colours(who, of.kinds.size());
  check_drawn_count(who, of.rows.size() * of.kinds.size());
  for (std::size_t k = 0; k < of.rows.size(); ++k) {
    auto const& values = of.rows[k].values;
    if (values.size() != of.kinds.size())
      throw invalid_plan{who,
                         "a row does not have one number for each kind",
                         {{"row", k}, {"numbers", values.size()}, {"kinds", of.kinds.size()}},
                         "give 0 for a kind that it has nothing of"};
    for (std::int64_t const value : values)
      if (value < 0)
        throw invalid_plan{who, "a part is less than nothing", {{"row", k}, {"part", value}}, "give numbers from 0"};
  }
}

[[nodiscard]] inline wide sum_of(breakdown_row const& row) {
  wide sum = 0;
  for (std::int64_t const value : row.values) sum += wide(value);
  return sum;
}

/// What a picture says of the numbers of a breakdown.
class breakdown_words {
 public:
  explicit breakdown_words(breakdown const& of) : of_{of} {}

  [[nodiscard]] std::string amount(wide value) const {
    switch (of_.unit) {
      case breakdown_unit::bytes:
        return bytes_text(value);
      case breakdown_unit::nanoseconds:
        return seconds_text(double(value) * 1e-9);
      case breakdown_unit::count:
        break;
    }
    return grouped(value);
  }
  [[nodiscard]] std::string name(std::size_t row) const {
    auto const& given = of_.rows[row].name;
    return given.empty() ? of_.across + " " + grouped(row) : given;
  }
  /// "peak: 4.00 GiB: 70 % activations, 30 % parameters".
  [[nodiscard]] std::string parts(std::size_t row) const {
    wide const sum = sum_of(of_.rows[row]);
    std::string words = name(row) + ": " + amount(sum);
    char const* before = ": ";
    for (std::size_t k = 0; k < of_.kinds.size() && sum > 0; ++k) {
      if (of_.rows[row].values[k] == 0) continue;
      words += before + percent_text(double(of_.rows[row].values[k]) / double(sum)) + " " + of_.kinds[k];
      before = ", ";
    }
    return words;
  }
  [[nodiscard]] axis sums(wide most) const {
    switch (of_.unit) {
      case breakdown_unit::bytes:
        return memory_axis(most);
      case breakdown_unit::nanoseconds:
        return time_axis(most);
      case breakdown_unit::count:
        break;
    }
    return count_axis("count", most);
  }
  /// A number of the breakdown as the axes count it: times in picoseconds.
  [[nodiscard]] wide on_axis(wide value) const {
    return of_.unit == breakdown_unit::nanoseconds ? value * 1'000 : value;
  }

 private:
  breakdown const& of_;
};

inline void draw_bars(svg_chart& chart, breakdown const& of, breakdown_words const& words, axis const& x) {
  std::vector<svg_path> parts(of.kinds.size());
  std::size_t const count = of.rows.size();
  chart.open_group("marks");
  for (std::size_t row = 0; row < count; ++row) {
    hundredths const middle = chart.bar_middle(row, count);
    wide sum = 0;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      hundredths const begin = chart.across(words.on_axis(sum), x);
      sum += wide(of.rows[row].values[k]);
      hundredths const end = chart.across(words.on_axis(sum), x);
      if (end > begin) parts[k].move(begin, middle - 900).across(end).down(middle + 900).across(begin).close();
    }
  }
  for (std::size_t k = 0; k < parts.size(); ++k) chart.draw(part_class(k), parts[k]);
  chart.close_group();
  chart.open_group("sums");
  for (std::size_t row = 0; row < count; ++row) {
    wide const sum = sum_of(of.rows[row]);
    chart.write("", "start", chart.across(words.on_axis(sum), x) + 600, chart.bar_middle(row, count) + 400,
                words.amount(sum));
  }
  chart.close_group();
}

/// Draws, for each k, the area from the bottom up to the sum of the first k kinds. The largest area comes first, so
/// each one shows only the part of kind k.
inline void draw_areas(svg_chart& chart, breakdown const& of, breakdown_words const& words, axis const& y,
                       std::size_t largest) {
  std::size_t const count = of.rows.size();
  std::vector<wide> sums;
  for (auto const& row : of.rows) sums.push_back(sum_of(row));
  chart.open_group("marks");
  for (std::size_t k = of.kinds.size(); k-- > 0;) {
    svg_path area;
    hundredths high = chart.bottom(), at = chart.left();
    area.move(at, high);
    for (std::size_t row = 0; row < count; ++row) {
      hundredths const level = chart.up(words.on_axis(sums[row]), y);
      if (hundredths const here = chart.across(row, count); level != high) {
        if (here > at) area.across(at = here);
        area.down(high = level);
      }
      sums[row] -= wide(of.rows[row].values[k]);
    }
    chart.draw(part_class(k), area.across(chart.right()).down(chart.bottom()).close());
  }
  hundredths const top = chart.up(y.most, y), summit = chart.across(2 * wide(largest) + 1, 2 * wide(count));
  chart.draw("peak", svg_path{}.move(chart.left(), top).across(chart.right()));
  chart.draw("summit", svg_path{}.move(summit, top).ring(350));
  chart.close_group();
}

inline std::string breakdown_svg(breakdown const& of) {
  check_breakdown(of);
  breakdown_words const words{of};
  std::size_t const count = of.rows.size();
  std::size_t largest = 0;
  for (std::size_t row = 1; row < count; ++row)
    if (sum_of(of.rows[row]) > sum_of(of.rows[largest])) largest = row;
  wide const most = count == 0 ? 0 : words.on_axis(sum_of(of.rows[largest]));
  std::string const note = count == 0 ? "no " + of.across : words.parts(largest);
  std::string what;
  for (std::size_t k = 0; k < of.kinds.size(); ++k) what += (k == 0 ? "Parts: " : ", ") + of.kinds[k];
  std::vector<legend_entry> legend;
  for (std::size_t k = 0; k < of.kinds.size(); ++k) legend.push_back({of.kinds[k], part_class(k), area_sample});

  bool const bars = count <= most_bars;
  chart_layout layout{.parts = of.kinds.size()};
  std::string told = note + ".";
  std::vector<std::string> names;
  if (bars) {
    for (std::size_t row = 0; row < count; ++row) {
      names.push_back(words.name(row));
      hundredths const margin = 4'900 + width_of(names[row]);
      layout.left = (std::max)(layout.left, (std::min)(margin, hundredths{34'000}));
      if (row != largest) told += " " + words.parts(row) + ".";
    }
    layout.right = 70'000;  // room for the sums at the ends of the bars
  } else {
    legend.push_back({"largest", "peak", line_sample});
  }
  auto const height = bars ? 3'000 * std::max<hundredths>(hundredths(count), 1) : 32'000;
  svg_chart chart{of.title.empty() ? what : of.title, note, what + ". " + told, height, legend, layout};
  auto const sums = words.sums(most);
  if (bars) {
    chart.axes(sums, names, of.across);
    draw_bars(chart, of, words, sums);
  } else {
    chart.axes({of.across, count, {}}, sums, false);
    draw_areas(chart, of, words, sums, largest);
  }
  return std::move(chart).finish();
}

}  // namespace picture
