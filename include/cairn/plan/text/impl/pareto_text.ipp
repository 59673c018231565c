#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <cairn/plan/text/detail/planned_words.hpp>
#include <cairn/plan/text/detail/quantities.hpp>
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
  std::size_t width[3] = {};
  for (auto const& row : rows)
    for (std::size_t k = 0; k < 3; ++k) width[k] = (std::max)(width[k], row[k].size());
  std::string text;
  for (auto const& row : rows) {
    for (std::size_t k = 0; k < 3; ++k) text += std::string(width[k] - row[k].size(), ' ') + row[k] + "  ";
    text += row[3] + "\n";
  }
  return text;
}

CAIRN_DECL std::string pareto_svg(std::vector<planned> const& front, std::string_view title) {
  bool const timed = std::any_of(front.begin(), front.end(), detail::is_timed);
  double longest = 0;
  for (auto const& plan : front) longest = (std::max)(longest, plan.cost.seconds);
  // The unit is small enough for whole numbers of six digits or more, so that the axis is exact.
  double const tick = longest >= 4 ? 1e-6 : longest >= 4e-3 ? 1e-9 : 1e-12;
  detail::axis_unit const in{timed ? wide{1'000'000} : wide{1}, tick == 1e-6 ? "s" : tick == 1e-9 ? "ms" : "us"};
  auto const height = [&](planned const& plan) {
    return timed ? wide(plan.cost.seconds / tick + 0.5) : plan.cost.step_calls;
  };
  wide most_bytes = 0, most = 0;
  for (auto const& plan : front)
    most_bytes = (std::max)(most_bytes, plan.cost.memory_bytes), most = (std::max)(most, height(plan));
  detail::axis_unit const bytes = detail::byte_unit(most_bytes);

  std::string const what = timed ? "Predicted time over memory" : "Step calls over memory";
  std::string const note = front.empty() ? "no plan" : plan_text(front.front()) + " ... " + plan_text(front.back());
  std::vector<detail::legend_entry> const legend{
      {"plans, of which none is both smaller and faster than another", "save", detail::dot_sample},
      {"the best within that memory", "held", detail::line_sample}};
  detail::svg_chart chart{title.empty() ? what : title, note,
                          what + ": " + detail::plural(front.size(), "plan") + ", " + note + ".", 32'000, legend};
  chart.axes({"memory (" + bytes.name + ")", most_bytes, bytes},
             {timed ? "time (" + in.name + ")" : "step calls", most, timed ? in : detail::axis_unit{}}, false);
  detail::svg_path line, dots;
  for (auto const& plan : front) {
    auto const x = chart.across(plan.cost.memory_bytes, most_bytes), y = chart.up(height(plan), most);
    if (line.empty()) line.move(x, y);
    else line.across(x).down(y);
    dots.move(x, y).dot();
  }
  if (!front.empty()) line.across(detail::svg_chart::right);
  chart.open_group("marks");
  chart.draw("held", line);
  chart.draw("save", dots, 500);
  chart.close_group();
  return std::move(chart).finish();
}

}  // namespace cairn
