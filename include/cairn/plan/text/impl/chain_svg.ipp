// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <cairn/core/chain.hpp>
#include <cairn/core/detail/chain_walk.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/text/chain_svg.hpp>
#include <cairn/plan/text/chain_text.hpp>
#include <cairn/plan/text/detail/memory_axes.hpp>
#include <cairn/plan/text/detail/memory_moments.hpp>
#include <cairn/plan/text/detail/picture_checks.hpp>
#include <cairn/plan/text/detail/plan_words.hpp>
#include <cairn/plan/text/detail/quantities.hpp>
#include <cairn/plan/text/detail/scale.hpp>
#include <cairn/plan/text/detail/svg_chart.hpp>
#include <cairn/plan/text/figure_text.hpp>

namespace cairn {
namespace detail {

[[nodiscard]] inline std::string chain_action_words(action const& a, step_index stages) {
  using enum action_kind;
  std::string const number = digits_of(wide(a.from));
  switch (a.kind) {
    case advance: return "the run of stage " + number;
    case record: return "the recorded run of stage " + number;
    case turn: return "the loss";
    case reverse: return "the adjoint of stage " + number;
    default: return "state " + number + " of " + digits_of(wide(stages));
  }
}

}  // namespace detail

CAIRN_DECL chain_memory chain_memory_over(chain const& work, std::span<action const> actions,
                                          std::span<chain_tier const> elsewhere) {
  using enum action_kind;
  constexpr char const* who = "cairn::chain_memory_over";
  detail::chain_model const model{work, who};
  detail::chain_interpreter player{model, elsewhere, who};
  auto const time_there = [&](action const& a) {
    for (auto const& place : elsewhere)
      if (auto const& times = a.kind == save ? place.write : place.read; place.where == a.where && !times.empty())
        return times[std::size_t(a.from)];
    return std::int64_t{0};
  };
  chain_memory curve;
  wide now = 0;
  std::int64_t adjoint = 0;
  for (action const& a : actions) {
    chain_moment at{.begin = now, .standing = player.live() - adjoint};
    std::int64_t const before = player.live();
    player.obey(a);  // refuses stages that do not exist
    std::size_t const i = std::size_t(a.from);
    bool const runs = detail::runs_stage(a), reverses = a.kind == turn || a.kind == reverse;
    at.held =
        (std::max)({before, player.live(), runs ? player.live() + model.f[i] : 0, reverses ? before + model.b[i] : 0});
    if (reverses) adjoint = i > 0 ? model.g[i] : 0;
    std::int64_t const time = runs                               ? model.u[i]
                              : reverses                         ? model.v[i]
                              : a.kind == save || a.kind == load ? time_there(a)
                                                                 : 0;
    at.end = now += wide(time);
    if (at.held > curve.peak) curve.peak = at.held, curve.summit = curve.moments.size();
    curve.moments.push_back(at);
  }
  (void)player.finish();
  return curve;
}

CAIRN_DECL std::vector<memory_sample> samples_of(chain_memory const& curve) {
  std::vector<memory_sample> samples;
  samples.reserve(curve.moments.size());
  for (auto const& at : curve.moments) samples.push_back({std::int64_t(at.begin), std::int64_t(at.end), at.held});
  return samples;
}

CAIRN_DECL std::string chain_memory_svg(chain const& work, std::span<action const> actions, std::string_view title,
                                        std::span<chain_tier const> elsewhere) {
  detail::check_drawn_actions("cairn::chain_memory_svg", actions,
                              "draw a shorter chain of the same kind, or a larger budget");
  chain_memory const curve = chain_memory_over(work, actions, elsewhere);
  std::vector<detail::memory_moment> moments;
  for (auto const& at : curve.moments) moments.push_back({at.begin, at.end, at.held, at.standing});
  return detail::moments_svg(std::move(moments), curve.summit,
                             {"Memory of a plan for a chain of " + detail::plural(wide(work.stages()), "stage"),
                              "peak " + exact_bytes_text(curve.peak) + " in " +
                                  detail::chain_action_words(actions[curve.summit], work.stages()),
                              "states and tapes that stand", "state 0", title});
}

CAIRN_DECL std::string chain_pareto_svg(std::span<chain_plan const> front, std::string_view title,
                                        std::int64_t beside) {
  auto const memory = [&](std::int64_t bytes) { return wide(bytes) + wide(beside); };
  detail::value_range bytes, times;
  for (auto const& plan : front) {
    bytes.take(memory(plan.cost.peak));
    times.take(wide(plan.cost.makespan));
    times.take(wide(plan.proof.lower_bound_time));
  }
  std::string note = "no plan";
  if (!front.empty()) {
    auto const part = [&](chain_plan const& plan) {
      return detail::number_text(plan.slowdown()) + " times store-all's time in " +
             detail::bytes_text(memory(plan.cost.peak));
    };
    note = detail::with_separators(detail::plural(front.size(), "plan")) + ", from " + part(front.front()) + " to " +
           part(front.back());
  }
  std::string const what = "Makespan over memory";
  std::vector<detail::legend_entry> const legend{
      {"plans", "save", detail::dot_sample},
      {"the fastest of them within that memory", "held", detail::line_sample},
      {"no schedule is below", "peak", detail::line_sample}};
  detail::svg_chart chart{title.empty() ? what : title, note, what + ": " + note + ".", 32'000, legend};
  auto const x_axis = ranging(detail::memory_axis(bytes.most), "memory", detail::quantity::bytes, bytes.least);
  auto const y_axis =
      ranging(detail::count_axis("makespan", times.most), "makespan", detail::quantity::count, times.least);
  chart.axes(x_axis, y_axis, false);
  detail::svg_path line, dots, bound;
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

}  // namespace cairn
