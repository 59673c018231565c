// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file svg_chart.hpp  Common parts of the pictures: page, heading, legend, axes, and colours for light and dark
/// screens.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scale.hpp"
#include "svg_path.hpp"
#include "text_width.hpp"
#include "ticks.hpp"
#include "xml.hpp"

namespace picture {

/// An entry of the legend: a name, the class of its path, and how the path's sample is drawn.
struct legend_entry {
  std::string name;
  std::string kind;
  svg_path (*sample)(hundredths x, hundredths y);
};

[[nodiscard]] inline svg_path line_sample(hundredths x, hundredths y) { return svg_path{}.move(x, y).across(x + 1600); }
[[nodiscard]] inline svg_path dot_sample(hundredths x, hundredths y) { return svg_path{}.move(x + 800, y).dot(); }
[[nodiscard]] inline svg_path disc_sample(hundredths x, hundredths y) {
  return svg_path{}.move(x, y).across(x + 1600).move(x + 800, y).ring(350);
}
[[nodiscard]] inline svg_path ring_sample(hundredths x, hundredths y) { return svg_path{}.move(x + 800, y).ring(300); }
[[nodiscard]] inline svg_path cap_sample(hundredths x, hundredths y) { return svg_path{}.move(x + 800, y).cap(400); }
[[nodiscard]] inline svg_path pole_sample(hundredths x, hundredths y) {
  return svg_path{}.move(x + 800, y - 600).down(y + 600);
}
[[nodiscard]] inline svg_path area_sample(hundredths x, hundredths y) {
  return svg_path{}.move(x, y - 500).across(x + 1600).down(y + 500).across(x).close();
}

/// The style for both colour schemes, with classes only, because some programs that show SVG do not support CSS
/// variables.
inline constexpr std::string_view light_style = R"(
.cairn{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",Arial,sans-serif;font-size:12px}
.cairn text{fill:#1f2328;stroke:none}
.cairn .paper{fill:#fff}
.cairn .heading{font-size:16px;font-weight:600}
.cairn .note{fill:#59636e}
.cairn path{fill:none;stroke:#1f2328;stroke-width:1;stroke-linecap:butt}
.cairn .grid{stroke:#e4e8ec}
.cairn .frame{stroke:#818b98}
.cairn .advance{stroke:#0969b8}
.cairn .turn{stroke:#a0459b}
.cairn .record{stroke:#00795a}
.cairn .reverse{stroke:#d1480a}
.cairn .save{stroke:#1f2328;stroke-linecap:round}
.cairn .load{stroke:#946200;stroke-width:1.4}
.cairn .drop{stroke:#59636e;stroke-width:1.4}
.cairn .state-life{stroke:#7d8590;stroke-width:1.1}
.cairn .far-life{stroke:#8250df;stroke-width:2.2}
.cairn .tape-life{stroke:#3f8f78;stroke-width:1.1;stroke-dasharray:4 3}
.cairn .held{stroke:#0969b8;stroke-width:1.5;stroke-linejoin:round}
.cairn .kept{fill:#c3dcf3;stroke:none}
.cairn .peak{stroke:#d1480a;stroke-dasharray:6 4}
.cairn .summit{stroke:#d1480a;stroke-width:2;fill:#fff}
.cairn .warm{fill:#b03c05}
)";
inline constexpr std::string_view dark_style = R"(.cairn text{fill:#e6edf3}
.cairn .paper{fill:#0d1117}
.cairn .note{fill:#a2abb6}
.cairn path{stroke:#e6edf3}
.cairn .grid{stroke:#232a33}
.cairn .frame{stroke:#6e7681}
.cairn .advance{stroke:#58a6ff}
.cairn .turn{stroke:#e29be0}
.cairn .record{stroke:#3fc79a}
.cairn .reverse{stroke:#ff8a4c}
.cairn .save{stroke:#f0f3f6}
.cairn .load{stroke:#e3b341}
.cairn .drop{stroke:#a2abb6}
.cairn .state-life{stroke:#768390}
.cairn .far-life{stroke:#b088f9}
.cairn .tape-life{stroke:#3a9a80}
.cairn .held{stroke:#58a6ff}
.cairn .kept{fill:#173a5e;stroke:none}
.cairn .peak{stroke:#ff8a4c}
.cairn .summit{stroke:#ff8a4c;fill:#0d1117}
.cairn .warm{fill:#ff9d68}
)";

/// The colours of the parts of a whole and of lines side by side, in both schemes; neighbours differ in lightness, too.
inline constexpr std::array<std::string_view, 8> light_colours{"#0969b8", "#e0701a", "#00795a", "#a0459b",
                                                               "#946200", "#59636e", "#1796a8", "#b3203c"};
inline constexpr std::array<std::string_view, 8> dark_colours{"#58a6ff", "#ff8a4c", "#3fc79a", "#e29be0",
                                                              "#e3b341", "#a2abb6", "#5cc8d6", "#ff7b8f"};

/// The class of the `k`th part or line.
[[nodiscard]] inline std::string part_class(std::size_t k) { return "part-" + std::to_string(k + 1); }
[[nodiscard]] inline std::string line_class(std::size_t k) { return "line-" + std::to_string(k + 1); }

/// The style of a picture with `parts` coloured parts and `lines` coloured lines.
[[nodiscard]] inline std::string style_of(std::size_t parts, std::size_t lines) {
  auto const coloured = [&](std::array<std::string_view, 8> const& colours) {
    std::string rules;
    auto const rule = [&](std::string const& kind, std::string const& body) {
      rules += ".cairn ." + kind + "{" + body + "}\n";
    };
    for (std::size_t k = 0; k < parts; ++k) rule(part_class(k), "fill:" + std::string{colours[k]} + ";stroke:none");
    for (std::size_t k = 0; k < lines; ++k)
      rule(line_class(k), "stroke:" + std::string{colours[k]} + ";stroke-width:1.5;stroke-linejoin:round");
    return rules;
  };
  return std::string{light_style} + coloured(light_colours) + "@media (prefers-color-scheme:dark){\n" +
         std::string{dark_style} + coloured(dark_colours) + "}\n";
}

/// Where the plots of a picture begin and end, and how many of its parts and lines have colours of their own.
struct chart_layout {
  hundredths left = 8'000, right = 77'000;
  std::size_t parts = 0, lines = 0;
};

/// An SVG that grows from top to bottom: heading, note, legend, and one plot or more. The y axis of a plot points up
/// or, for time, down.
class svg_chart {
 public:
  static constexpr hundredths width = 80'000, margin = 8'000, right_margin = 1'000;

  /// \param heading  drawn at the top, and read by screen readers   \param note  below it, in at most three lines
  /// \param told  for screen readers: the content of the picture in words
  svg_chart(std::string_view heading, std::string const& note, std::string const& told, hundredths plot_height,
            std::vector<legend_entry> const& legend, chart_layout const& layout = {})
      : layout_{layout}, height_{plot_height} {
    hundredths const page = width - margin - right_margin;
    before_ = "<title>" + xml_text(heading) + "</title>\n<desc>" + xml_text(told) + "</desc>\n<style>" +
              style_of(layout.parts, layout.lines) + "</style>\n";
    write("heading", "start", margin, 2'800, fitted(heading, page, heading_letters));
    hundredths y = 4'700;
    for (auto const& line : fitted_lines(note, page, 3)) {
      write("note", "start", margin, y, line);
      y += 1'700;
    }
    open_group("legend");
    top_ = lay_out(legend, (std::max)(y, hundredths{6'400}) + 400) + 2'200;
    close_group();
  }

  [[nodiscard]] hundredths left() const noexcept { return layout_.left; }
  [[nodiscard]] hundredths right() const noexcept { return layout_.right; }
  [[nodiscard]] hundredths top() const noexcept { return top_; }
  [[nodiscard]] hundredths bottom() const noexcept { return top_ + height_; }
  [[nodiscard]] hundredths across(wide value, wide range) const noexcept {
    return left() + place_on(value, range, right() - left());
  }
  [[nodiscard]] hundredths down(wide value, wide range) const noexcept {
    return top_ + place_on(value, range, height_);
  }
  [[nodiscard]] hundredths up(wide value, wide range) const noexcept {
    return bottom() - place_on(value, range, height_);
  }
  [[nodiscard]] hundredths across(wide value, axis const& x) const noexcept {
    return left() + place_along(value, x.least, x.most, right() - left());
  }
  [[nodiscard]] hundredths up(wide value, axis const& y) const noexcept {
    return bottom() - place_along(value, y.least, y.most, height_);
  }

  /// Goes on with another plot below the axes of this one.
  void next_plot(hundredths plot_height) {
    top_ = bottom() + 6'400;
    height_ = plot_height;
  }

  void axes(axis const& x, axis const& y, bool y_runs_down) {
    axis_lines lines;
    std::string labels;
    labels.swap(text_);
    x_axis(x, lines);
    open_group("y-axis");
    wide const rows = wide(height_) / (y.is_logarithmic() ? 2'000 : 4'000);
    auto const ticks = ticks_of(y, rows < 10 ? rows : 10);
    auto const at = [&](tick const& one) { return y_runs_down ? down(one.at, y.most) : up(one.at, y); };
    auto const touches = [](hundredths one, hundredths other) {
      return (one < other ? other - one : one - other) < 1'200;
    };
    hundredths const last = at(ticks.back());
    hundredths before = last;
    for (tick const& one : ticks) {
      hundredths const here = at(one);
      bool const is_first = &one == &ticks.front(), is_last = &one == &ticks.back();
      if (!is_last && (touches(here, last) || (!is_first && touches(here, before)))) continue;
      before = here;
      lines.grid.move(left(), here).across(right());
      lines.frame.move(left() - 500, here).across(left());
      write("", "end", left() - 900, here + 400, one.label);
    }
    y_name(y.name);
    close_group();
    labels.swap(text_);
    frame(lines, labels);
  }

  /// Draws the axes for horizontal bars, one for each name, from the top down. `bar_middle(k, count)` is the height of
  /// bar k.
  void axes(axis const& x, std::vector<std::string> const& names, std::string const& name) {
    axis_lines lines;
    std::string labels;
    labels.swap(text_);
    x_axis(x, lines);
    open_group("y-axis");
    for (std::size_t k = 0; k < names.size(); ++k)
      write("", "end", left() - 900, bar_middle(k, names.size()) + 400, fitted(names[k], left() - 4'000));
    y_name(name);
    close_group();
    labels.swap(text_);
    frame(lines, labels);
  }
  [[nodiscard]] hundredths bar_middle(std::size_t k, std::size_t count) const noexcept {
    return down(2 * wide(k) + 1, 2 * wide(count));
  }

  /// Draws a path of class `kind`, unless it is empty.   \param stroke  its width, 0 for that of the style
  void draw(std::string_view kind, svg_path const& path, hundredths stroke = 0) {
    if (path.empty()) return;
    text_ += "<path class=\"" + std::string{kind} + "\"";
    if (stroke > 0) text_ += " style=\"stroke-width:" + pixels(stroke) + "\"";
    text_ += " d=\"" + path.data() + "\"/>\n";
  }
  void write(std::string_view kind, std::string_view anchor, hundredths x, hundredths y, std::string const& words) {
    text_ += "<text";
    if (!kind.empty()) text_ += " class=\"" + std::string{kind} + "\"";
    text_ += " x=\"" + pixels(x) + "\" y=\"" + pixels(y) + "\"";
    if (anchor != "start") text_ += " text-anchor=\"" + std::string{anchor} + "\"";
    text_ += ">" + xml_text(words) + "</text>\n";
  }
  void open_group(std::string_view kind) { text_ += "<g class=\"" + std::string{kind} + "\">\n"; }
  void close_group() { text_ += "</g>\n"; }
  [[nodiscard]] std::string finish() && {
    std::string const size = pixels(width), tall = pixels(bottom() + 5'000);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cairn\" role=\"img\" viewBox=\"0 0 " + size + " " + tall +
           "\" width=\"" + size + "\" height=\"" + tall + "\">\n" + before_ + "<rect class=\"paper\" width=\"" + size +
           "\" height=\"" + tall + "\"/>\n" + text_ + "</svg>\n";
  }

 private:
  struct axis_lines {
    svg_path grid, frame;
  };

  /// Draws the numbers and the name below the plot. A number that would touch the one before it, or the last number, is
  /// left out.
  void x_axis(axis const& x, axis_lines& lines) {
    open_group("x-axis");
    wide const longest = x.is_logarithmic() ? 7 : grouped(x.most / x.in.unit).size();
    wide const fit = wide(right() - left()) / 100 / (7 * longest + 24);
    auto const ticks = ticks_of(x, fit < 10 ? fit : 10);
    auto const half = [](tick const& at) { return 350 * hundredths(at.label.size()); };
    hundredths const last = (std::min)(across(ticks.back().at, x), width - 200 - half(ticks.back()));  // on the page
    hundredths free_from = 0;
    for (tick const& at : ticks) {
      bool const is_last = &at == &ticks.back();
      hundredths const here = across(at.at, x);
      if (!is_last && (here + half(at) + 600 > last - half(ticks.back()) || here - half(at) < free_from)) continue;
      free_from = here + half(at) + 600;
      lines.grid.move(here, top()).down(bottom());
      lines.frame.move(here, bottom()).down(bottom() + 500);
      write("", "middle", is_last && x.most > 0 ? last : here, bottom() + 1'900, at.label);
    }
    write("", "middle", (left() + right()) / 2, bottom() + 3'900, x.name);
    close_group();
  }
  void y_name(std::string const& name) {
    text_ += "<text transform=\"translate(20 " + pixels((top() + bottom()) / 2) +
             ") rotate(-90)\" text-anchor=\"middle\">" + xml_text(name) + "</text>\n";
  }
  void frame(axis_lines& lines, std::string const& labels) {
    lines.frame.move(left(), top()).down(bottom()).across(right());
    draw("grid", lines.grid);
    text_ += labels;
    draw("frame", lines.frame);
  }

  /// Puts the entries into rows as wide as the page, the first at `y`; the plot begins below them.
  [[nodiscard]] hundredths lay_out(std::vector<legend_entry> const& legend, hundredths y) {
    hundredths x = margin;
    for (auto const& entry : legend) {
      auto const name = fitted(entry.name, width - margin - right_margin - 2'200);
      hundredths const wide_as = 2'200 + width_of(name) + 2'000;
      if (x > margin && x + wide_as > width - right_margin) x = margin, y += 2'000;
      draw(entry.kind, entry.sample(x, y), entry.kind == "save" ? 500 : entry.sample == line_sample ? 250 : 0);
      write("", "start", x + 2'200, y + 400, name);
      x += wide_as;
    }
    return y;
  }

  chart_layout layout_;
  hundredths height_;
  hundredths top_ = 0;
  std::string before_, text_;
};

}  // namespace picture
