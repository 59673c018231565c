// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file space_time.hpp  A schedule as a space-time diagram: steps across, actions downwards, one mark per action.
#include <string>
#include <string_view>
#include <cairn/core/action.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/text/detail/drawn_actions.hpp>
#include <cairn/plan/text/glyphs.hpp>

namespace cairn {
namespace detail {

[[nodiscard]] CAIRN_DECL std::string space_time_svg_of(drawn_loop const& drawn, std::string_view title);
/// \pre the size was checked
[[nodiscard]] CAIRN_DECL std::string space_time_text_of(drawn_loop const& drawn, int columns, int rows, glyphs set);

}  // namespace detail

/// The schedule as an SVG: steps 0 .. n across, actions downwards. The marks: a line over the steps that are run or
/// reversed, a dot where a state is saved, a ring where one is loaded, a bar where one is dropped; a thin line while a
/// slot is full, a thicker one if it is not in memory.
/// \param title  title of the picture; by default it says what is shown
/// Cost: one walk, about 20 bytes per action. The bytes are the same on every machine; the picture refers to no fonts
/// or other files.
/// \throws invalid_plan   for more than `most_drawn_actions` actions
/// \throws invalid_schedule   if the plan cannot be obeyed
template <class Schedule>
[[nodiscard]] std::string space_time_svg(Schedule const& plan, std::string_view title = {}) {
  if constexpr (!detail::check_drawn<Schedule>()) return {};
  else return detail::space_time_svg_of(detail::drawn_loop_of(plan, "cairn::space_time_svg"), title);
}

/// The same picture for a terminal: lines of at most `columns` characters, at most `rows` of them for the actions and
/// some for words and axes. If there are more actions than rows, or more steps than columns, several share a cell, and
/// the picture says so.
/// \param columns  24 .. 1000   \param rows  1 .. 10000
/// \throws invalid_plan   for another size and for more than `most_drawn_actions` actions   \throws invalid_schedule
template <class Schedule>
[[nodiscard]] std::string space_time_text(Schedule const& plan, int columns = 80, int rows = 40,
                                          glyphs set = glyphs::utf8) {
  if constexpr (!detail::check_drawn<Schedule>()) return {};
  else {
    detail::check_text_size("cairn::space_time_text", columns, rows);
    return detail::space_time_text_of(detail::drawn_loop_of(plan, "cairn::space_time_text"), columns, rows, set);
  }
}

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/space_time.ipp>
#endif
