// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>
#include "picture/memory.hpp"
#include "picture/space_time.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"
#include "support/svg.hpp"

using namespace cairn;
using namespace picture;
using Catch::Matchers::ContainsSubstring;
using namespace svg_text;

namespace {

std::string name_of(action_kind kind) {
  static char const* const names[] = {"advance", "save", "load", "drop", "record", "turn", "reverse"};
  return names[static_cast<std::size_t>(kind)];
}

bool is_line(action_kind kind) {
  return kind != action_kind::save && kind != action_kind::load && kind != action_kind::drop;
}

/// States at once while an action is obeyed in place by `gradient` with a one-step adjoint: those in slots, and live
/// where it is none of them.
class frames_in_place {
 public:
  /// \param ahead  whether the step after a state runs before it is kept
  explicit frames_in_place(bool ahead) : ahead_{ahead} {}
  std::size_t obey(action const& a) {
    std::size_t most = count();
    if (a.kind == action_kind::turn) ahead_ = false;
    std::size_t const beside = ahead_ && (a.kind == action_kind::save || a.kind == action_kind::drop) ? count() + 1 : 0;
    if (a.kind == action_kind::advance || a.kind == action_kind::record) live_ = no_slot;
    if (a.kind == action_kind::turn && a.to > a.from) most = count() + 1;
    if (a.kind == action_kind::save) kept_.insert(live_ = a.slot);
    if (a.kind == action_kind::load) live_ = a.what == content::tape ? no_slot : a.slot, most = 0;
    if (a.kind == action_kind::drop && a.what == content::state) {
      most = 0;
      kept_.erase(a.slot);
      if (live_ == a.slot) live_ = no_slot;
    }
    return std::max({most, count(), beside});
  }

