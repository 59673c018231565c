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
#include <cairn/plan/text/detail/plan_words.hpp>
#include <cairn/plan/text/detail/svg_chart.hpp>
#include <cairn/plan/text/drawn_actions.hpp>
#include <cairn/plan/text/text_chart.hpp>

namespace cairn {
namespace detail {

/// How long a slot held something: from the action that filled it to the one that dropped it. Drawn at `twice_at` half
/// steps.
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
        case action_kind::advance: stretch(advance, a, k); break;
        case action_kind::turn: stretch(turn, a, k); break;
        case action_kind::record: stretch(record, a, k); break;
        case action_kind::reverse: reverse.move(at(a.to), row(k)).across(at(a.from)); break;
        case action_kind::save: save.move(at(a.from), row(k)).dot(); break;
        case action_kind::load: load.move(at(a.from), row(k)).ring(radius); break;
        case action_kind::drop: drop.move(half(lives[drops++].twice_at), row(k)).cap(radius + 100); break;
        case action_kind::done: break;
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
  static_assert(schedule<Schedule>, "cairn: a picture is drawn of a schedule, for example cairn::revolve{n, slots}");
  auto const actions = detail::drawn_actions(plan, "cairn::space_time_svg");
  auto const count = detail::hundredths(actions.size());
  detail::hundredths const height = std::clamp<detail::hundredths>(320 * count, 20'000, 90'000);
  detail::hundredths const row = height / std::max<detail::hundredths>(count, 1);
  detail::hundredths const line = std::clamp<detail::hundredths>(row * 7 / 10, 60, 400),
                           thin = std::clamp<detail::hundredths>(row / 2, 40, 130);
  detail::hundredths const radius = std::clamp<detail::hundredths>(row * 9 / 10, 60, 300);

  bool const has_tapes = tapes_of(plan) > 0;
  std::vector<detail::legend_entry> legend{{"advance", "advance", detail::line_sample},
                                           {"turn", "turn", detail::line_sample}};
  if (has_tapes) legend.push_back({"record", "record", detail::line_sample});
  legend.push_back({"reverse", "reverse", detail::line_sample});
  legend.push_back({"save", "save", detail::dot_sample});
  legend.push_back({"load", "load", detail::ring_sample});
  legend.push_back({"drop", "drop", detail::cap_sample});
  auto const lives = detail::slot_lifetimes(actions);
  legend.push_back({"a state is kept", "state-life", detail::pole_sample});
  if (std::any_of(lives.begin(), lives.end(), detail::is_far))
    legend.push_back({"on a slower tier", "far-life", detail::pole_sample});
  if (has_tapes) legend.push_back({"a tape is kept", "tape-life", detail::pole_sample});

  std::string const loop = detail::plan_words(plan), what = "Schedule of " + loop,
                    size = detail::plural(actions.size(), "action");
  detail::svg_chart chart{title.empty() ? what : title,
                          title.empty() ? size + ", one mark each; time goes down" : loop + ": " + size,
                          what + ", " + size + ". Across: steps; down: actions in the order of time.", height, legend};
  chart.axes({"step", wide(plan.steps()), {}}, {"action", actions.size(), {}}, true);
  detail::space_time_marks const marks{chart, actions, plan.steps(), radius};
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

/// The same picture for a terminal: lines of at most `columns` characters, at most `rows` of them for the actions and
/// some for words and axes. If there are more actions than rows, or more steps than columns, several share a cell, and
/// the picture says so.
/// \param columns  24 .. 1000   \param rows  1 .. 10000
/// \throws invalid_plan   for another size and for more than `most_drawn_actions` actions   \throws invalid_schedule
template <class Schedule>
[[nodiscard]] std::string space_time_text(Schedule const& plan, int columns = 80, int rows = 40,
                                          glyphs set = glyphs::utf8) {
  static_assert(schedule<Schedule>, "cairn: a picture is drawn of a schedule, for example cairn::revolve{n, slots}");
  detail::check_text_size("cairn::space_time_text", columns, rows);
  auto const actions = detail::drawn_actions(plan, "cairn::space_time_text");
  auto const lives = detail::slot_lifetimes(actions);
  std::size_t const count = actions.size(), height = std::max<std::size_t>(1, (std::min)(count, std::size_t(rows)));
  std::string const last = detail::digits_of(count);
  enum : unsigned char { kept = 1, kept_far, advance, record, turn, drop, load, save, reverse };
  detail::text_chart chart{std::size_t(columns),
                           height,
                           std::max<std::size_t>(last.size(), 6) + 1,
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

  wide const twice_steps = 2 * wide(plan.steps());
  auto const column = [&](wide twice) {
    return std::size_t(detail::place_on(twice, twice_steps, std::int64_t(chart.width()) - 1));
  };
  auto const at = [&](step_index i) { return column(2 * wide(i)); };
  auto const row = [&](std::size_t k) { return k * height / count; };
  auto const line = [&](std::size_t k, step_index from, step_index to, unsigned char rank) {
    for (std::size_t x = at(from); x <= at(to); ++x) chart.put(row(k), x, rank);
  };
  for (auto const& life : lives)
    for (std::size_t y = row(life.born); y <= row(life.ended); ++y)
      chart.put(y, column(life.twice_at), detail::is_far(life) ? kept_far : kept);
  std::size_t drops = 0;
  for (std::size_t k = 0; k < count; ++k) {
    action const& a = actions[k];
    switch (a.kind) {
      case action_kind::advance: line(k, a.from, a.to, advance); break;
      case action_kind::record: line(k, a.from, a.to, record); break;
      case action_kind::turn: line(k, a.from, a.to, turn); break;
      case action_kind::reverse: line(k, a.from, a.to, reverse); break;
      case action_kind::save: chart.put(row(k), at(a.from), save); break;
      case action_kind::load: chart.put(row(k), at(a.from), load); break;
      case action_kind::drop: chart.put(row(k), column(lives[drops++].twice_at), drop); break;
      case action_kind::done: break;
    }
  }
  wide const step = detail::tick_step(count, std::max<std::size_t>(height / 4, 1));
  for (wide k = 0; k < count; k += step) chart.label(row(std::size_t(k)), detail::digits_of(k));

  std::string words =
      "Schedule of " + detail::plan_words(plan) + ": " + detail::plural(count, "action") + ", time goes down.";
  if (count > height)
    words += " Downsampled: a row stands for up to " + detail::digits_of((count + height - 1) / height) + " actions.";
  if (wide(plan.steps()) >= chart.width())
    words += " Downsampled: a column stands for up to " +
             detail::digits_of((wide(plan.steps()) + chart.width() - 2) / (chart.width() - 1)) + " steps.";
  std::vector<std::string> key;
  auto const explain = [&](unsigned char rank, char const* name) { key.push_back(chart.mark(rank) + " " + name); };
  explain(reverse, "reverse");
  explain(save, "save");
  explain(load, "load");
  explain(drop, "drop");
  explain(turn, "turn");
  if (tapes_of(plan) > 0) explain(record, "record");
  explain(advance, "advance");
  explain(kept, "kept");
  if (std::any_of(lives.begin(), lives.end(), detail::is_far)) explain(kept_far, "kept on a slower tier");
  return detail::wrapped(words, std::size_t(columns)) + detail::flowed(key, "  ", std::size_t(columns)) + "action\n" +
         chart.drawn(
             detail::ticks_to(wide(plan.steps()), 10), [&](detail::tick const& tick) { return column(2 * tick.at); },
             "step");
}

}  // namespace cairn
