// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_curve.hpp  The memory of a sweep over its actions: in states, or in bytes if sizes are given.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/memory_sample.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/plan/text/detail/curve_moments.hpp>
#include <cairn/plan/text/detail/drawn_actions.hpp>
#include <cairn/plan/text/glyphs.hpp>

namespace cairn {

/// Memory that a sweep holds during each of its actions; the most at once if it changes during the action.
struct memory_curve {
  bool in_bytes = false;   ///< in bytes of everything that `cost::peak_bytes` counts; otherwise in states, including
                           ///< those in use
  std::vector<wide> held;  ///< one number per action
  std::vector<wide> kept;  ///< how much of `held` the checkpoints in slots take after the action
  wide peak = 0;           ///< the largest of `held`
  std::size_t summit = 0;  ///< index of the first action that holds the peak
};

namespace detail {

[[nodiscard]] CAIRN_DECL memory_curve curve_of(std::vector<action> const& actions, curve_measures const& by);
template <schedule Plan>
[[nodiscard]] curve_measures measures_of(Plan const& plan, workload const& given) {
  workload const work = as_run(plan, given);
  return {counted_plan_of(plan, work.form), work.form, needs_of(plan, estimate(plan, work).counts, work),
          sizes_of(work, plan.leaf())};
}
template <schedule Plan>
[[nodiscard]] memory_curve measured(Plan const& plan, workload const& work, char const* who) {
  auto const actions = drawn_actions(plan, who);
  return curve_of(actions, measures_of(plan, work));
}

/// \param loop  the plan in a few words
[[nodiscard]] CAIRN_DECL std::string memory_svg_of(memory_curve const& curve, std::string const& loop,
                                                   std::string_view title);
/// \pre the size was checked
[[nodiscard]] CAIRN_DECL std::string memory_text_of(memory_curve const& curve, std::string const& loop, int columns,
                                                    int rows, glyphs set);

}  // namespace detail

/// The curve that the pictures show. Its peak is `estimate(plan, work).peak_bytes`, or its `peak_states` if the
/// workload has no sizes, provided that estimate is exact (`cost::peak_is_exact`); otherwise the curve is exact, and
/// the estimate may be up to three states higher. Cost: one walk, and one `estimate`; 32 bytes per action.
/// \throws invalid_plan   for more than `most_drawn_actions` actions, and as `estimate`
/// \throws invalid_schedule, overflow_error
template <class Schedule>
[[nodiscard]] memory_curve memory_over(Schedule const& plan, workload const& work = {}) {
  if constexpr (!detail::check_drawn<Schedule>()) return {};
  else return detail::measured(plan, work, "cairn::memory_over");
}

/// The curve as samples for `memory_lines_svg`, one for each action: to be drawn beside the samples of a run.
/// \throws overflow_error   beyond 2^63 - 1 bytes
[[nodiscard]] CAIRN_DECL std::vector<memory_sample> samples_of(memory_curve const& curve);

/// Memory over actions as an SVG: a line for all memory held, an area for the checkpoints in it, and the peak. In bytes
/// if `work` has sizes, otherwise in states; for the exact values see `memory_over`.
/// \param title  title of the picture; by default it says what is shown
/// \throws invalid_plan   for more than `most_drawn_actions` actions, and as `estimate`
/// \throws invalid_schedule, overflow_error
template <class Schedule>
[[nodiscard]] std::string memory_svg(Schedule const& plan, workload const& work = {}, std::string_view title = {}) {
  if constexpr (!detail::check_drawn<Schedule>()) return {};
  else
    return detail::memory_svg_of(detail::measured(plan, work, "cairn::memory_svg"), detail::plan_words(plan), title);
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
  if constexpr (!detail::check_drawn<Schedule>()) return {};
  else {
    detail::check_text_size("cairn::memory_text", columns, rows);
    return detail::memory_text_of(detail::measured(plan, work, "cairn::memory_text"), detail::plan_words(plan), columns,
                                  rows, set);
  }
}

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/memory_curve.ipp>
#endif
