// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file space_time.hpp  A schedule as a space-time diagram: steps across, actions downwards, one mark per action.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/action.hpp>

#include "drawn_loop.hpp"
#include "svg_chart.hpp"
#include "text_chart.hpp"
#include "words.hpp"

namespace picture {
[[nodiscard]] inline std::string space_time_svg_of(drawn_loop const& drawn, std::string_view title);
/// \pre the size was checked
[[nodiscard]] inline std::string space_time_text_of(drawn_loop const& drawn, int columns, int rows, glyphs set);

/// The schedule as an SVG: steps 0 .. n across, actions downwards. The marks: a line over the steps that are run or
/// reversed, a dot where a state is saved, a ring where one is loaded, a bar where one is dropped; a thin line while a
/// slot is full, a thicker one if it is not in memory.
/// \param title  title of the picture; by default it says what is shown
/// Cost: one walk, about 20 bytes per action. The bytes are the same on every machine; the picture refers to no fonts
/// or other files.
/// \throws invalid_plan   for more than `most_drawn_actions` actions
/// \throws invalid_schedule   if the plan cannot be obeyed
template <schedule Plan>
[[nodiscard]] std::string space_time_svg(Plan const& plan, std::string_view title = {}) {
  return space_time_svg_of(drawn_loop_of(plan, "picture::space_time_svg"), title);
}

/// The same picture for a terminal: lines of at most `columns` characters, at most `rows` of them for the actions and
/// some for words and axes. If there are more actions than rows, or more steps than columns, several share a cell, and
/// the picture says so.
/// \param columns  24 .. 1000   \param rows  1 .. 10000
/// \throws invalid_plan   for another size and for more than `most_drawn_actions` actions   \throws invalid_schedule
template <schedule Plan>
[[nodiscard]] std::string space_time_text(Plan const& plan, int columns = 80, int rows = 40,
                                          glyphs set = glyphs::utf8) {
  check_text_size("picture::space_time_text", columns, rows);
  return space_time_text_of(drawn_loop_of(plan, "picture::space_time_text"), columns, rows, set);
}

/// The actions between which a slot held something: from the one that filled it to the one that dropped it. It is drawn
/// at `twice_at` half steps.
struct slot_lifetime {
  content what = content::state;
  tier where = tier::memory;
  wide twice_at = 0;
  std::size_t born = 0, ended = 0;
};

/// The lifetimes in the order of the drops that end them. A tape is drawn in the middle of its steps. \pre the actions
/// were checked
[[nodiscard]] inline std::vector<slot_lifetime> slot_lifetimes(std::vector<action> const& actions) {
  std::map<std::pair<content, slot_index>, slot_lifetime> now;
  std::vector<slot_lifetime> all;
  for (std::size_t k = 0; k < actions.size(); ++k) {
    action const& a = actions[k];
    if (a.kind == action_kind::save) now[{content::state, a.slot}] = {a.what, a.where, 2 * wide(a.from), k, k};
    if (a.kind == action_kind::record)
      now[{content::tape, a.slot}] = {content::tape, a.where, wide(a.from) + wide(a.to), k, k};
    if (a.kind == action_kind::drop) {
      all.push_back(now[{a.what, a.slot}]);
      all.back().ended = k;
    }
  }
  return all;
}

/// Whether a state is kept outside memory.
[[nodiscard]] inline bool is_far(slot_lifetime const& life) noexcept {
  return life.what == content::state && life.where != tier::memory;
}

/// One path for each kind of action, and for the lifetimes of states and tapes.
class space_time_marks {
 public:
  space_time_marks(svg_chart const& chart, std::vector<action> const& actions, step_index steps, hundredths radius)
      : chart_{chart}, count_{actions.size()}, steps_{wide(steps)} {
    auto const lives = slot_lifetimes(actions);
    for (auto const& life : lives)
      (life.what == content::tape ? tapes
       : is_far(life)             ? far_states
                                  : states)
          .move(half(life.twice_at), row(life.born))
          .down(row(life.ended));
    std::size_t drops = 0;
    for (std::size_t k = 0; k < count_; ++k) {
      action const& a = actions[k];
      switch (a.kind) {
        case action_kind::advance:
          stretch(advance, a, k);
          break;
        case action_kind::turn:
          stretch(turn, a, k);
          break;
        case action_kind::record:
          stretch(record, a, k);
          break;
        case action_kind::reverse:
          reverse.move(at(a.to), row(k)).across(at(a.from));
          break;
        case action_kind::save:
          save.move(at(a.from), row(k)).dot();
          break;
        case action_kind::load:
          load.move(at(a.from), row(k)).ring(radius);
          break;
        case action_kind::drop:
          drop.move(half(lives[drops++].twice_at), row(k)).cap(radius + 100);
          break;
        case action_kind::done:
          break;
      }
    }
  }

