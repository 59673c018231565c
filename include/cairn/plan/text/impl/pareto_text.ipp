// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <cairn/plan/text/detail/aligned.hpp>
#include <cairn/plan/text/detail/memory_axes.hpp>
#include <cairn/plan/text/detail/part_table.hpp>
#include <cairn/plan/text/detail/planned_words.hpp>
#include <cairn/plan/text/detail/quantities.hpp>
#include <cairn/plan/text/detail/scale.hpp>
#include <cairn/plan/text/detail/svg_chart.hpp>
#include <cairn/plan/text/pareto_text.hpp>
#include <cairn/plan/text/plan_text.hpp>

namespace cairn {

CAIRN_DECL std::string pareto_csv(std::vector<planned> const& front) {
  std::string text = "bytes,seconds,step_calls,least_step_calls,schedule,slots,far_bytes,leaf,period,units\n";
  for (auto const& plan : front) {
    wide elsewhere = 0;
    for (std::size_t k = 1; k < tier_count; ++k) elsewhere += plan.cost.tier_bytes[k];
    text += detail::digits_of(plan.cost.memory_bytes) + "," + detail::exact_text(plan.cost.seconds) + "," +
            detail::digits_of(plan.cost.step_calls) + "," + detail::digits_of(plan.proof.least_step_calls) + "," +
            name_of(plan.by) + "," + detail::digits_of(wide(plan.with.slots_said())) + "," +
            detail::digits_of(elsewhere) + "," + detail::digits_of(wide(plan.with.leaf)) + "," +
            detail::digits_of(wide(plan.with.period)) + "," + detail::digits_of(plan.with.units) + "\n";
  }
  return text;
}

CAIRN_DECL std::string pareto_text(std::vector<planned> const& front) {
  std::vector<std::vector<std::string>> rows{{"memory", "time", "calls/step", "plan"}};
  for (auto const& plan : front)
    rows.push_back({detail::bytes_text(plan.cost.memory_bytes),
                    detail::is_timed(plan) ? detail::seconds_text(plan.cost.seconds) : "-",
                    detail::number_text(plan.cost.forward_evaluations_per_step),
                    name_of(plan.by) + detail::parameter_words(plan)});
  return detail::aligned(rows);
}

CAIRN_DECL std::string pareto_svg(std::vector<planned> const& front, std::string_view title) {
  bool const timed = std::any_of(front.begin(), front.end(), detail::is_timed);
  auto const height = [&](planned const& plan) {
    return timed ? detail::picoseconds(plan.cost.seconds) : plan.cost.step_calls;
  };
  detail::value_range bytes, heights;
  for (auto const& plan : front) bytes.take(plan.cost.memory_bytes), heights.take(height(plan));

  std::string const what = timed ? "Predicted time over memory" : "Step calls over memory";
  std::string const note =
      front.empty() ? "no plan" : detail::with_separators(plan_text(front.front()) + " ... " + plan_text(front.back()));
  std::vector<detail::legend_entry> const legend{
      {"plans, of which none is both smaller and faster than another", "save", detail::dot_sample},
      {"the best within that memory", "held", detail::line_sample}};
  detail::svg_chart chart{title.empty() ? what : title, note,
                          what + ": " + detail::plural(front.size(), "plan") + ", " + note + ".", 32'000, legend};
  using detail::quantity;
  detail::axis const
      x_axis = ranging(detail::memory_axis(bytes.most), "memory", quantity::bytes, bytes.least),
      y_axis = timed ? ranging(detail::time_axis(heights.most), "time", quantity::time, heights.least)
                     : ranging({"step calls", heights.most, {}}, "step calls", quantity::count, heights.least);
  chart.axes(x_axis, y_axis, false);
  detail::svg_path line, dots;
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

CAIRN_DECL breakdown pareto_breakdown(std::vector<planned> const& front) {
  detail::part_table table{"cairn::pareto_breakdown", {"states", "adjoints", "tapes", "tables", "initial state"}};
  for (auto const& plan : front) {
    sweep_parts const& parts = plan.memory;
    table.add(name_of(plan.by) + detail::parameter_words(plan),
              {parts.states, parts.adjoints, parts.tapes + parts.terms, parts.tables(),
               parts.initial + parts.params + parts.gradient});
  }
  auto of = table.made(breakdown_unit::bytes);
  of.across = "plan";
  return of;
}

}  // namespace cairn