 private:
  [[nodiscard]] std::size_t count() const { return kept_.size() + (live_ == no_slot ? 1 : 0); }
  bool ahead_;
  std::set<slot_index> kept_;
  slot_index live_ = no_slot;
};

void check_space_time(any_schedule const& plan) {
  auto actions = actions_of(plan);
  actions.pop_back();
  auto const svg = space_time_svg(plan);
  auto const marks = marks_of(svg);
  double const height = std::clamp(3.2 * double(actions.size()), 200.0, 900.0);
  double const bottom = std::stod(between(svg, "viewBox=\"0 0 800 ", "\"")) - 50;
  auto const row = [&](std::size_t k) { return bottom - height + height * (double(k) + 0.5) / double(actions.size()); };

  std::map<std::string, std::size_t> seen, kept;
  std::map<std::pair<content, slot_index>, std::size_t> filled;
  bool in_place = true;
  for (std::size_t k = 0; k < actions.size(); ++k) {
    action const& a = actions[k];
    auto const kind = name_of(a.kind);
    REQUIRE(marks.count(kind) == 1);
    REQUIRE(seen[kind] < marks.at(kind).size());
    auto const& mark = marks.at(kind)[seen[kind]++];
    double from = double(a.from), to = double(a.to);
    if (a.kind == action_kind::save || a.kind == action_kind::record) filled[{a.what, a.slot}] = k;
    if (a.kind == action_kind::drop) {
      std::size_t const born = filled.at({a.what, a.slot});
      action const& b = actions[born];
      from = b.kind == action_kind::save ? double(b.from) : (double(b.from) + double(b.to)) / 2;
      auto const life_kind = b.kind != action_kind::save ? "tape-life"
                             : b.where == tier::memory   ? "state-life"
                                                         : "far-life";
      auto const& life = marks.at(life_kind).at(kept[life_kind]++);
      in_place = in_place && life.size() == 2 && is_at(life[0].numbers[0], across(from, double(plan.steps()))) &&
                 is_at(life[0].numbers[1], row(born)) && life[1].letter == 'V' && is_at(life[1].numbers[0], row(k));
    }
    if (a.kind == action_kind::reverse) std::swap(from, to);
    in_place =
        in_place && is_at(mark[0].numbers[0], across(from, double(plan.steps()))) && is_at(mark[0].numbers[1], row(k));
    if (is_line(a.kind))
      in_place = in_place && mark.size() == 2 && mark[1].letter == 'H' &&
                 is_at(mark[1].numbers[0], across(to, double(plan.steps())));
  }
  CHECK(in_place);
  for (auto const& [kind, paths] : marks) CHECK(paths.size() == seen[kind] + kept[kind]);

  auto const x = labels_of(svg, "x-axis"), y = labels_of(svg, "y-axis");
  REQUIRE(x.size() >= 2);
  REQUIRE(y.size() >= 2);
  CHECK(x.front() == "0");
  CHECK(x[x.size() - 2] == std::to_string(plan.steps()));
  CHECK(x.back() == "step");
  CHECK(y[y.size() - 2] == std::to_string(actions.size()));
  CHECK(y.back() == "action");
}

void check_memory(any_schedule const& plan) {
  auto actions = actions_of(plan);
  actions.pop_back();
  auto const curve = memory_over(plan);
  auto const svg = memory_svg(plan);
  auto const marks = marks_of(svg);
  REQUIRE(curve.held.size() == actions.size());
  REQUIRE(marks.at("held").size() == 1);

  double const bottom = std::stod(between(svg, "viewBox=\"0 0 800 ", "\"")) - 50;
  auto const values_of = [&](subpath const& path) {  // what the line shows in the middle of each action
    std::vector<double> values;
    double x = 80, y = bottom;
    for (auto const& part : path) {
      if (part.letter == 'H') {
        x = part.numbers[0];
        while (values.size() < actions.size() && across(double(values.size()) + 0.5, double(actions.size())) < x)
          values.push_back(y);
      } else if (part.letter == 'V') {
        y = part.numbers[0];
      }
    }
    return values;
  };
  auto const held = values_of(marks.at("held")[0]), kept = values_of(marks.at("kept")[0]);
  REQUIRE(held.size() == actions.size());
  REQUIRE(kept.size() == actions.size());

  frames_in_place frames{plan.runs_ahead()};
  std::size_t most = 0, in_slots = 0;
  bool as_held = true, as_drawn = true;
  for (std::size_t k = 0; k < actions.size(); ++k) {
    std::size_t const now = frames.obey(actions[k]);
    if (actions[k].kind == action_kind::save) ++in_slots;
    if (actions[k].kind == action_kind::drop && actions[k].what == content::state) --in_slots;
    most = std::max(most, now);
    as_held = as_held && curve.held[k] == now && curve.kept[k] == in_slots;
    double const unit = 320 / double(curve.peak);
    as_drawn =
        as_drawn && is_at(held[k], bottom - unit * double(now)) && is_at(kept[k], bottom - unit * double(in_slots));
  }
  CHECK(as_held);
  CHECK(as_drawn);
  CHECK(curve.peak == most);
  CHECK(curve.held[curve.summit] == most);
  CHECK(std::find(curve.held.begin(), curve.held.end(), wide(most)) ==
        curve.held.begin() + std::ptrdiff_t(curve.summit));
  auto const x = labels_of(svg, "x-axis"), y = labels_of(svg, "y-axis");
  CHECK(x[x.size() - 2] == std::to_string(actions.size()));
  CHECK(y[y.size() - 2] == std::to_string(most));
  CHECK(y.back() == "states");
  CHECK(marks.at("summit").size() == 1);
  CHECK(is_at(marks.at("summit")[0][0].numbers[0], across(double(curve.summit) + 0.5, double(actions.size()))));
}

std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> all;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  return all;
}
std::size_t columns_of(std::string const& line) {
  return std::size_t(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}
/// The words before the picture, on one line.
std::string words_of(std::string const& text) {
  std::string words = text;
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words;
}
/// The cells right of the axis, without the words around them. \pre ASCII
std::vector<std::string> cells_of(std::string const& text, std::string const& after) {
  std::vector<std::string> all;
  bool inside = false;
  for (auto const& line : lines_of(text)) {
    auto const edge = line.find_first_of("|+");
    if (line == after) inside = true;
    else if (inside && (edge == std::string::npos || (line[edge] == '+' && line[edge - 1] == ' ')))
      break;  // the axis below
    else if (inside) all.push_back(line.substr(edge + 1));
  }
  return all;
}

}  // namespace

TEST_CASE("a space-time diagram has one mark for each action, at its steps and in its row", "[tool][picture]") {
  for (step_index const n : {0, 1, 2, 7, 30})
    each_as_any(n, [](std::string const& name, auto const& plan) {
      INFO(name);
      check_space_time(any_schedule{plan});
    });
}

TEST_CASE("a memory curve shows the states that stand at once in each action", "[tool][picture]") {
  for (step_index const n : {0, 1, 2, 7, 30})
    each_as_any(n, [](std::string const& name, auto const& plan) {
      INFO(name);
      if (!cairn::initial_is_free(plan)) check_memory(any_schedule{plan});
    });
}

