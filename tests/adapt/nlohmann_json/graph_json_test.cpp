// SPDX-License-Identifier: Apache-2.0
// Graphs and their plans as JSON, and back.
#include <cairn/adapt/nlohmann_json/graph.hpp>
#include <cairn/plan/graph/graph_planner.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/edits.hpp"
#include "support/graph_kinds.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string said_of(std::string const& text) {
  try {
    (void)read_graph_json(text);
  } catch (error const& found) {
    return found.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a graph that is written is read as it was", "[adapt][graph]") {
  for (auto const of : graphs::all_kinds)
    for (int const size : {0, 1, 7, 20})
      for (unsigned seed = 0; seed < 10; ++seed) {
        CAPTURE(graphs::name_of(of), size, seed);
        operation_graph graph = graphs::make(of, size, seed, seed % 2 == 1);
        if (seed % 3 == 0)
          for (auto& one : graph.operations) one.tape_bytes = std::int64_t(1) << 60 >> size;
        if (seed % 4 == 1) graph = graphs::with_flags(std::move(graph), seed);
        if (seed % 4 == 2) graph = graphs::with_states(std::move(graph), size, seed, 9);
        auto const object = graph_json(graph);
        REQUIRE(graph_from_json(object) == graph);
        REQUIRE(read_graph_json(object.dump()) == graph);
        REQUIRE(read_graph_json("{\"graph\": " + object.dump(2) + ", \"plan\": \"F0\"}") == graph);
      }
}

TEST_CASE("what is left out of a graph is as in a new one, and what is beside it is passed over", "[adapt][graph]") {
  auto const graph = read_graph_json(
      R"({"operations": [{"name": "conv", "bytes": "8"}, {"inputs": [0, 0], "adjoint_needs_output": false}],
                                         "outputs": [0, 1], "loss_time": 3, "loss_work": 4, "more": [[{}]]})");
  operation_graph const same{.operations = {{.bytes = 8}, {.inputs = {0, 0}, .adjoint_needs_output = false}},
                             .outputs = {0, 1},
                             .loss_time = 3,
                             .loss_work = 4};
  CHECK(graph == same);
}

TEST_CASE("what an adjoint needs of its inputs is one flag or one for each", "[adapt][graph]") {
  auto const read = [](std::string const& flags) {
    return read_graph_json("{\"operations\": [{}, {}, {\"inputs\": [0, 1], \"adjoint_needs_inputs\": " + flags + "}]}")
        .operations[2]
        .adjoint_needs_inputs;
  };
  CHECK(read("false") == false);
  CHECK(read("true") == true);
  CHECK(read("[true, true]") == true);
  CHECK(read("[false, false]") == false);
  CHECK(read("[false, true]") == needed_inputs{false, true});
  auto const refused = [](std::string const& flags) {
    return said_of("{\"operations\": [{}, {}, {\"inputs\": [0, 1], \"adjoint_needs_inputs\": " + flags + "}]}");
  };
  for (char const* const flags : {"[]", "[true]", "[true, true, true]"})
    CHECK_THAT(refused(flags),
               ContainsSubstring("an adjoint has flags for a different number of inputs (operation = 2, flags = "));
  for (char const* const flags : {"[true, 1]", "[[true], false]", "\"true\"", "null", "{}"})
    CHECK_THAT(refused(flags), ContainsSubstring("neither true nor false (operation = 2)"));
}

