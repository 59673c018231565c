// SPDX-License-Identifier: Apache-2.0
// Schedules as JSON, and back.
#include <string>
#include <cairn/adapt/nlohmann_json.hpp>
#include <cairn/plan/loop/verified.hpp>
#include "support/catch.hpp"
#include "support/edits.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("every schedule comes back from its JSON", "[adapt][actions]") {
  for (step_index const n : {0, 1, 2, 3, 8, 21})
    each_as_any(n, [&](std::string const& name, auto const& plan) {
      INFO(name);
      auto const object = actions_json(plan);
      action_list const back = read_actions_json(object.dump());
      CHECK(actions_of(back) == actions_of(plan));
      CHECK(actions_of(action_list_from_json(object)) == actions_of(plan));
      CHECK(back.steps() == plan.steps());
      CHECK(back.slots() == plan.slots());
      CHECK(back.units() == units_of(plan).units);
      CHECK(back.tape_units() == units_of(plan).tape_units);
      CHECK(verify(back) == verify(plan));
    });
}

TEST_CASE("JSON says what is not usual and no more", "[adapt][actions]") {
  CHECK(actions_json(action_list{0, 0, {{action_kind::turn}}}) ==
        nlohmann::json::parse(
            R"({"steps":0,"slots":0,"actions":[{"action":"turn","from":0,"to":0},{"action":"done"}]})"));
  auto const budget = actions_json(action_list{0, 0, {{action_kind::turn}}, {.budget = {~wide{0} - 1, 3}}});
  CHECK(budget["units"] == "340282366920938463463374607431768211454");
  CHECK(budget["tape_units"] == 3);
  CHECK(action_json({action_kind::load, tier::disk, content::tape, 4, 7, 0}) ==
        nlohmann::json::parse(R"({"action":"load","from":7,"slot":4,"what":"tape","tier":"disk"})"));
}

TEST_CASE("JSON from another program is read", "[adapt][actions]") {
  auto const plan = read_actions_json(
      R"({"actions": [{"from": "0", "to": 1, "action": "turn"}, {"to": 1, "from": 0, "action": "reverse", "what": "state"},
                                          {"action": "done"}], "free_initial": true, "slots": 0, "steps": "1", "leaf": 1})");
  CHECK(verified{plan}.counts().turned == 1);
  CHECK(plan.initial_is_free());
}

TEST_CASE("what is wrong with JSON is said with its action or byte", "[adapt][actions]") {
  auto const said_of = [](std::string const& text) -> std::string {
    try {
      (void)read_actions_json(text);
    } catch (error const& found) {
      return found.what();
    }
    return "";
  };
  std::string const begun = R"({"steps": 1, "slots": 0, "actions": [{"action": "turn", "from": 0, "to": 1}, )";
  CHECK_THAT(said_of(""),
             ContainsSubstring("cairn::read_actions_json: this is not JSON") && ContainsSubstring("byte = 1"));
  CHECK_THAT(said_of("{\"steps\": 1e999}"), ContainsSubstring("a number that is too large for any type"));
  CHECK_THAT(said_of("{\"steps\": 1"), ContainsSubstring("this is not JSON"));
  CHECK_THAT(said_of(begun + R"({"action": "turn", "action": "turn"}]})"), ContainsSubstring("a name twice"));
  CHECK_THAT(said_of(begun + R"({"action": ["turn"]}]})"), ContainsSubstring("neither a text nor a whole number"));
  for (auto const* text : {"[1, 2]", "[1, 2", R"({"actions": [], "actions": []})", "{}", R"({"actions": 3})", "null"})
    CHECK_THAT(said_of(text), ContainsSubstring("this is not a list of actions"));
  CHECK_THAT(said_of(begun + "7]}"),
             ContainsSubstring("an action that is not an object") && ContainsSubstring("action = 1"));
  CHECK_THAT(said_of(begun + R"({"action": "turn", "from": 0, "to": 1.5}]})"),
             ContainsSubstring("neither a text nor a whole number") && ContainsSubstring("action = 1"));
  CHECK_THAT(said_of(begun + R"({"action": "turn", "from": -1, "to": 1}]})"),
             ContainsSubstring("not a whole number, or too large"));
  CHECK_THAT(said_of(begun + R"({"action": "turn", "from": true, "to": 1}]})"),
             ContainsSubstring("not a whole number, or too large"));
  CHECK_THAT(said_of(begun + R"({"action": "turn", "why": 0}]})"), ContainsSubstring("no such name"));
  CHECK_THAT(said_of(begun + R"({"action": "turn"}]})"), ContainsSubstring("the action lacks a number"));
  CHECK_THAT(said_of(begun.substr(0, begun.rfind(',')) + "]}"),
             ContainsSubstring("the text ends before done") && ContainsSubstring("action = 1"));
  CHECK_THAT(said_of(R"({"steps": 1, "actions": []})"), ContainsSubstring("steps or slots are missing"));
  CHECK_THAT(said_of(R"({"steps": 1, "slots": 0, "colour": 0, "actions": []})"), ContainsSubstring("no such name"));
  CHECK_THROWS_AS(read_actions_json(R"({"steps": 1, "slots": 0, "leaf": 0, "actions": [{"action": "done"}]})"),
                  invalid_plan);
  std::string deep;
  for (int k = 0; k < 100'000; ++k) deep += "[";
  CHECK_THROWS_AS(read_actions_json(deep), parse_error);
}

TEST_CASE("spoilt JSON is refused in our words or is a schedule all the same", "[adapt][actions]") {
  std::vector<std::string> texts;
  for (step_index const n : {0, 1, 4})
    each_as_any(n, [&](std::string const&, auto const& plan) { texts.push_back(actions_json(plan).dump()); });
  spoiler spoil{6};
  int sound = 0;
  for (int k = 0; k < 20'000; ++k) {
    std::string const text = spoil.spoilt(texts[std::size_t(k) % texts.size()], '{');
    try {
      verified const plan{read_actions_json(text)};
      if (plan.counts().reversals != wide(plan.steps())) FAIL("unsound:\n" << text);
      ++sound;
    } catch (error const&) {
    }
  }
  CHECK(sound > 200);
  CHECK(sound < 10'000);
}