TEST_CASE("the peak of a memory curve is the peak of the estimate, in states and in bytes", "[tool][picture]") {
  std::vector<workload> kinds;
  for (auto const step : {step_form::in_place, step_form::by_value})
    for (auto const adjoint :
         {adjoint_form::one_step, adjoint_form::with_next, adjoint_form::leaf, adjoint_form::recorded})
      for (bool const keeps_run : {false, true})
        kinds.push_back({.form = {step, adjoint, step == step_form::by_value, keeps_run}});
  kinds.push_back({.form = {.snapshots = true}});
  for (step_index const n : {0, 1, 2, 7, 30})
    each_as_any(n, [&](std::string const& name, auto const& typed) {
      INFO(name);
      any_schedule const plan{typed};
      for (workload work : kinds) {
        auto const states = memory_over(plan, work);
        CHECK_FALSE(states.in_bytes);
        CHECK(states.peak == wide(estimate(plan, work).peak_states));
        work.state_bytes = 1'000'003;
        work.state_inline_bytes = 24;
        work.adjoint_bytes = 77;
        work.tape_bytes = 5'000;
        auto const bytes = memory_over(plan, work);
        CHECK(bytes.in_bytes);
        CHECK(bytes.peak == estimate(plan, work).peak_bytes);
        CHECK(bytes.held[bytes.summit] == bytes.peak);
        for (std::size_t k = 0; k < bytes.held.size(); ++k) REQUIRE(bytes.kept[k] <= bytes.held[k]);
      }
    });
}

TEST_CASE("whole numbers in pictures have separators, and nothing else has", "[tool][picture]") {
  for (auto const& [said, shown] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"999 steps", "999 steps"}, {"1000", "1,000"}, {"12345 of 1234567", "12,345 of 1,234,567"},
           {"0.12345 s", "0.12345 s"}, {"resnet1000", "resnet1000"}, {"a_1000", "a_1000"}, {"1e10000", "1e10000"},
           {"5e+04", "5e+04"}, {"(1048576 bytes)", "(1,048,576 bytes)"}, {"999999999999999999", "999,999,999,999,999,999"},
           {"9223372036854775807", "9223372036854775807"}})
    CHECK(picture::with_separators(said) == shown);
}

TEST_CASE("a memory curve in bytes names its exact peak and a binary unit", "[tool][picture]") {
  workload const work{.state_bytes = 1'000'000, .adjoint_bytes = 1'000'000};
  revolve const plan{100, 5};
  auto const svg = memory_svg(plan, work);
  auto const exact = picture::with_separators(text_of(estimate(plan, work).peak_bytes));
  CHECK_THAT(between(svg, "<desc>", "</desc>"), ContainsSubstring("peak " + exact + " bytes"));
  CHECK(labels_of(svg, "y-axis").back() == "memory (MiB)");
  CHECK_THAT(words_of(memory_text(plan, work)),
             ContainsSubstring(exact + " bytes") && ContainsSubstring("memory (MiB)"));
  CHECK_THAT(memory_svg(revolve{3, 1}, {.state_bytes = 8}), ContainsSubstring("memory (bytes)"));
}

TEST_CASE("a picture does not depend on how the schedule is held", "[tool][picture]") {
  revolve const plan{20, 3};
  leaves const long_leaves{50, 7, revolve{8, 3}};
  CHECK(space_time_svg(plan) == space_time_svg(any_schedule{plan}));
  CHECK(space_time_svg(plan) == space_time_svg(action_list_from(plan)));
  CHECK(space_time_svg(long_leaves) == space_time_svg(action_list_from(long_leaves)));
  CHECK(memory_svg(store_all(9)) == memory_svg(action_list_from(store_all(9))));
  CHECK(space_time_text(long_leaves) == space_time_text(any_schedule{long_leaves}));
  CHECK(memory_text(long_leaves) == memory_text(any_schedule{long_leaves}));
  CHECK(space_time_svg(plan) != space_time_svg(revolve{20, 4}));
}

