#pragma once
/// \file svg_chart.hpp  Common parts of the pictures: page, heading, legend, axes, and colours for light and dark
/// screens.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <cairn/plan/text/detail/svg_path.hpp>
#include <cairn/plan/text/detail/ticks.hpp>
#include <cairn/plan/text/detail/xml.hpp>

namespace cairn::detail {

/// An entry of the legend: a name, the class of its path, and how the path's sample is drawn.
struct legend_entry {
  std::string_view name;
  std::string_view kind;
  svg_path (*sample)(hundredths x, hundredths y);
};

[[nodiscard]] inline svg_path line_sample(hundredths x, hundredths y) { return svg_path{}.move(x, y).across(x + 1600); }
[[nodiscard]] inline svg_path dot_sample(hundredths x, hundredths y) { return svg_path{}.move(x + 800, y).dot(); }
[[nodiscard]] inline svg_path ring_sample(hundredths x, hundredths y) { return svg_path{}.move(x + 800, y).ring(300); }
[[nodiscard]] inline svg_path cap_sample(hundredths x, hundredths y) { return svg_path{}.move(x + 800, y).cap(400); }
[[nodiscard]] inline svg_path pole_sample(hundredths x, hundredths y) {
  return svg_path{}.move(x + 800, y - 600).down(y + 600);
}
[[nodiscard]] inline svg_path area_sample(hundredths x, hundredths y) {
  return svg_path{}.move(x, y - 500).across(x + 1600).down(y + 500).across(x).close();
}

/// An axis from 0 to `most`.
struct axis {
  std::string name;
  wide most = 0;
  axis_unit in;
};

/// The style for both colour schemes, with classes only, because some programs that show SVG do not support CSS
/// variables.
inline constexpr std::string_view chart_style = R"(
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
@media (prefers-color-scheme:dark){
.cairn text{fill:#e6edf3}
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
}
)";

/// An SVG that grows from top to bottom. Its y axis points up or, for time, down.
class svg_chart {
 public:
  static constexpr hundredths width = 80'000, left = 8'000, right = 77'000;

  /// \param heading  drawn at the top, and read by screen readers   \param note  one line below it   \param told  for
  ///   screen readers: the content of the picture in words
  svg_chart(std::string_view heading, std::string const& note, std::string const& told, hundredths plot_height,
            std::vector<legend_entry> const& legend)
      : height_{plot_height} {
    std::string const entries = lay_out(legend);
    std::string const size = pixels(width), tall = pixels(bottom() + 5'000);
    text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cairn\" role=\"img\" viewBox=\"0 0 " + size + " " +
            tall + "\" width=\"" + size + "\" height=\"" + tall + "\">\n<title>" + xml_text(heading) +
            "</title>\n<desc>" + xml_text(told) + "</desc>\n<style>" + std::string{chart_style} +
            "</style>\n<rect class=\"paper\" width=\"" + size + "\" height=\"" + tall + "\"/>\n";
    write("heading", "start", left, 2'800, shortened(heading, 72));
    write("note", "start", left, 4'700, shortened(note, 96));
    text_ += "<g class=\"legend\">\n" + entries + "</g>\n";
  }

  [[nodiscard]] hundredths top() const noexcept { return top_; }
  [[nodiscard]] hundredths bottom() const noexcept { return top_ + height_; }
  [[nodiscard]] hundredths across(wide value, wide range) const noexcept {
    return left + place_on(value, range, right - left);
  }
  [[nodiscard]] hundredths down(wide value, wide range) const noexcept {
    return top_ + place_on(value, range, height_);
  }
  [[nodiscard]] hundredths up(wide value, wide range) const noexcept {
    return bottom() - place_on(value, range, height_);
  }

  void axes(axis const& x, axis const& y, bool y_runs_down) {
    svg_path grid;
    svg_path frame;
    std::string labels;
    labels.swap(text_);
    wide const longest = digits_of(x.most / x.in.unit).size();
    wide const fit = wide(right - left) / 100 / (7 * longest + 24);
    text_ = "<g class=\"x-axis\">\n";
    auto const ticks = ticks_to(x.most, fit < 10 ? fit : 10, x.in.unit);
    auto const half = [](tick const& at) { return 350 * hundredths(at.label.size()); };
    hundredths const last =
        (std::min)(right, width - 200 - half(ticks.back()));  // keeps a long label on the page
    for (tick const& at : ticks) {
      bool const is_last = &at == &ticks.back();
      hundredths const here = across(at.at, x.most);
      if (!is_last && here + half(at) + 600 > last - half(ticks.back())) continue;
      grid.move(here, top()).down(bottom());
      frame.move(here, bottom()).down(bottom() + 500);
      write("", "middle", is_last && x.most > 0 ? last : here, bottom() + 1'900, at.label);
    }
    write("", "middle", (left + right) / 2, bottom() + 3'900, x.name);
    text_ += "</g>\n<g class=\"y-axis\">\n";
    wide const lines = wide(height_) / 4'000;
    for (tick const& at : ticks_to(y.most, lines < 10 ? lines : 10, y.in.unit)) {
      hundredths const here = y_runs_down ? down(at.at, y.most) : up(at.at, y.most);
      grid.move(left, here).across(right);
      frame.move(left - 500, here).across(left);
      write("", "end", left - 900, here + 400, at.label);
    }
    std::string const middle = pixels((top() + bottom()) / 2);
    text_ += "<text transform=\"translate(20 " + middle + ") rotate(-90)\" text-anchor=\"middle\">" + xml_text(y.name) +
             "</text>\n</g>\n";
    labels.swap(text_);
    frame.move(left, top()).down(bottom()).across(right);
    draw("grid", grid);
    text_ += labels;
    draw("frame", frame);
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
  [[nodiscard]] std::string finish() && { return std::move(text_) + "</svg>\n"; }

 private:
  /// Puts the entries into rows as wide as the plot, with estimated widths of letters; the plot begins below them.
  [[nodiscard]] std::string lay_out(std::vector<legend_entry> const& legend) {
    std::string before;
    before.swap(text_);
    hundredths x = left, y = 6'800;
    for (auto const& entry : legend) {
      hundredths const wide_as = 2'200 + hundredths(entry.name.size()) * 670 + 1'600;
      if (x > left && x + wide_as > right) x = left, y += 2'000;
      draw(entry.kind, entry.sample(x, y), entry.kind == "save" ? 500 : entry.sample == line_sample ? 250 : 0);
      write("", "start", x + 2'200, y + 400, std::string{entry.name});
      x += wide_as;
    }
    top_ = y + 2'200;
    before.swap(text_);
    return before;
  }

  hundredths height_;
  hundredths top_ = 0;
  std::string text_;
};

}  // namespace cairn::detail
