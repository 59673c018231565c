// SPDX-License-Identifier: Apache-2.0
// Schedules as text, and back.
#include <string>
#include <cairn/plan/loop/verified.hpp>
#include <cairn/plan/text/actions_csv.hpp>
#include "support/catch.hpp"
#include "support/edits.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string const head = "# cairn schedule: steps=2 slots=1\naction,from,to,slot,what,tier\n";
std::string const body =
    "save,0,,0,,\nadvance,0,1,,,\nturn,1,2,,,\nreverse,1,2,,,\nload,0,,0,,\ndrop,,,0,,\nreverse,0,1,,,\ndone,,,,,\n";

/// What a reader says of a text.
std::string said_of(std::string const& text) {
  try {
    (void)read_actions_csv(text);
  } catch (error const& found) {
    return found.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every schedule comes back from its text", "[plan][actions]") {
  for (step_index const n : {0, 1, 2, 3, 8, 21})
    each_as_any(n, [&](std::string const& name, auto const& plan) {
      INFO(name);
      action_list const back = read_actions_csv(actions_csv(plan));
      CHECK(actions_of(back) == actions_of(plan));
      CHECK(back.steps() == plan.steps());
      CHECK(back.slots() == plan.slots());
      CHECK(back.leaf() == plan.leaf());
      CHECK(back.tapes() == tapes_of(plan));
      CHECK(back.initial_is_free() == initial_is_free(plan));
      CHECK(back.tapes_restart() == tapes_restart(plan));
      CHECK(back.units() == units_of(plan).units);
      CHECK(back.tape_units() == units_of(plan).tape_units);
      CHECK(verify(back) == verify(plan));
    });
}

TEST_CASE("the text of a schedule is one line for each action under two lines of head", "[plan][actions]") {
  CHECK(actions_csv(revolve{2, 1}) == head + body);
  auto const all = actions_csv(two_level{3, 2, 0, {.extra_on = tier::host}});
  CHECK_THAT(all, ContainsSubstring("save,2,,1,,disk\n"));
  CHECK_THAT(actions_csv(all_tapes(1)), ContainsSubstring("steps=1 slots=0 tapes=1\n") &&
                                            ContainsSubstring("record,0,1,0,tape,\n") &&
                                            ContainsSubstring("reverse,0,1,0,tape,\n"));
  CHECK_THAT(actions_csv(every_other_tape(4)), ContainsSubstring("tapes=2 tapes_restart=1 units=6 tape_units=3\n") &&
                                                   ContainsSubstring("load,3,,1,tape,\n"));
}

TEST_CASE("a text from another program is read", "[plan][actions]") {
  auto const expected = actions_of(revolve{2, 1});
  CHECK(actions_of(read_actions_csv(head + body)) == expected);
  CHECK(actions_of(read_actions_csv("\xEF\xBB\xBF" + head + body)) == expected);
  std::string windows;
  for (char const c : head + body) windows += c == '\n' ? "\r\n" : std::string(1, c);
  CHECK(actions_of(read_actions_csv(windows)) == expected);
  CHECK(actions_of(read_actions_csv(
            "\n# cairn schedule: slots=1,steps=2,,,\n\n# of columns two are left out\n slot , action,to,from\n"
            "0,save,,0\n,advance,1,0\n# on the way "
            "back\n,turn,2,1\n,reverse,2,1\n0,load,,0\n0,drop,,\n,reverse,1,0\n,done,,")) == expected);
  CHECK(verified{read_actions_csv("# cairn schedule: steps=0 slots=0\naction,from,to\nturn,0,0\ndone,,\n")}
            .counts()
            .reversals == 0);
  CHECK(read_actions_csv("# cairn schedule: steps=9223372036854775807 slots=0 "
                         "units=340282366920938463463374607431768211454 tape_units=3 leaf=4 tapes=7 "
                         "free_initial=true tapes_restart=0\naction\ndone\n")
            .units() == ~wide{0} - 1);
}

TEST_CASE("what is wrong with a text is said with its line", "[plan][actions]") {
  struct { std::string text; char const* said; char const* line;
  } const cases[] = {
      {"", "this is not a list of actions", "line = 0"},
      {"action,from,to,slot\n", "this is not a list of actions", "line = 1"},
      {"# cairn schedule: steps=2\naction\ndone\n", "steps or slots are missing", "line = 3"},
      {"# cairn schedule: steps=2 slots\naction\n", "not a name with a value", "line = 1"},
      {"# cairn schedule: steps=2 slots=1 slots=2\n", "a name twice", "line = 1"},
      {"# cairn schedule: steps=2 colour=1\n", "no such name", "line = 1"},
      {"# cairn schedule: steps=x\n", "not a whole number, or too large", "line = 1"},
      {"# cairn schedule: steps=-1\n", "not a whole number, or too large", "line = 1"},
      {"# cairn schedule: steps=\n", "a number is missing", "line = 1"},
      {"# cairn schedule: units=340282366920938463463374607431768211456\n", "not a whole number, or too large",
       "line = 1"},
      {"# cairn schedule: steps=9223372036854775808\n", "a number of 2^63 or more", "number = 9223372036854775808"},
      {"# cairn schedule: free_initial=2\n", "neither 0 nor 1", "line = 1"},
      {"# cairn schedule: steps=2 slots=1\n", "the columns are not those of actions", "line = 1"},
      {"# cairn schedule: steps=2 slots=1\nfrom,to\n", "the columns are not those of actions", "line = 2"},
      {"# cairn schedule: steps=2 slots=1\naction,from,from\n", "the columns are not those of actions", "line = 2"},
      {"# cairn schedule: steps=2 slots=1\naction,from,to,slot,what,tier,more\n",
       "the columns are not those of actions", "line = 2"},
      {head + "save,0,,0,\n", "a line with too few or too many cells", "cells = 5"},
      {head + "save,0,,0,,,\n", "a line with too few or too many cells", "line = 3"},
      {head + "jump,0,,0,,\n", "no such action", "line = 3"},
      {head + "save,0,,0,thing,\n", "no such content", "line = 3"},
      {head + "save,0,,0,,attic\n", "there is no such tier", "line = 3"},
      {head + "save,0,,,,\n", "the action lacks a number", "line = 3"},
      {head + "advance,0,,,,\n", "the action lacks a number", "line = 3"},
      {head + "reverse,0,1,,tape,\n", "the action lacks a number", "line = 3"},
      {head + "advance,0,1,0,,\n", "the action has a number too many", "line = 3"},
      {head + "drop,0,,0,,\n", "the action has a number too many", "line = 3"},
      {head + "save,0,1,0,,\n", "the action has a number too many", "line = 3"},
      {head + "save,1.5,,0,,\n", "not a whole number, or too large", "line = 3"},
      {head + "advance,0,99999999999999999999,,,\n", "a number of 2^63 or more", "line = 3"},
      {head, "the text ends before done", "line = 2"},
      {head + body.substr(0, body.find("done")), "the text ends before done", "line = 9"},
      {head + body + "done,,,,,\n", "an action after done", "line = 11"},
  };
  for (auto const& one : cases) {
    INFO(one.text);
    CHECK_THAT(said_of(one.text), ContainsSubstring("cairn::read_actions_csv: ") && ContainsSubstring(one.said) &&
                                      ContainsSubstring(one.line));
    CHECK_THROWS_AS(read_actions_csv(one.text), parse_error);
  }
  CHECK_THROWS_AS(read_actions_csv("# cairn schedule: steps=2 slots=1 leaf=0\naction\ndone\n"), invalid_plan);
}

TEST_CASE("actions in another order are read and refused when they are to be used", "[plan][actions]") {
  auto const swapped = head + "advance,0,1,,,\nsave,0,,0,,\n" + body.substr(body.find("turn"));
  CHECK_THROWS_AS(verified{read_actions_csv(swapped)}, invalid_schedule);
  CHECK_THROWS_WITH(verified{read_actions_csv(swapped)}, ContainsSubstring("action = 1"));
}

TEST_CASE("only sound schedules are written, and not without end", "[plan][actions]") {
  CHECK_THROWS_AS(actions_csv(action_list{2, 0, {{action_kind::turn, tier::memory, content::state, no_slot, 0, 2}}}),
                  invalid_schedule);
  CHECK_THROWS_AS(actions_csv(revolve{step_index{1} << 40, 3}), invalid_plan);
  CHECK_THROWS_WITH(actions_csv(revolve{step_index{1} << 40, 3}), ContainsSubstring("most actions written"));
}

namespace {

/// How many spoilt texts are still schedules; any error but cairn's own passes through and fails the test.
int still_schedules(int count) {
  std::vector<std::string> texts;
  for (step_index const n : {0, 1, 2, 5})
    each_as_any(n, [&](std::string const&, auto const& plan) { texts.push_back(actions_csv(plan)); });
  spoiler spoil{5};
  int sound = 0;
  for (int k = 0; k < count; ++k) {
    std::string const text = spoil.spoilt(texts[std::size_t(k) % texts.size()], '\n');
    try {
      verified const plan{read_actions_csv(text)};
      if (plan.counts().reversals != wide(plan.steps())) FAIL("unsound:\n" << text);
      ++sound;
    } catch (error const&) {
    }
  }
  return sound;
}

}  // namespace

TEST_CASE("a spoilt text is refused in our words or is a schedule all the same", "[plan][actions]") {
  int const sound = still_schedules(100'000);
  CHECK(sound > 1000);
  CHECK(sound < 50'000);
}
