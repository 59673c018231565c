#pragma once
/// \file memory_curve.hpp  The memory of a sweep over its actions: in states, or in bytes if sizes are given.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/plan/loop/detail/frame_counter.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/plan/text/detail/plan_words.hpp>
#include <cairn/plan/text/detail/svg_chart.hpp>
#include <cairn/plan/text/drawn_actions.hpp>
#include <cairn/plan/text/text_chart.hpp>

namespace cairn {

/// What a sweep holds during each of its actions; the most at once if that changes during the action.
struct memory_curve {
  bool in_bytes = false;   ///< in bytes of everything that `cost::peak_bytes` counts; otherwise in states, including
                           ///< those in use
  std::vector<wide> held;  ///< one number per action
  std::vector<wide> kept;  ///< how much of `held` the checkpoints in slots take after the action
  wide peak = 0;           ///< the largest of `held`
  std::size_t summit = 0;  ///< index of the first action that holds the peak
};

namespace detail {

template <schedule Plan>
[[nodiscard]] memory_curve measured(Plan const& plan, workload const& work, char const* who) {
  auto const actions = drawn_actions(plan, who);
  sweep_sizes const sizes = sizes_of(work, plan.leaf());
  sweep_needs const needs = needs_of(plan, estimate(plan, work).counts, work);
  bool const tapes = needs.tapes > 0;  // frames keep their memory while tapes come and go
  memory_curve curve;
  curve.in_bytes = (sizes.state | sizes.initial | sizes.adjoint | sizes.tape) != 0;
  frame_counter counter{work.form, counted_plan_of(plan, work.form)};
  wide in_slots = 0;
  for (action const& a : actions) {
    counter.obey(a);
    if (a.kind == action_kind::save) ++in_slots;
    if (a.kind == action_kind::drop && a.what == content::state) --in_slots;
    curve.held.push_back(!curve.in_bytes ? wide(counter.standing())
                         : tapes
                             ? sweep_parts_of(needs, work.form, sizes, counter.peak(), counter.standing_tapes()).total()
                             : sweep_bytes(needs, work.form, sizes, counter.standing()));
    curve.kept.push_back(curve.in_bytes ? in_slots * sizes.state : in_slots);
    if (curve.held.back() > curve.peak) {
      curve.peak = curve.held.back();
      curve.summit = curve.held.size() - 1;
    }
  }
  return curve;
}

[[nodiscard]] inline std::string amount(memory_curve const& curve) {
  if (!curve.in_bytes) return plural(curve.peak, "state");
  std::string const exact = plural(curve.peak, "byte");
  return curve.peak < 1024 ? exact : exact + " (" + to_short_text(curve.peak).c_str() + ")";
}
[[nodiscard]] inline std::string peak_words(memory_curve const& curve) {
  return "peak " + amount(curve) + ", first at action " + digits_of(curve.summit) + " of " +
         digits_of(curve.held.size());
}
[[nodiscard]] inline axis memory_axis(memory_curve const& curve) {
  if (!curve.in_bytes) return {"states", curve.peak, {}};
  axis_unit const in = byte_unit(curve.peak);
  return {"memory (" + in.name + ")", curve.peak, in};
}

}  // namespace detail

/// The curve that the pictures show. Its peak is `estimate(plan, work).peak_bytes`, or its `peak_states` if the
/// workload has no sizes, provided that estimate is exact (`cost::peak_is_exact`); otherwise the curve is exact, and
/// the estimate may be one or two states higher. Cost: one walk, and one `estimate`; 32 bytes per action.
/// \throws invalid_plan   for more than `most_drawn_actions` actions, and as `estimate`
/// \throws invalid_schedule, overflow_error
template <class Schedule>
[[nodiscard]] memory_curve memory_over(Schedule const& plan, workload const& work = {}) {
  static_assert(schedule<Schedule>, "cairn: a picture is drawn of a schedule, for example cairn::revolve{n, slots}");
  return detail::measured(plan, work, "cairn::memory_over");
}

/// Memory over actions as an SVG: a line for all memory held, an area for the checkpoints in it, and the peak. In bytes
/// if `work` has sizes, otherwise in states; for the exact values see `memory_over`.
/// \param title  title of the picture; by default it says what is shown
/// \throws invalid_plan   for more than `most_drawn_actions` actions, and as `estimate`
/// \throws invalid_schedule, overflow_error
template <class Schedule>
[[nodiscard]] std::string memory_svg(Schedule const& plan, workload const& work = {}, std::string_view title = {}) {
  static_assert(schedule<Schedule>, "cairn: a picture is drawn of a schedule, for example cairn::revolve{n, slots}");
  auto const curve = detail::measured(plan, work, "cairn::memory_svg");
  wide const count = curve.held.size();
  std::string const loop = detail::plan_words(plan), what = "Memory of a sweep over " + loop,
                    peak = detail::peak_words(curve);
  std::vector<detail::legend_entry> const legend{
      {curve.in_bytes ? "all that is held" : "all states", "held", detail::line_sample},
      {curve.in_bytes ? "checkpoints" : "states in slots", "kept", detail::area_sample},
      {"peak", "peak", detail::line_sample}};
  detail::svg_chart chart{title.empty() ? what : title, title.empty() ? peak : loop + ": " + peak,
                          what + ": " + peak + ". Across: actions in the order of time; up: what is held.", 32'000,
                          legend};
  chart.axes({"action", count, {}}, detail::memory_axis(curve), false);

  auto const steps = [&](std::vector<wide> const& values, detail::svg_path& path) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (k > 0 && values[k] == values[k - 1]) continue;
      if (k > 0) path.across(chart.across(k, count));
      path.down(chart.up(values[k], curve.peak));
    }
    path.across(detail::svg_chart::right);
  };
  detail::svg_path kept, held;
  steps(curve.kept, kept.move(chart.across(0, count), chart.bottom()));
  kept.down(chart.bottom()).close();
  steps(curve.held, held.move(chart.across(0, count), chart.bottom()));
  detail::hundredths const summit = chart.across(2 * wide(curve.summit) + 1, 2 * std::max<wide>(count, 1)),
                           top = chart.up(curve.peak, curve.peak);
  chart.open_group("marks");
  chart.draw("kept", kept);
  chart.draw("held", held, count > 1'000 ? 80 : 0);
  chart.draw("peak", detail::svg_path{}.move(detail::svg_chart::left, top).across(detail::svg_chart::right));
  chart.draw("summit", detail::svg_path{}.move(summit, top).ring(350));
  chart.close_group();
  return std::move(chart).finish();
}

