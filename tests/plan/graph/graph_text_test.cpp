// SPDX-License-Identifier: Apache-2.0
// Plans for graphs as words and as curves.
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/text/graph_words.hpp>
#include <cairn/plan/text/memory_over_time.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/graph_kinds.hpp"

using namespace cairn;
using namespace cairn::graph_actions;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string said_of(std::string const& line) {
  try {
    (void)read_graph_words(line);
  } catch (parse_error const& found) {
    return found.what();
  }
  return "";
}

}  // namespace

TEST_CASE("actions of a graph are words, and back", "[plan][graph]") {
  std::vector<action> const plan{advance(0),   record(1),   drop(0),    advance(12), turn(13),
                                 drop_tape(1), reverse(12), reverse(1), reverse(0)};
  CHECK(graph_words(plan) == "F0 R1 Drop0 F12 Loss13 DropTape1 B12 B1 B0");
  CHECK(read_graph_words(graph_words(plan)) == plan);
  CHECK(read_graph_words(" F0\t\n R1 ") == std::vector<action>{advance(0), record(1)});
  CHECK(graph_words({}).empty());
  CHECK(read_graph_words(" \n").empty());
}

TEST_CASE("words that are none are refused with their number", "[plan][graph]") {
  for (char const* const line : {"F0 G1", "F0 f1", "F0 1", "F0 Drop:disk1", "F0 -1"})
    CHECK_THAT(said_of(line), ContainsSubstring("no such action of a graph (word = 1)"));
  for (char const* const line : {"F", "F1x", "B2147483648", "Loss99999999999999999999"})
    CHECK_THAT(said_of(line), ContainsSubstring("an action of a graph lacks the number of its operation (word = 0)"));
}

TEST_CASE("the curve of a plan for a graph has its peak and its time", "[plan][graph][long]") {
  operation_graph graph = graphs::make(graphs::kind::residual, 12, 1);
  for (auto& one : graph.operations) one.bytes *= 1000, one.tape_bytes = 100;
  graph_planner planner{graph};
  for (auto const& plan : planner.pareto(3)) {
    auto const curve = graph_memory_over(graph, plan.actions);
    auto const samples = samples_of(curve);
    auto const drops = std::count_if(plan.actions.begin(), plan.actions.end(),
                                     [](action const& a) { return a.kind == action_kind::drop; });
    CHECK(std::int64_t(samples.size()) == std::int64_t(plan.actions.size()) - drops);
    CHECK(samples.back().end == plan.cost.makespan);
    std::int64_t most = 0, now = 0;
    for (std::size_t k = 0; k < samples.size(); ++k) {
      auto const& at = samples[k];
      CHECK((at.begin == now && at.end >= now));
      CHECK(plan.actions[curve.moments[k].action].kind != action_kind::drop);
      now = at.end;
      most = std::max(most, at.bytes);
    }
    CHECK(most == plan.cost.peak);
    CHECK((curve.peak == most && curve.moments[curve.summit].held == most));
  }
  CHECK_THROWS_AS(graph_memory_over(graph, std::vector<action>{turn(0)}), invalid_schedule);
}