TEST_CASE("a title is shown as it was given, with any characters", "[tool][picture]") {
  std::string const title = "<script>&\"'\x01\xff \xC3\xA9";
  std::string const safe = "&lt;script&gt;&amp;&quot;&apos;\xEF\xBF\xBD\xEF\xBF\xBD \xC3\xA9";
  for (auto const& svg : {space_time_svg(revolve{5, 2}, title), memory_svg(revolve{5, 2}, {}, title)}) {
    CHECK(between(svg, "<title>", "</title>") == safe);
    CHECK(between(svg, "<text class=\"heading\" x=\"80\" y=\"28\">", "</text>") == safe);
    CHECK(svg.find("<script") == std::string::npos);
  }
  for (std::string const bad : {"\xC0\x80", "\xED\xA0\x80", "\xEF\xBF\xBF", "\xF4\x90\x80\x80", "\xE2\x82", "\x80"})
    CHECK_THAT(between(space_time_svg(revolve{5, 2}, "a" + bad + "b"), "<title>", "</title>"), !ContainsSubstring(bad));
  std::string const lengthy(300, 'w');
  auto const svg = space_time_svg(revolve{5, 2}, lengthy);
  CHECK(between(svg, "<title>", "</title>") == lengthy);
  // 710 pixels hold 45 of the letter w at 16 pixels and bold.
  CHECK(between(svg, "y=\"28\">", "</text>") == std::string(45, 'w') + "\xE2\x80\xA6");
}

