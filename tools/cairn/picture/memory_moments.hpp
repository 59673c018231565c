// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_moments.hpp  The picture of memory over time that plans for chains and for graphs share.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/wide.hpp>
#include <cairn/plan/text/memory_over_time.hpp>

#include "memory_axes.hpp"
#include "svg_chart.hpp"

namespace picture {

/// The words of a picture: `what` the picture shows is its heading unless there is a title.
struct memory_words {
  std::string what, peak, standing, beside;
  std::string_view title;
};

/// A line for what is held, an area for what exists before each action, and the peak. Actions that take no time are
/// vertical; if none takes time, all are drawn equally wide. \pre there is a moment
[[nodiscard]] inline std::string moments_svg(memory_over_time const& curve, memory_words const& words) {
  auto moments = curve.moments;
  std::size_t const summit = curve.summit;
  bool const timed = moments.back().end > 0;
  if (!timed)
    for (std::size_t k = 0; k < moments.size(); ++k) moments[k].begin = k, moments[k].end = k + 1;
  wide const all = moments.back().end, most = wide(moments[summit].held);
  std::vector<legend_entry> const legend{
      {"all that is held", "held", line_sample}, {words.standing, "kept", area_sample}, {"peak", "peak", line_sample}};
  std::string const what = with_separators(words.what), peak = with_separators(words.peak);
  svg_chart chart{words.title.empty() ? what : words.title, peak,
                  what + ": " + peak + ". Across: time; up: what is held beside " + words.beside + ".", 32'000, legend};
  chart.axes(count_axis(timed ? "time" : "action", all), memory_axis(most), false);
  svg_path held, kept;
  held.move(chart.across(0, all), chart.bottom());
  kept.move(chart.across(0, all), chart.bottom());
  hundredths x = chart.across(0, all), held_at = chart.bottom(), kept_at = chart.bottom();
  auto const level = [](svg_path& path, hundredths& last, hundredths to) {
    if (to != last) path.down(last = to);
  };
  for (auto const& at : moments) {
    hundredths const high = chart.up(wide(at.held), most);
    if (at.end > at.begin || high < held_at) level(held, held_at, high);  // actions without duration show only as peaks
    if (at.end > at.begin) level(kept, kept_at, chart.up(wide(at.standing), most));
    if (hundredths const end = chart.across(at.end, all); end != x) {
      x = end;
      held.across(x);
      kept.across(x);
    }
  }
  kept.down(chart.bottom()).close();
  hundredths const top = chart.up(most, most);
  chart.open_group("marks");
  chart.draw("kept", kept);
  chart.draw("held", held, moments.size() > 1'000 ? 80 : 0);
  chart.draw("peak", svg_path{}.move(chart.left(), top).across(chart.right()));
  chart.draw("summit",
             svg_path{}.move(chart.across(moments[summit].begin + moments[summit].end, 2 * all), top).ring(350));
  chart.close_group();
  return std::move(chart).finish();
}

}  // namespace picture
