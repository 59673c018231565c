// SPDX-License-Identifier: Apache-2.0
// Chains and their plans as JSON, and back.
#include <cairn/adapt/nlohmann_json/chain.hpp>
#include <cairn/plan/chain/replay.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_oracles.hpp"
#include "support/edits.hpp"
#include "support/read_chain_words.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;
using json_tree = nlohmann::json;

namespace {

constexpr auto most = std::numeric_limits<std::int64_t>::max();

std::string said_of(std::string const& text) {
  try {
    (void)read_chain_json(text);
  } catch (error const& found) {
    return found.what();
  }
  return "";
}
/// The sentence for a chain with one list in the place of a good one.
std::string said_of(char const* key, std::string const& list) {
  std::string text = "{";
  for (auto const& [name, good] : {std::pair{"x", "[8, 8, 8]"},
                                   {"s", "[20, 20]"},
                                   {"f", "[0, 0]"},
                                   {"b", "[4, 4, 8]"},
                                   {"uf", "[10, 10]"},
                                   {"ub", "[20, 20, 0]"},
                                   {"g", "[8, 8, 8]"}})
    text += (text.size() > 1 ? ", \"" : "\"") + std::string{name} + "\": " + (std::string{name} == key ? list : good);
  return said_of(text + "}");
}

}  // namespace

