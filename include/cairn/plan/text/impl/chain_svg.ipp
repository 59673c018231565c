#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <cairn/plan/text/chain_svg.hpp>
#include <cairn/core/chain.hpp>
#include <cairn/core/detail/chain_walk.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/replay.hpp>
#include <cairn/plan/text/chain_text.hpp>
#include <cairn/plan/text/detail/memory_axes.hpp>
#include <cairn/plan/text/detail/quantities.hpp>
#include <cairn/plan/text/detail/plan_words.hpp>
#include <cairn/plan/text/detail/svg_chart.hpp>
#include <cairn/plan/text/drawn_actions.hpp>
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

CAIRN_DECL std::string chain_memory_svg(chain const& work, std::span<action const> actions, std::string_view title,
                                        std::span<chain_tier const> elsewhere) {
  if (actions.size() > most_drawn_actions)
    throw invalid_plan{"cairn::chain_memory_svg",
                       "too many actions for a picture",
                       {{"actions", actions.size()}, {"most actions drawn", most_drawn_actions}},
                       "draw a shorter chain of the same kind, or a larger budget"};
  chain_memory curve = chain_memory_over(work, actions, elsewhere);
  bool const timed = curve.moments.back().end > 0;
  if (!timed)
    for (std::size_t k = 0; k < curve.moments.size(); ++k) curve.moments[k].begin = k, curve.moments[k].end = k + 1;
  wide const all = curve.moments.back().end, most = wide(curve.peak);
  std::string const what = "Memory of a plan for a chain of " + detail::plural(wide(work.stages()), "stage");
  std::string const peak = "peak " + exact_bytes_text(curve.peak) + " in " +
                           detail::chain_action_words(actions[curve.summit], work.stages());
  std::vector<detail::legend_entry> const legend{{"all that is held", "held", detail::line_sample},
                                                 {"states and tapes that stand", "kept", detail::area_sample},
                                                 {"peak", "peak", detail::line_sample}};
  detail::svg_chart chart{title.empty() ? what : title, peak,
                          what + ": " + peak + ". Across: time; up: what is held beside state 0.", 32'000, legend};
  chart.axes(detail::count_axis(timed ? "time" : "action", all), detail::memory_axis(most), false);

  detail::svg_path held, kept;
  held.move(chart.across(0, all), chart.bottom());
  kept.move(chart.across(0, all), chart.bottom());
  detail::hundredths x = chart.across(0, all), held_at = chart.bottom(), kept_at = chart.bottom();
  auto const level = [](detail::svg_path& path, detail::hundredths& last, detail::hundredths now) {
    if (now != last) path.down(last = now);
  };
  for (chain_moment const& at : curve.moments) {
    detail::hundredths const high = chart.up(wide(at.held), most);
    if (at.end > at.begin || high < held_at) level(held, held_at, high);  // actions without duration show only as peaks
    if (at.end > at.begin) level(kept, kept_at, chart.up(wide(at.standing), most));
    if (detail::hundredths const end = chart.across(at.end, all); end != x) {
      x = end;
      held.across(x);
      kept.across(x);
    }
  }
  kept.down(chart.bottom()).close();
  chain_moment const& summit = curve.moments[curve.summit];
  detail::hundredths const top = chart.up(most, most);
  chart.open_group("marks");
  chart.draw("kept", kept);
  chart.draw("held", held, curve.moments.size() > 1'000 ? 80 : 0);
  chart.draw("peak", detail::svg_path{}.move(detail::svg_chart::left, top).across(detail::svg_chart::right));
  chart.draw("summit", detail::svg_path{}.move(chart.across(summit.begin + summit.end, 2 * all), top).ring(350));
  chart.close_group();
  return std::move(chart).finish();
}

CAIRN_DECL std::string chain_pareto_svg(std::span<chain_plan const> front, std::string_view title,
                                        std::int64_t beside) {
  wide most_bytes = 0, most = 0;
  auto const memory = [&](std::int64_t bytes) { return wide(bytes) + wide(beside); };
  for (auto const& plan : front)
    most_bytes = (std::max)({most_bytes, memory(plan.cost.peak)}), most = (std::max)(most, wide(plan.cost.makespan));
  std::string note = "no plan";
  if (!front.empty()) {
    auto const part = [&](chain_plan const& plan) {
      return detail::number_text(plan.slowdown()) + " times store-all's time in " +
             detail::bytes_text(memory(plan.cost.peak));
    };
    note = detail::plural(front.size(), "plan") + ", from " + part(front.front()) + " to " + part(front.back());
  }
  std::string const what = "Makespan over memory";
  std::vector<detail::legend_entry> const legend{
      {"plans", "save", detail::dot_sample},
      {"the fastest of them within that memory", "held", detail::line_sample},
      {"no schedule is below", "peak", detail::line_sample}};
  detail::svg_chart chart{title.empty() ? what : title, note, what + ": " + note + ".", 32'000, legend};
  chart.axes(detail::memory_axis(most_bytes), detail::count_axis("makespan", most), false);
  detail::svg_path line, dots, bound;
  for (auto const& plan : front) {
    auto const x = chart.across(memory(plan.cost.peak), most_bytes), y = chart.up(wide(plan.cost.makespan), most);
    if (line.empty()) line.move(x, y);
    else line.across(x).down(y);
    dots.move(x, y).dot();
    // A bound for one budget holds for all smaller budgets, too.
    auto const until = chart.across((std::min)(memory(plan.budget), most_bytes), most_bytes),
               low = chart.up(wide(plan.proof.lower_bound_time), most);
    if (bound.empty()) bound.move(x, low);
    else bound.down(low);
    bound.across(until);
  }
  if (!front.empty()) line.across(detail::svg_chart::right);
  chart.open_group("marks");
  chart.draw("held", line);
  chart.draw("peak", bound);
  chart.draw("save", dots, 500);
  chart.close_group();
  return std::move(chart).finish();
}

}  // namespace cairn
