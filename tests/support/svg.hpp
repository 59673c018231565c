// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the marks and the axes of a picture.
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace svg_text {

struct command {
  char letter;
  std::vector<double> numbers;
};
/// One `M` of a path and what follows it.
using subpath = std::vector<command>;

inline std::vector<subpath> read_path(std::string const& data) {
  std::vector<subpath> all;
  char const* at = data.c_str();
  while (*at != '\0') {
    command next{*at++, {}};
    for (char* end = nullptr;; at = end) {
      double const number = std::strtod(at, &end);
      if (end == at) break;
      next.numbers.push_back(number);
    }
    while (*at == ' ') ++at;
    if (next.letter == 'M') all.emplace_back();
    all.back().push_back(next);
  }
  return all;
}

inline std::string between(std::string const& text, std::string const& open, std::string const& close) {
  auto const from = text.find(open);
  if (from == std::string::npos) return "";
  auto const start = from + open.size();
  return text.substr(start, text.find(close, start) - start);
}

/// The paths of the group of marks, by their class.
inline std::map<std::string, std::vector<subpath>> marks_of(std::string const& svg) {
  std::map<std::string, std::vector<subpath>> all;
  std::istringstream lines{between(svg, "<g class=\"marks\">", "</g>")};
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) all[between(line, "class=\"", "\"")] = read_path(between(line, " d=\"", "\""));
  return all;
}

/// The labels at the ticks of an axis, and its name at the end.
inline std::vector<std::string> labels_of(std::string const& svg, std::string const& which) {
  std::vector<std::string> all;
  std::istringstream lines{between(svg, "<g class=\"" + which + "\">", "</g>")};
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) all.push_back(between(line.substr(line.find("<text")), ">", "<"));
  return all;
}

/// The plot is 690 pixels wide, and begins 80 from the left.
inline double across(double value, double range) { return 80 + 690 * (range > 0 ? value / range : 0); }

/// Coordinates are rounded to hundredths of a pixel.
inline bool is_at(double drawn, double meant) { return std::abs(drawn - meant) <= 0.005 + 1e-9; }

/// Where the plot ends below: 50 pixels above the end of the page.
inline double bottom_of(std::string const& svg) { return std::stod(between(svg, "viewBox=\"0 0 800 ", "\"")) - 50; }

struct corner {
  double x = 0, y = 0;
};
/// Corners of a line of M, H, V and L.
inline std::vector<corner> corners_of(subpath const& path) {
  std::vector<corner> all;
  for (auto const& part : path) {
    corner next = all.empty() ? corner{} : all.back();
    if (part.letter == 'M' || part.letter == 'L') next = {part.numbers[0], part.numbers[1]};
    else if (part.letter == 'H') next.x = part.numbers[0];
    else if (part.letter == 'V') next.y = part.numbers[0];
    else break;
    all.push_back(next);
  }
  return all;
}
/// What a line of steps shows at `x`; -1 where it shows nothing.
inline double height_at(std::vector<corner> const& path, double x) {
  for (std::size_t k = 1; k < path.size(); ++k)
    if (path[k - 1].x <= x && x < path[k].x) return path[k].y;
  return -1;
}

}  // namespace svg_text