  svg_path advance, turn, record, reverse, save, load, drop, states, far_states, tapes;

 private:
  [[nodiscard]] hundredths half(wide twice) const noexcept { return chart_.across(twice, 2 * steps_); }
  [[nodiscard]] hundredths at(step_index i) const noexcept { return half(2 * wide(i)); }
  [[nodiscard]] hundredths row(std::size_t k) const noexcept { return chart_.down(2 * wide(k) + 1, 2 * wide(count_)); }
  void stretch(svg_path& path, action const& a, std::size_t k) const { path.move(at(a.from), row(k)).across(at(a.to)); }

  svg_chart const& chart_;
  std::size_t count_;
  wide steps_;
};

/// The legend of a picture. \param elsewhere  whether a state is kept on a tier other than memory
[[nodiscard]] inline std::vector<legend_entry> space_time_legend(bool has_tapes, bool elsewhere) {
  std::vector<legend_entry> legend{{"advance", "advance", line_sample}, {"turn", "turn", line_sample}};
  if (has_tapes) legend.push_back({"record", "record", line_sample});
  legend.push_back({"reverse", "reverse", line_sample});
  legend.push_back({"save", "save", dot_sample});
  legend.push_back({"load", "load", ring_sample});
  legend.push_back({"drop", "drop", cap_sample});
  legend.push_back({"a state is kept", "state-life", pole_sample});
  if (elsewhere) legend.push_back({"on a slower tier", "far-life", pole_sample});
  if (has_tapes) legend.push_back({"a tape is kept", "tape-life", pole_sample});
  return legend;
}

inline std::string space_time_svg_of(drawn_loop const& drawn, std::string_view title) {
  auto const count = hundredths(drawn.actions.size());
  hundredths const height = std::clamp<hundredths>(320 * count, 20'000, 90'000);
  hundredths const row = height / std::max<hundredths>(count, 1);
  hundredths const line = std::clamp<hundredths>(row * 7 / 10, 60, 400),
                   thin = std::clamp<hundredths>(row / 2, 40, 130);
  hundredths const radius = std::clamp<hundredths>(row * 9 / 10, 60, 300);
  auto const lives = slot_lifetimes(drawn.actions);
  auto const legend = space_time_legend(drawn.has_tapes, std::any_of(lives.begin(), lives.end(), is_far));

  std::string const what = "Schedule of " + drawn.words, size = with_separators(plural(drawn.actions.size(), "action"));
  svg_chart chart{title.empty() ? what : title,
                  title.empty() ? size + ", one mark each; time goes down" : drawn.words + ": " + size,
                  what + ", " + size + ". Across: steps; down: actions in the order of time.", height, legend};
  chart.axes({"step", wide(drawn.steps), {}}, {"action", drawn.actions.size(), {}}, true);
  space_time_marks const marks{chart, drawn.actions, drawn.steps, radius};
  chart.open_group("marks");
  chart.draw("state-life", marks.states, thin);
  chart.draw("far-life", marks.far_states, 2 * thin);
  chart.draw("tape-life", marks.tapes, thin);
  chart.draw("advance", marks.advance, line);
  chart.draw("record", marks.record, line);
  chart.draw("turn", marks.turn, line);
  chart.draw("drop", marks.drop, thin);
  chart.draw("load", marks.load, thin);
  chart.draw("save", marks.save, 2 * radius);
  chart.draw("reverse", marks.reverse, line);  // last: in a long schedule they show the progress of the sweep
  chart.close_group();
  return std::move(chart).finish();
}

/// Marks of the picture for a terminal; if two marks share a cell, the one that comes later in this list is shown.
enum space_time_rank : unsigned char {
  rank_kept = 1,
  rank_kept_far,
  rank_advance,
  rank_record,
  rank_turn,
  rank_drop,
  rank_load,
  rank_save,
  rank_reverse
};

/// Puts the lifetimes of slots and the actions into the cells.
/// \param column  the column for twice a step number
template <class Column>
void put_marks(text_chart& chart, std::size_t height, drawn_loop const& drawn, std::vector<slot_lifetime> const& lives,
               Column const& column) {
  auto const at = [&](step_index i) { return column(2 * wide(i)); };
  auto const row = [&](std::size_t k) { return k * height / drawn.actions.size(); };
  auto const line = [&](std::size_t k, step_index from, step_index to, unsigned char rank) {
    for (std::size_t x = at(from); x <= at(to); ++x) chart.put(row(k), x, rank);
  };
  for (auto const& life : lives)
    for (std::size_t y = row(life.born); y <= row(life.ended); ++y)
      chart.put(y, column(life.twice_at), is_far(life) ? rank_kept_far : rank_kept);
  std::size_t drops = 0;
  for (std::size_t k = 0; k < drawn.actions.size(); ++k) {
    action const& a = drawn.actions[k];
    switch (a.kind) {
      case action_kind::advance:
        line(k, a.from, a.to, rank_advance);
        break;
      case action_kind::record:
        line(k, a.from, a.to, rank_record);
        break;
      case action_kind::turn:
        line(k, a.from, a.to, rank_turn);
        break;
      case action_kind::reverse:
        line(k, a.from, a.to, rank_reverse);
        break;
      case action_kind::save:
        chart.put(row(k), at(a.from), rank_save);
        break;
      case action_kind::load:
        chart.put(row(k), at(a.from), rank_load);
        break;
      case action_kind::drop:
        chart.put(row(k), column(lives[drops++].twice_at), rank_drop);
        break;
      case action_kind::done:
        break;
    }
  }
}

/// The legend of the picture for a terminal.
[[nodiscard]] inline std::vector<std::string> space_time_key(text_chart const& chart, bool has_tapes, bool elsewhere) {
  std::vector<std::string> key;
  auto const explain = [&](unsigned char rank, char const* name) { key.push_back(chart.mark(rank) + " " + name); };
  explain(rank_reverse, "reverse");
  explain(rank_save, "save");
  explain(rank_load, "load");
  explain(rank_drop, "drop");
  explain(rank_turn, "turn");
  if (has_tapes) explain(rank_record, "record");
  explain(rank_advance, "advance");
  explain(rank_kept, "kept");
  if (elsewhere) explain(rank_kept_far, "kept on a slower tier");
  return key;
}

inline std::string space_time_text_of(drawn_loop const& drawn, int columns, int rows, glyphs set) {
  auto const lives = slot_lifetimes(drawn.actions);
  std::size_t const count = drawn.actions.size(),
                    height = std::max<std::size_t>(1, (std::min)(count, std::size_t(rows)));
  text_chart chart{std::size_t(columns),
                   height,
                   std::max<std::size_t>(grouped(count).size(), 6) + 1,
                   set,
                   {{" ", " "},
                    {"┊", ":"},
                    {"║", "|"},
                    {"─", "-"},
                    {"━", "="},
                    {"═", "~"},
                    {"×", "x"},
                    {"○", "o"},
                    {"●", "*"},
                    {"◄", "<"}}};
  wide const steps = wide(drawn.steps);
  auto const column = [&](wide twice) {
    return std::size_t(place_on(twice, 2 * steps, std::int64_t(chart.width()) - 1));
  };
  put_marks(chart, height, drawn, lives, column);
  wide const step = tick_step(count, std::max<std::size_t>(height / 4, 1));
  for (wide k = 0; k < count; k += step) chart.label(std::size_t(k) * height / count, grouped(k));

  std::string words =
      "Schedule of " + drawn.words + ": " + with_separators(plural(count, "action")) + ", time goes down.";
  if (count > height)
    words += " Downsampled: a row stands for up to " + grouped((count + height - 1) / height) + " actions.";
  if (steps >= chart.width())
    words += " Downsampled: a column stands for up to " + grouped((steps + chart.width() - 2) / (chart.width() - 1)) +
             " steps.";
  auto const key = space_time_key(chart, drawn.has_tapes, std::any_of(lives.begin(), lives.end(), is_far));
  return wrapped(words, std::size_t(columns)) + flowed(key, "  ", std::size_t(columns)) + "action\n" +
         chart.drawn(
             ticks_to(steps, 10), [&](tick const& tick) { return column(2 * tick.at); }, "step");
}

}  // namespace picture