TEST_CASE("a hundred thousand actions are all drawn", "[tool][picture][long]") {
  revolve const plan{24'000, 30};
  auto const count = actions_of(plan).size() - 1;
  REQUIRE(count > 95'000);
  std::size_t drawn = 0;
  for (auto const& [kind, paths] : marks_of(space_time_svg(plan)))
    if (kind != "state-life") drawn += paths.size();
  CHECK(drawn == count);
}

TEST_CASE("a schedule of too many actions is refused before it is walked", "[tool][picture]") {
  auto const longest = std::numeric_limits<step_index>::max();
  CHECK_THROWS_AS(space_time_svg(store_all(66'000)), invalid_plan);
  CHECK_THROWS_WITH(space_time_svg(store_all(66'000)),
                    ContainsSubstring("picture::space_time_svg") && ContainsSubstring("steps = 66000") &&
                        ContainsSubstring("200000") && ContainsSubstring("shorter loop"));
  CHECK_THROWS_AS(space_time_svg(revolve{longest, longest}), invalid_plan);
  CHECK_THROWS_AS(memory_svg(any_schedule{uniform{longest}}), invalid_plan);
  CHECK_THROWS_AS(space_time_text(uniform{longest}), invalid_plan);
  CHECK_THROWS_AS(memory_text(revolve{longest, 3}), invalid_plan);
  CHECK_THROWS_WITH(memory_text(revolve{longest, 3}),
                    ContainsSubstring("cairn::memory_over") && ContainsSubstring("9223372036854775807"));
  CHECK_NOTHROW(space_time_svg(leaves{longest, longest, revolve{1, 1}}));
  CHECK_NOTHROW(memory_text(leaves{longest, longest, revolve{1, 1}}, {}, 24, 1));
}

TEST_CASE("the longest numbers stay on the page", "[tool][picture]") {
  auto const longest = std::numeric_limits<step_index>::max();
  auto const svg = space_time_svg(leaves{longest, longest / 7, revolve{7, 2}});
  auto const labels = labels_of(svg, "x-axis");
  std::istringstream lines{between(svg, "<g class=\"x-axis\">", "</g>")};
  double end = 0;
  for (auto const& label : labels) {  // letters are less than seven pixels wide
    std::string line;
    while (line.find("<text") == std::string::npos) REQUIRE(std::getline(lines, line));
    double const middle = std::stod(between(line, " x=\"", "\"")), half = 3.5 * double(label.size());
    CHECK(middle + half <= 800);
    if (label != "step") CHECK(middle - half > end);
    end = middle + half;
  }
  CHECK(labels[labels.size() - 2] == std::to_string(longest));
}

TEST_CASE("a list that is no schedule has no picture", "[tool][picture]") {
  action_list const wrong{3, 1, {{action_kind::advance, tier::memory, content::state, no_slot, 0, 2},
                            {action_kind::save, tier::memory, content::state, 0, 1, 0}}};
  CHECK_THROWS_AS(space_time_svg(wrong), invalid_schedule);
  CHECK_THROWS_WITH(memory_svg(wrong), ContainsSubstring("cairn::memory_over") && ContainsSubstring("action = 1"));
  CHECK_THROWS_AS(memory_svg(revolve{9, 2}, {.steps = 8}), invalid_plan);
}

TEST_CASE("pictures for a terminal keep to the columns and rows asked for", "[tool][picture]") {
  for (step_index const n : {0, 1, 2, 7, 30, 1000})
    for (int const columns : {24, 47, 80, 200})
      for (int const rows : {1, 2, 5, 40})
        for (auto const set : {glyphs::utf8, glyphs::ascii}) {
          std::vector<any_schedule> const plans{revolve{n, 3}, uniform{n}, all_tapes(n),
                                                leaves{n * 1'000'000'000'000, 1'000'000'000'000, store_all(n)}};
          for (auto const& plan : plans)
            for (auto const& text :
                 {space_time_text(plan, columns, rows, set), memory_text(plan, {}, columns, rows, set),
                  memory_text(plan, {.state_bytes = (wide{1} << 62) - 1, .tape_bytes = 0}, columns, rows, set)}) {
              std::size_t widest = 0, in_grid = 0;
              for (auto const& line : lines_of(text)) {
                widest = std::max(widest, columns_of(line));
                if (set == glyphs::ascii && line.find('|') != std::string::npos) ++in_grid;
              }
              INFO(text);
              CHECK(widest <= std::size_t(columns));
              CHECK(in_grid <= std::size_t(rows));
              if (set == glyphs::ascii)
                CHECK(std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; }));
            }
        }
}

TEST_CASE("a picture for a terminal with a row for each action shows each of them", "[tool][picture]") {
  std::map<action_kind, char> const looks{
      {action_kind::advance, '-'}, {action_kind::record, '='}, {action_kind::turn, '~'}, {action_kind::reverse, '<'},
      {action_kind::save, '*'},    {action_kind::load, 'o'},   {action_kind::drop, 'x'}};
  for (step_index const n : {1, 2, 7, 30})
    for (any_schedule const& plan :
         {any_schedule{revolve{n, 3}}, any_schedule{uniform{n}}, any_schedule{all_tapes(n)}}) {
      auto const actions = actions_of(plan);
      auto const text = space_time_text(plan, 120, 1000, glyphs::ascii);
      auto const cells = cells_of(text, "action");
      INFO(text);
      REQUIRE(cells.size() == actions.size() - 1);
      for (std::size_t k = 0; k + 1 < actions.size(); ++k) {
        for (auto const& [kind, look] : looks)
          CHECK((cells[k].find(look) != std::string::npos) == (kind == actions[k].kind));
        if (!is_line(actions[k].kind))
          CHECK(std::count(cells[k].begin(), cells[k].end(), looks.at(actions[k].kind)) == 1);
      }
      CHECK(text.find("Downsampled") == std::string::npos);
    }
}

TEST_CASE("a picture for a terminal that leaves something out says so", "[tool][picture]") {
  auto const says = [](std::string const& text) { return words_of(text).find("Downsampled:") != std::string::npos; };
  revolve const plan{40, 4};
  auto const count = int(actions_of(plan).size() - 1);
  CHECK_FALSE(says(space_time_text(plan, 80, count)));
  CHECK(says(space_time_text(plan, 80, count - 1)));
  CHECK(says(space_time_text(plan, 40, count)));
  CHECK(says(memory_text(plan, {}, count + 2)));
  CHECK_FALSE(says(memory_text(plan, {}, count + 4)));
}

TEST_CASE("a memory curve for a terminal is as high as what is held", "[tool][picture]") {
  for (step_index const n : {2, 7, 30}) {
    revolve const plan{n, 3};
    auto const curve = memory_over(plan);
    auto const width = curve.held.size();
    auto const rows = cells_of(
        memory_text(plan, {}, int(width) + 3 < 24 ? 24 : int(width) + 3, int(curve.peak) * 4, glyphs::ascii), "states");
    REQUIRE(rows.size() == std::size_t(curve.peak) * 4);
    std::size_t const columns = std::max<std::size_t>(width, 21);
    for (std::size_t x = 0; x < columns; ++x) {
      std::size_t filled = 0, kept = 0;
      for (auto const& row : rows) {
        if (x < row.size() && row[x] != ' ') ++filled;
        if (x < row.size() && row[x] == '#') ++kept;
      }
      CHECK(filled == 4 * std::size_t(curve.held[x * width / columns]));
      CHECK(kept == 4 * std::size_t(curve.kept[x * width / columns]));
    }
  }
}

TEST_CASE("a size that no terminal has is refused", "[tool][picture]") {
  revolve const plan{9, 2};
  CHECK_THROWS_AS(space_time_text(plan, 23, 10), invalid_plan);
  CHECK_THROWS_AS(space_time_text(plan, 80, 0), invalid_plan);
  CHECK_THROWS_AS(memory_text(plan, {}, 1001, 10), invalid_plan);
  CHECK_THROWS_WITH(memory_text(plan, {}, 80, -1), ContainsSubstring("rows = -1") && ContainsSubstring("1 to 10000"));
}
