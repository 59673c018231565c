// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file pictures.hpp  Fields as SVG: axes with units, a colour bar, readable on light and dark ground.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace seismic {

/// A field to be drawn; row by row, the first row on top.
struct panel {
  std::string title;
  std::size_t columns, rows;
  std::vector<double> values;
};

/// What the axes and the colours of all panels of a picture mean.
struct scale {
  std::string across, down, colours;  ///< names with units
  double width, height;               ///< of a panel, in the units of its axes
  double least, most;                 ///< values at the ends of the colour bar; what lies beyond is drawn as the end
  bool signed_values = false;         ///< colours from blue over grey to orange, else from dark to light
};

namespace detail {

inline constexpr int colour_count = 33;  // odd: the middle one is for 0

[[nodiscard]] inline std::string colour(int k, bool signed_values) {
  using rgb = std::array<double, 3>;
  static constexpr rgb plain[] = {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
  static constexpr rgb both[] = {{20, 80, 190}, {90, 140, 205}, {140, 140, 140}, {225, 150, 80}, {210, 85, 10}};
  double const at = 4.0 * k / (colour_count - 1);
  auto const left = std::size_t(std::min(3.0, at));
  auto const& table = signed_values ? both : plain;
  int mixed[3];
  for (std::size_t c = 0; c < 3; ++c)
    mixed[c] = int(std::lround(table[left][c] + (at - double(left)) * (table[left + 1][c] - table[left][c])));
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", unsigned(mixed[0]) & 255U, unsigned(mixed[1]) & 255U,
                unsigned(mixed[2]) & 255U);
  return text;
}

[[nodiscard]] inline std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}
[[nodiscard]] inline std::string label(double x, double y, std::string const& words, char const* anchor = "middle",
                                       char const* more = "") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\" " + more + ">" + words +
         "</text>\n";
}

/// One path a colour: neighbouring cells of a row with the same colour are one rectangle.
[[nodiscard]] inline std::string cells(panel const& one, scale const& meaning) {
  std::array<std::string, colour_count> paths;
  auto const colour_at = [&](std::size_t x, std::size_t z) {
    double const share = (one.values[z * one.columns + x] - meaning.least) / (meaning.most - meaning.least);
    return std::size_t(std::clamp(share * colour_count, 0.0, colour_count - 1.0));
  };
  for (std::size_t z = 0; z < one.rows; ++z)
    for (std::size_t x = 0, end = 0; x < one.columns; x = end) {
      auto const k = colour_at(x, z);
      for (end = x + 1; end < one.columns && colour_at(end, z) == k;) ++end;
      auto const length = end - x;
      char piece[96];
      std::snprintf(piece, sizeof piece, "M%zu %zuh%zuv1h-%zuz", x, z, length, length);
      paths[k] += piece;
    }
  std::string all;
  for (std::size_t k = 0; k < paths.size(); ++k)
    if (!paths[k].empty())
      all += "<path fill=\"" + colour(int(k), meaning.signed_values) + "\" d=\"" + paths[k] + "\"/>\n";
  return all;
}

}  // namespace detail

/// The panels below each other and a colour bar at the right.
[[nodiscard]] inline std::string to_svg(std::vector<panel> const& panels, scale const& meaning) {
  using namespace detail;
  constexpr double left = 70, wide = 520, top = 34, gap = 64, bar = left + wide + 24;
  double const high = std::clamp(wide * meaning.height / meaning.width, 200.0, 260.0),
               total = double(panels.size()) * (high + gap) + top;
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 " + number(total) +
      "\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<style>svg{background:#fff}text{fill:#222}.line{stroke:#222;fill:none}"
      "@media(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#ddd}.line{stroke:#ddd}}</style>\n";
  for (std::size_t p = 0; p < panels.size(); ++p) {
    auto const& one = panels[p];
    double const y = top + double(p) * (high + gap);
    svg += label(left + wide / 2, y - 10, one.title, "middle", "font-size=\"14\"");
    svg += "<g shape-rendering=\"crispEdges\" transform=\"translate(" + number(left) + " " + number(y) + ") scale(" +
           number(wide / double(one.columns)) + " " + number(high / double(one.rows)) + ")\">\n" + cells(one, meaning) +
           "</g>\n";
    svg += "<rect class=\"line\" x=\"" + number(left) + "\" y=\"" + number(y) + "\" width=\"" + number(wide) +
           "\" height=\"" + number(high) + "\"/>\n";
    for (int t = 0; t <= 4; ++t) {
      svg += label(left + wide * t / 4, y + high + 15, number(meaning.width * t / 4));
      svg += label(left - 6, y + high * t / 4 + 4, number(meaning.height * t / 4), "end");
    }
    svg += label(left + wide / 2, y + high + 31, meaning.across);
    svg += label(16, y + high / 2, meaning.down, "middle",
                 ("transform=\"rotate(-90 16 " + number(y + high / 2) + ")\"").c_str());
  }
  double const size = std::min(high, 200.0);
  for (int k = 0; k < colour_count; ++k)
    svg += "<rect fill=\"" + colour(k, meaning.signed_values) + "\" x=\"" + number(bar) + "\" y=\"" +
           number(top + size * (colour_count - 1 - k) / colour_count) + "\" width=\"14\" height=\"" +
           number(size / colour_count + 0.5) + "\"/>\n";
  for (int t = 0; t <= 4; ++t)
    svg += label(bar + 18, top + size * (4 - t) / 4 + 4, number(meaning.least + (meaning.most - meaning.least) * t / 4),
                 "start");
  return svg + label(bar, top + size + 20, meaning.colours, "start") + "</svg>\n";
}

/// \throws std::runtime_error
inline void write_file(std::string const& name, std::string const& text) {
  std::ofstream file{name};
  if (!(file << text << std::flush))
    throw std::runtime_error{name + " cannot be written; give --out a folder in which files can be made"};
}

}  // namespace seismic
