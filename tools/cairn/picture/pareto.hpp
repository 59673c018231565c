// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file pareto.hpp  Time over memory for many plans, and what their memory is spent on.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/text/plan_text.hpp>

#include "breakdown.hpp"
#include "memory_axes.hpp"
#include "part_table.hpp"
#include "scale.hpp"
#include "svg_chart.hpp"
#include "words.hpp"

namespace picture {

/// Time over memory as an SVG; step calls over memory if times are unknown. An axis is logarithmic if its largest value
/// is at least ten times its smallest one.
/// \param title  title of the picture; by default it says what is shown
[[nodiscard]] inline std::string pareto_svg(std::vector<planned> const& front, std::string_view title = {}) {
  bool const timed = std::any_of(front.begin(), front.end(), [](planned const& plan) { return plan.cost.seconds > 0; });
  auto const height = [&](planned const& plan) {
    return timed ? picoseconds(plan.cost.seconds) : plan.cost.steps_run();
  };
  value_range bytes, heights;
  for (auto const& plan : front) bytes.take(plan.cost.memory_bytes), heights.take(height(plan));

  std::string const what = timed ? "Predicted time over memory" : "Step calls over memory";
  std::string const note =
      front.empty() ? "no plan" : with_separators(plan_text(front.front()) + " ... " + plan_text(front.back()));
  std::vector<legend_entry> const legend{
      {"plans, of which none is both smaller and faster than another", "save", dot_sample},
      {"the best within that memory", "held", line_sample}};
  svg_chart chart{title.empty() ? what : title, note, what + ": " + plural(front.size(), "plan") + ", " + note + ".",
                  32'000, legend};
  axis const x_axis = ranging(memory_axis(bytes.most), "memory", quantity::bytes, bytes.least),
             y_axis = timed ? ranging(time_axis(heights.most), "time", quantity::time, heights.least)
                            : ranging({"step calls", heights.most, {}}, "step calls", quantity::count, heights.least);
  chart.axes(x_axis, y_axis, false);
  svg_path line, dots;
  for (auto const& plan : front) {
    auto const x = chart.across(plan.cost.memory_bytes, x_axis), y = chart.up(height(plan), y_axis);
    if (line.empty()) line.move(x, y);
    else line.across(x).down(y);
    dots.move(x, y).dot();
  }
  if (!front.empty()) line.across(chart.right());
  chart.open_group("marks");
  chart.draw("held", line);
  chart.draw("save", dots, 500);
  chart.close_group();
  return std::move(chart).finish();
}

/// "revolve with 3 slots in memory": what `plan_text` begins with.
[[nodiscard]] inline std::string name_and_numbers(planned const& plan) {
  std::string const words = plan_text(plan);
  return words.substr(0, words.find(": "));
}

/// What the memory of each plan is spent on: states, adjoints, tapes, tables, and the caller's initial state. The sum
/// of a row is `cost.memory_bytes`. For `breakdown_svg`.   \throws overflow_error   beyond 2^63 - 1 bytes
[[nodiscard]] inline breakdown pareto_breakdown(std::vector<planned> const& front) {
  part_table table{"picture::pareto_breakdown", {"states", "adjoints", "tapes", "tables", "initial state"}};
  for (auto const& plan : front) {
    sweep_parts const& parts = plan.memory;
    table.add(name_and_numbers(plan), {parts.states, parts.adjoints, parts.tapes + parts.terms, parts.tables(),
                                       parts.initial + parts.params + parts.gradient});
  }
  auto of = table.made(breakdown_unit::bytes);
  of.across = "plan";
  return of;
}

}  // namespace picture