/// The same picture for a terminal: lines of at most `columns` characters, at most `rows` of them for the curve and
/// some for words and axes. If there are more actions than columns, a column shows the most that its actions hold, and
/// the picture says so.
/// \param columns  24 .. 1000   \param rows  1 .. 10000
/// \throws invalid_plan   for another size, for more than `most_drawn_actions` actions, and as `estimate`
/// \throws invalid_schedule, overflow_error
template <class Schedule>
[[nodiscard]] std::string memory_text(Schedule const& plan, workload const& work = {}, int columns = 80, int rows = 20,
                                      glyphs set = glyphs::utf8) {
  static_assert(schedule<Schedule>, "cairn: a picture is drawn of a schedule, for example cairn::revolve{n, slots}");
  detail::check_text_size("cairn::memory_text", columns, rows);
  auto const curve = detail::measured(plan, work, "cairn::memory_text");
  detail::axis const y = detail::memory_axis(curve);
  auto const ticks = detail::ticks_to(curve.peak, std::max<wide>(wide(rows) / 3, 1), y.in.unit);
  std::size_t gutter = 1;
  for (auto const& tick : ticks) gutter = (std::max)(gutter, tick.label.size() + 1);
  // Each state has equally many rows.
  auto height = wide(rows);
  if (!curve.in_bytes && curve.peak > 0 && curve.peak < height) height -= height % curve.peak;
  enum : unsigned char { held = 1, kept };
  std::size_t const lines = std::size_t(height), count = curve.held.size();
  detail::text_chart chart{std::size_t(columns), lines, gutter, set, {{" ", " "}, {"░", "."}, {"█", "#"}}};

  std::size_t const width = chart.width();
  auto const fill = [&](std::size_t column, wide value, unsigned char rank) {
    wide const peak = std::max<wide>(curve.peak, 1);
    int const fold = int(peak >> 64 != 0) * 64;
    std::size_t const filled = std::size_t(((value >> fold) * height + (peak >> fold) - 1) / (peak >> fold));
    for (std::size_t k = 0; k < (std::min)(filled, lines); ++k) chart.put(lines - 1 - k, column, rank);
  };
  for (std::size_t column = 0; column < width && count > 0; ++column) {
    std::size_t const first = column * count / width, end = (std::max)(first + 1, (column + 1) * count / width);
    fill(column,
         *std::max_element(curve.held.begin() + std::ptrdiff_t(first), curve.held.begin() + std::ptrdiff_t(end)), held);
    fill(column,
         *std::max_element(curve.kept.begin() + std::ptrdiff_t(first), curve.kept.begin() + std::ptrdiff_t(end)), kept);
  }
  for (auto const& tick : ticks)
    if (tick.at > 0)
      chart.label(
          lines - std::max<std::size_t>(1, std::size_t(detail::place_on(tick.at, curve.peak, std::int64_t(lines)))),
          tick.label);

  std::string words = "Memory of a sweep over " + detail::plan_words(plan) + ": " + detail::peak_words(curve) + ".";
  if (count > width)
    words += " Downsampled: a column shows the most of up to " + detail::digits_of((count + width - 1) / width) +
             " actions.";
  std::vector<std::string> const key{chart.mark(held) + (curve.in_bytes ? " all that is held" : " all states"),
                                     chart.mark(kept) + (curve.in_bytes ? " checkpoints" : " states in slots")};
  auto const column_of = [&](detail::tick const& tick) {
    return std::size_t(detail::place_on(tick.at, count, std::int64_t(width) - 1));
  };
  return detail::wrapped(words, std::size_t(columns)) + detail::flowed(key, "  ", std::size_t(columns)) + y.name +
         "\n" + chart.drawn(detail::ticks_to(count, 10), column_of, "action");
}

}  // namespace cairn