TEST_CASE("what is no graph is refused with the operation", "[adapt][graph]") {
  for (char const* const text : {"", "{", "{\"operations\": [{}]", "{\"operations\": [}"})
    CHECK_THAT(said_of(text), ContainsSubstring("cairn::read_graph_json: this is not JSON"));
  for (char const* const text : {"[]", "[1", "3", "{}", "{\"operations\": 3}", "{\"operations\": {}}", "{\"graph\": []}",
                                 "{\"graph\": {}}", "{\"operations\": [], \"graph\": 3}",
                                 "{\"graph\": {\"operations\": []}, \"graph\": 3}"})
    CHECK_THAT(said_of(text), ContainsSubstring("this is not a graph"));
  auto const with = [](std::string const& members) {
    return said_of("{\"operations\": [{\"bytes\": 1}, {" + members + "}]}");
  };
  CHECK_THAT(said_of(R"({"operations": [{}, 3]})"),
             ContainsSubstring("an operation of this graph is not an object (operation = 1)"));
  for (char const* const number :
       {"-1", "1.5", "\"1x\"", "\"\"", "null", "[1]", "9223372036854775808", "1e300", "\"-1\""})
    for (char const* const name :
         {"bytes", "time", "work", "tape_bytes", "adjoint_bytes", "adjoint_time", "adjoint_work", "copy_bytes"})
      CHECK_THAT(with(std::string{"\""} + name + "\": " + number),
                 ContainsSubstring("a number of this graph is not a whole one from 0 to 2^63-1 (operation = 1)"));
  CHECK_THAT(with(R"("inputs": 0)"),
             ContainsSubstring("inputs, outputs or states of this graph are not a list (operation = 1)"));
  CHECK_THAT(with(R"("states_read": 0)"), ContainsSubstring("states of this graph are not a list (operation = 1)"));
  CHECK_THAT(with(R"("inputs": ["x"])"), ContainsSubstring("not a whole one"));
  CHECK_THAT(with(R"("inputs": [1])"), ContainsSubstring("reads a value that is not made before it"));
  CHECK_THAT(with(R"("adjoint_needs_inputs": 1)"), ContainsSubstring("neither true nor false (operation = 1)"));
  CHECK_THAT(said_of(R"({"operations": [{"bytes": 9223372036854775807}]})"), ContainsSubstring("exceed 2^62"));
  for (char const* const twice :
       {R"({"operations": [{"time": 1, "time": 1}]})", R"({"operations": [], "operations": []})",
        R"({"operations": [{}], "outputs": [0], "outputs": [0]})"})
    CHECK_THAT(said_of(twice), ContainsSubstring("a member of this graph is given twice"));
  CHECK_THAT(said_of(R"({"operations": [[]]})"), ContainsSubstring("is not an object (operation = 0)"));
  CHECK_THAT(said_of(R"({"operations": [{"time": 1e999}]})"), ContainsSubstring("too large for any type (byte = "));
  CHECK_THROWS_AS(read_graph_json(std::string(100'000, '[')), parse_error);
  CHECK_THROWS_AS(read_graph_json("{\"more\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}"),
                  parse_error);
}

TEST_CASE("a tree of a graph and its text are refused alike", "[adapt][graph]") {
  spoiler spoil{5};
  std::vector<std::string> texts{R"({"graph": {"operations": [{"bytes": 2}], "more": [{}]}, "operations": [{}]})"};
  for (auto const of : graphs::all_kinds)
    for (int const size : {0, 1, 4}) {
      auto graph = graphs::with_flags(graphs::make(of, size, 1), 2);
      graph.loss_time = 3;
      texts.push_back(graph_json(graph).dump());
    }
  int sound = 0;
  for (int k = 0; k < 20'000; ++k) {
    std::string const text = spoil.spoilt(texts[std::size_t(k) % texts.size()], '{');
    auto const tree = nlohmann::json::parse(text, nullptr, false);
    auto const of_text = said_of(text);
    sound += of_text.empty();
    if (tree.is_discarded()) {
      REQUIRE_FALSE(of_text.empty());
      continue;
    }
    std::string of_tree;
    try {
      auto const graph = graph_from_json(tree);
      if (of_text.empty()) REQUIRE(graph == read_graph_json(text));
    } catch (error const& found) {
      of_tree = found.what();
    }
    // A tree forgets the order and what was given twice.
    INFO(text << "\n" << of_text << "\n" << of_tree);
    REQUIRE((of_text.empty() == of_tree.empty() || of_text.find("twice") != of_text.npos ||
             text.find("\"graph\"") != text.npos));
  }
  CHECK(sound > 200);
  CHECK(sound < 10'000);
}

TEST_CASE("a plan that is written is obeyed as it was", "[adapt][graph]") {
  operation_graph graph = graphs::make(graphs::kind::transformer, 14, 3);
  for (auto& one : graph.operations) one.tape_bytes = one.bytes % 3;
  graph_planner planner{graph};
  auto const plan = planner.plan(planner.least_budget());
  auto const object = graph_plan_json(plan);
  CHECK(object["peak"] == plan.cost.peak);
  CHECK(object["runs"] == plan.cost.runs);
  CHECK(read_graph_plan_json(object.dump()) == plan.actions);
  CHECK_THROWS_AS(read_graph_plan_json("{}"), parse_error);
  CHECK_THROWS_AS(read_graph_plan_json("[]"), parse_error);
  CHECK_THROWS_AS(read_graph_plan_json("{\"plan\": 3}"), parse_error);
  CHECK_THROWS_AS(read_graph_plan_json("{\"plan\": \"F\"}"), parse_error);
}