TEST_CASE("every chain comes back from its JSON as it was", "[adapt][chain]") {
  std::vector<chain> all;
  for (auto const of : chains::all_kinds)
    for (int const stages : {0, 1, 2, 5, 40}) {
      all.push_back(chains::make(of, stages, 7));
      all.push_back(chains::with_odd_adjoints(all.back(), 3));
      all.push_back(all.back());
      all.back().self_contained_tape = true;
      all.push_back({.x = all.back().x, .s = all.back().s, .u = all.back().u});  // all that may be left out is left out
    }
  all.push_back(
      {.x = {5, 7}, .s = {(std::int64_t{1} << 61) + 1}, .u = {9'007'199'254'740'993}});  // no double is any of the two
  for (auto const& work : all) {
    auto const object = chain_json(work);
    REQUIRE(chain_from_json(object) == work);
    REQUIRE(read_chain_json(object.dump()) == work);
    REQUIRE(read_chain_json(object.dump(2)) == work);
    CHECK(object["L"] == work.stages());
  }
}

TEST_CASE("the oracles are read as they are, whole files too, with the numbers that another reader finds",
          "[adapt][chain][oracle]") {
  for (auto const& known : chains::oracles()) {
    CAPTURE(known.name);
    std::ostringstream text;
    text << std::ifstream{CAIRN_SOURCE_DIR "/tests/oracles/chains/" + known.name + ".json"}.rdbuf();
    auto const file = json_tree::parse(text.str());
    CHECK(read_chain_json(text.str()) == known.chain);
    CHECK(chain_from_json(file) == known.chain);
    CHECK(chain_from_json(file["chain"]) == known.chain);
    auto again = chain_json(known.chain);
    for (auto const& [key, value] : again.items()) CHECK(file["chain"][key] == value);
    for (auto const& row : file["result"]["budgets"]) {
      if (!row.contains("plan")) continue;
      auto const actions = read_chain_words(row["plan"].get<std::string>());
      auto const cost = replay(known.chain, actions);
      CHECK(cost.makespan == row["opt_persistent"]);
      CHECK(cost.peak == row["peak_of_plan"]);
      CHECK(chain_words(actions) == row["plan"].get<std::string>());
    }
  }
}

TEST_CASE("other names, digits as texts, null and unknown members mean what one thinks", "[adapt][chain]") {
  chain const wanted{
      .x = {1, 2}, .g = {3, 4}, .s = {5}, .f = {6}, .b = {7, 8}, .u = {9}, .v = {10, 11}, .self_contained_tape = true};
  CHECK(
      read_chain_json(
          R"({"u": [9], "v": [10, 11], "x": ["1", 2], "g": [3, "4"], "s": [5], "f": [6], "b": [7, 8], "self_contained_tape": true,
                            "name": "a chain", "kind": null, "seed": -1.5, "more": {"x": [[[]]], "s": {"L": 3}}, "list": [1e300, "", {"x": []}]})") ==
      wanted);
  CHECK(read_chain_json(R"({"x": [1, 2], "s": [5], "uf": [9], "g": null, "f": null, "L": 1})") ==
        chain{.x = {1, 2}, .s = {5}, .u = {9}});
  CHECK(read_chain_json(R"({"x": [3], "s": [], "uf": []})") == chain{.x = {3}, .s = {}, .u = {}});
  CHECK(read_chain_json(R"({"chain": {"x": [3], "s": [], "uf": []}, "x": "none", "s": 7})").stages() == 0);
  CHECK(read_chain_json(R"({"s": [1], "x": [1, 1], "chain": {"x": [3], "s": [], "uf": []}})").stages() == 0);
}

TEST_CASE("what is wrong with a chain's JSON is said with its list and position", "[adapt][chain]") {
  CHECK(said_of("x", "[8, 8, 8]").empty());
  CHECK_THAT(said_of(""),
             ContainsSubstring("cairn::read_chain_json: this is not JSON") && ContainsSubstring("byte = 1"));
  CHECK_THAT(said_of("{\"x\": [1, 2"), ContainsSubstring("this is not JSON"));
  CHECK_THAT(said_of("{\"x\": [1e999]}"), ContainsSubstring("a number that is too large for any type"));
  for (auto const* text : {"[]", "3", "null", "{}", "\"x\"", R"({"chain": 3})", R"({"chain": [1]})", R"({"chain": {}})",
                           R"({"s": [1], "uf": [1]})",
                           R"({"chain": {"x": [3], "s": [], "uf": []}, "chain": {"x": [3], "s": [], "uf": []}})"})
    CHECK_THAT(said_of(text),
               ContainsSubstring("this is not a chain") && ContainsSubstring("give an object with lists x, s and uf"));
  for (auto const* key : {"x", "g", "s", "f", "b", "uf", "ub"}) {
    CAPTURE(key);
    auto const at = [&](char const* which) { return std::string{"position in "} + key + " = " + which; };
    CHECK_THAT(said_of(key, "[8, -3]"), ContainsSubstring("a number of this chain is negative") &&
                                            ContainsSubstring(at("1")) && ContainsSubstring("value = -3"));
    CHECK_THAT(said_of(key, "[8.5]"), ContainsSubstring("not written as a whole one") && ContainsSubstring(at("0")));
    CHECK_THAT(said_of(key, "[8, 1, 8.0]"),
               ContainsSubstring("not written as a whole one") && ContainsSubstring(at("2")));
    CHECK_THAT(said_of(key, "[1e3]"), ContainsSubstring("not written as a whole one"));
    for (auto const* large : {"9223372036854775808", "18446744073709551615", "18446744073709551616", "1e30"})
      CHECK_THAT(said_of(key, "[8, " + std::string{large} + "]"),
                 ContainsSubstring("larger than 2^63-1") && ContainsSubstring(at("1")));
    for (auto const* other :
         {"\"\"", "\"x\"", "\"1 \"", "\"-1\"", "\"9223372036854775808\"", "null", "true", "[]", "[1]", "{}"})
      CHECK_THAT(said_of(key, "[8, " + std::string{other} + "]"),
                 ContainsSubstring("an entry of this chain is not a number") && ContainsSubstring(at("1")));
    for (auto const* other : {"8", "\"8\"", "true", "{}", "{\"a\": [1]}"})
      CHECK_THAT(said_of(key, other),
                 ContainsSubstring("a member of this chain is not a list of numbers") && ContainsSubstring(at("0")));
    CHECK_THAT(said_of(key, "[8], \"" + std::string{key} + "\": [8]"),
               ContainsSubstring("a list of this chain is given twice") && ContainsSubstring(at("1")));
    // The judge of lengths is check_chain, which names the list, too.
    CHECK_FALSE(said_of(key, "[8, 8, 8, 8, 8]").empty());
    CHECK_THROWS_AS(read_chain_json(R"({"x": [8, 8, 8], "s": [20, 20], "uf": [1, 1], "f": [1]})"), invalid_plan);
  }
  CHECK_THAT(said_of(R"({"x": [8, 8], "s": [20], "uf": [1], "u": [1]})"), ContainsSubstring("given twice"));
  CHECK_THAT(said_of(R"({"x": [8, 8], "s": [20], "uf": [1], "ub": [1, 0], "v": [1, 0]})"),
             ContainsSubstring("given twice"));
  for (auto const* stages : {"0", "2", "-1", "1.0", "\"1\"", "null", "[1]", "{}", "18446744073709551615"})
    CHECK_THAT(said_of(R"({"x": [8, 8], "s": [20], "uf": [1], "L": )" + std::string{stages} + "}"),
               ContainsSubstring("L is not the number of stages that x has") && ContainsSubstring("numbers in x = 2"));
  for (auto const* claim : {"1", "\"true\"", "null"})
    CHECK_THAT(said_of(R"({"x": [8], "s": [], "uf": [], "self_contained_tape": )" + std::string{claim} + "}"),
               ContainsSubstring("self_contained_tape is neither true nor false"));
  CHECK_THROWS_AS(read_chain_json(R"({"x": [8, 8], "s": [7], "uf": [1]})"), invalid_plan);
  CHECK_THROWS_AS(read_chain_json(R"({"x": [9223372036854775807, 1], "s": [7], "uf": [1]})"), overflow_error);
  CHECK_THROWS_AS(read_chain_json(std::string(1'000'000, '[')), parse_error);
  CHECK_THROWS_AS(read_chain_json("{\"more\": " + std::string(1'000'000, '[')), parse_error);
}

TEST_CASE("a tree is read however deep it is", "[adapt][chain]") {
  std::string const deep = std::string(200'000, '[') + std::string(200'000, ']');
  auto const read = [](std::string const& text) { return chain_from_json(json_tree::parse(text)); };
  CHECK(read(R"({"more": )" + deep + R"(, "x": [3], "s": [], "uf": []})").stages() == 0);
  CHECK_THROWS_AS(read(deep), parse_error);
}

TEST_CASE("a tree and a text are refused alike", "[adapt][chain]") {
  spoiler spoil{3};
  std::vector<std::string> texts;
  for (auto const of : chains::all_kinds)
    for (int const stages : {0, 1, 3})
      texts.push_back(chain_json(chains::with_odd_adjoints(chains::make(of, stages, 1), 2)).dump());
  int sound = 0;
  for (int k = 0; k < 20'000; ++k) {
    std::string const text = spoil.spoilt(texts[std::size_t(k) % texts.size()], '{');
    auto const tree = json_tree::parse(text, nullptr, false);
    std::string of_text, of_tree;
    chain read;
    try {
      read = read_chain_json(text);
      ++sound;
    } catch (error const& found) {
      of_text = found.what() + std::string_view{found.operation()}.size();
    }
    if (tree.is_discarded()) {
      REQUIRE_FALSE(of_text.empty());
      continue;
    }
    try {
      auto const other = chain_from_json(tree);
      if (of_text.empty()) REQUIRE(other == read);
    } catch (error const& found) {
      of_tree = found.what() + std::string_view{found.operation()}.size();
    }
    // A tree forgets the order and what was given twice.
    INFO(text << "\n" << of_text << "\n" << of_tree);
    REQUIRE((of_text.empty() == of_tree.empty() || of_text.find("twice") != of_text.npos ||
             text.find("chain") != text.npos));
  }
  CHECK(sound > 200);
  CHECK(sound < 10'000);
}

TEST_CASE("a plan's JSON says what it costs, and its words are its actions", "[adapt][chain]") {
  using namespace chain_actions;
  chain_plan plan;
  plan.actions = {record(0), turn(1), reverse(0)};
  plan.cost = {.peak = most, .makespan = 120, .extra_forward = 20, .transfer = 3, .stage_runs = 2};
  plan.budget = most;
  plan.by = chain_method::non_persistent;
  plan.proof = {
      .lower_bound_time = 90, .lower_bound_peak = 17, .class_bound_time = 100, .of = chain_class::non_persistent};
  auto const object = chain_plan_json(plan);
  CHECK(
      object.dump() ==
      R"({"bound":"non_persistent","bound_time":100,"budget":9223372036854775807,"exact":false,"extra_forward":20,"gap":0.2,"lower_bound_peak":17,"lower_bound_time":90,)"
      R"("makespan":120,"peak":9223372036854775807,"plan":"Fall0 Loss1 B0","planner":"non_persistent","stage_runs":2,"transfer":3})");
  CHECK(read_chain_words(object["plan"].get<std::string>()) == plan.actions);
}
