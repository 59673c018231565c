// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain.hpp  Pictures of plans for chains: memory over time, and time over memory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/text/figure_text.hpp>
#include <cairn/plan/text/memory_over_time.hpp>
#include <cairn/rules/chain.hpp>

#include "checks.hpp"
#include "memory_axes.hpp"
#include "memory_moments.hpp"
#include "scale.hpp"
#include "svg_chart.hpp"
#include "words.hpp"

namespace picture {

/// Memory over time as an SVG: a line for all memory held, an area for the states and tapes that exist before each
/// action, and the peak. State 0 and its adjoint are not counted. Actions that take no time are vertical; if no action
/// takes time, all are drawn equally wide.
/// \param title  title of the picture; by default it says what is shown   \param elsewhere  tiers besides memory that
///   the plan saves to
/// \throws invalid_plan   for more than `most_drawn_actions` actions
/// \throws invalid_schedule, invalid_plan, overflow_error   as `replay`
[[nodiscard]] inline std::string chain_memory_svg(chain const& work, std::span<action const> actions,
                                                  std::string_view title = {},
                                                  std::span<chain_tier const> elsewhere = {});

/// Time over memory as an SVG: makespan over peak memory, a dot per plan, and the line below which no schedule of any
/// kind can be. An axis is logarithmic if its largest value is at least ten times its smallest one.
/// \param front  plans of one chain, from the smallest budget to the largest, as from `chain_planner::pareto`
/// \param title  title of the picture; by default it says what is shown
/// \param beside  bytes that are added to each memory, such as those of state 0
[[nodiscard]] inline std::string chain_pareto_svg(std::span<chain_plan const> front, std::string_view title = {},
                                                  std::int64_t beside = 0);

[[nodiscard]] inline std::string chain_action_words(action const& a, step_index stages) {
  using enum action_kind;
  std::string const number = digits_of(wide(a.from));
  switch (a.kind) {
    case advance:
      return "the run of stage " + number;
    case record:
      return "the recorded run of stage " + number;
    case turn:
      return "the loss";
    case reverse:
      return "the adjoint of stage " + number;
    default:
      return "state " + number + " of " + digits_of(wide(stages));
  }
}

inline std::string chain_memory_svg(chain const& work, std::span<action const> actions, std::string_view title,
                                    std::span<chain_tier const> elsewhere) {
  check_drawn_actions("picture::chain_memory_svg", actions,
                      "draw a shorter chain of the same kind, or a larger budget");
  auto const curve = chain_memory_over(work, actions, elsewhere);
  return moments_svg(curve, {"Memory of a plan for a chain of " + plural(wide(work.stages()), "stage"),
                             "peak " + exact_bytes_text(curve.peak) + " in " +
                                 chain_action_words(actions[curve.summit], work.stages()),
                             "states and tapes that stand", "state 0", title});
}

inline std::string chain_pareto_svg(std::span<chain_plan const> front, std::string_view title, std::int64_t beside) {
  auto const memory = [&](std::int64_t bytes) { return wide(bytes) + wide(beside); };
  value_range bytes, times;
  for (auto const& plan : front) {
    bytes.take(memory(plan.cost.peak));
    times.take(wide(plan.cost.makespan));
    times.take(wide(plan.proof.lower_bound_time));
  }
  std::string note = "no plan";
  if (!front.empty()) {
    auto const part = [&](chain_plan const& plan) {
      return number_text(plan.slowdown()) + " times store-all's time in " + bytes_text(memory(plan.cost.peak));
    };
    note =
        with_separators(plural(front.size(), "plan")) + ", from " + part(front.front()) + " to " + part(front.back());
  }
  std::string const what = "Makespan over memory";
  std::vector<legend_entry> const legend{{"plans", "save", dot_sample},
                                         {"the fastest of them within that memory", "held", line_sample},
                                         {"no schedule is below", "peak", line_sample}};
  svg_chart chart{title.empty() ? what : title, note, what + ": " + note + ".", 32'000, legend};
  auto const x_axis = ranging(memory_axis(bytes.most), "memory", quantity::bytes, bytes.least);
  auto const y_axis = ranging(count_axis("makespan", times.most), "makespan", quantity::count, times.least);
  chart.axes(x_axis, y_axis, false);
  svg_path line, dots, bound;
  for (auto const& plan : front) {
    auto const x = chart.across(memory(plan.cost.peak), x_axis), y = chart.up(wide(plan.cost.makespan), y_axis);
    if (line.empty()) line.move(x, y);
    else line.across(x).down(y);
    dots.move(x, y).dot();
    // A bound for one budget holds for all smaller budgets, too.
    auto const until = chart.across((std::min)(memory(plan.budget), bytes.most), x_axis),
               low = chart.up(wide(plan.proof.lower_bound_time), y_axis);
    if (bound.empty()) bound.move(x, low);
    else bound.down(low);
    bound.across(until);
  }
  if (!front.empty()) line.across(chart.right());
  chart.open_group("marks");
  chart.draw("held", line);
  chart.draw("peak", bound);
  chart.draw("save", dots, 500);
  chart.close_group();
  return std::move(chart).finish();
}

}  // namespace picture
