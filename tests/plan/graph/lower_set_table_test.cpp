// SPDX-License-Identifier: Apache-2.0
// The parts below the planner of graphs: options of blocks, the table over places, the exact search and the bounds.
#include <cairn/plan/graph/detail/lower_set_table.hpp>

#include <algorithm>
#include <optional>
#include <vector>

#include <cairn/plan/graph/detail/exact_search.hpp>
#include <cairn/plan/graph/detail/graph_search.hpp>
#include <cairn/plan/graph/detail/run_search.hpp>
#include <cairn/plan/graph/replay.hpp>

#include "support/catch.hpp"
#include "support/graph_kinds.hpp"
#include "support/graph_search.hpp"

using namespace cairn::detail;

namespace {

std::int64_t adjoint_times(graph_model const& model) {
  std::int64_t sum = 0;
  for (auto const time : model.adjoint_time) sum += time;
  return sum;
}

}  // namespace

TEST_CASE("an option of a whole graph costs what its replay costs", "[plan][graph]") {
  for (auto const kind : graphs::all_kinds)
    for (int size : {1, 4, 7})
      for (bool odd : {false, true}) {
        auto const graph = graphs::with_tapes(graphs::make(kind, size, 17, odd), size % 2, 3);
        CAPTURE(graphs::name_of(kind), size, odd);
        graph_model const model{graph, "test"};
        run_measure measure{model};
        block_search search{model, 0, std::size_t(size) + 1};
        auto const options = search.candidates();
        CHECK(options.open.empty());
        REQUIRE_FALSE(options.closing.empty());
        brute::graph_search all_plans{graph};
        for (auto const& option : options.closing) {
          run_order runs;
          search.run_forward(option, true, runs);
          search.run_backward(option, runs);
          auto const cost = cairn::replay(graph, measure.with_drops(runs));
          std::int64_t const peak = std::max(option.forward_peak, option.backward_peak);
          CHECK(cost.peak <= peak);
          CHECK(cost.makespan <= option.time + adjoint_times(model));
          CHECK(cost.makespan >= all_plans.makespan(peak));
          for (auto const& other : options.closing)
            if (&other != &option)
              CHECK_FALSE((other.time <= option.time && other.kept <= option.kept &&
                           other.backward_peak <= option.backward_peak && other.forward_peak <= option.forward_peak));
        }
        // The least time there is for any amount of room is that of running everything once.
        auto const fastest = std::min_element(options.closing.begin(), options.closing.end(),
                                              [](auto const& a, auto const& b) { return a.time < b.time; });
        CHECK(fastest->time + adjoint_times(model) == model.least_time());
      }
}

TEST_CASE("a table's plan keeps its word, in bytes and in rounded units", "[plan][graph][long]") {
  int planned = 0;
  for (auto const kind : graphs::all_kinds)
    for (int size : {3, 8, 14, 30})
      for (std::int64_t unit : {1, 3})
        for (std::size_t places : {std::size_t{4}, std::size_t{64}}) {
          auto const graph = graphs::make(kind, size, 5, unit == 3);
          CAPTURE(graphs::name_of(kind), size, unit, places);
          graph_model const model{graph, "test"};
          run_measure measure{model};
          graph_blocks const blocks{model, 6, places};
          CHECK(std::is_sorted(blocks.places.begin(), blocks.places.end()));
          CHECK(blocks.places.size() <= places + 3);
          lower_set_table table{model, blocks, unit, 1u << 22};
          std::int64_t const least = table.least_budget(), all = measure.cost(store_all_runs(model)).peak;
          CHECK(least >= least_peak_bound(model));
          if (least > 0) CHECK_FALSE(table.time(least - 1));
          std::optional<std::int64_t> last;
          for (int k = 0; k <= 6; ++k) {
            std::int64_t const budget = least + std::max<std::int64_t>(0, all - least) * k / 6;
            auto const time = table.time(budget);
            REQUIRE(time);
            auto const cost = cairn::replay(graph, measure.with_drops(table.runs(budget)));
            CHECK(cost.peak <= budget);
            CHECK(cost.makespan <= *time + adjoint_times(model));
            if (last) CHECK(*time <= *last);
            last = time;
            ++planned;
          }
        }
  CHECK(planned > 300);
}

TEST_CASE("a table returns the same after any other requests", "[plan][graph]") {
  for (auto const kind : graphs::all_kinds)
    for (unsigned seed = 0; seed < 3; ++seed) {
      CAPTURE(graphs::name_of(kind), seed);
      graph_model const model{graphs::make(kind, 14, seed, seed == 1), "test"};
      graph_blocks const blocks{model, 4, 64};
      lower_set_table upward{model, blocks, 1, 1u << 24}, downward{model, blocks, 1, 1u << 24};
      std::int64_t const least = upward.least_budget(), most = least + 40;
      std::vector<std::int64_t> up, down, alone;
      for (std::int64_t budget = least; budget <= most; ++budget) up.push_back(upward.time(budget).value());
      for (std::int64_t budget = most; budget >= least; --budget)
        down.insert(down.begin(), downward.time(budget).value());
      for (std::int64_t budget = least; budget <= most; ++budget)
        alone.push_back(lower_set_table{model, blocks, 1, 1u << 24}.time(budget).value());
      CHECK(up == alone);
      CHECK(down == alone);
    }
}

TEST_CASE("the table for a chain of one-byte values finds the binomial number of runs", "[plan][graph][oracle]") {
  // With room for the value at hand, two adjoints and k kept values: state 0 is the caller's.
  cairn::operation_graph graph;
  for (cairn::step_index v = 0; v < 12; ++v) {
    graph.operations.push_back({.bytes = 1, .time = 1, .adjoint_needs_output = false});
    if (v > 0) graph.operations.back().inputs = {v - 1};
  }
  graph_model const model{graph, "test"};
  graph_blocks const blocks{model, 1, 64};
  lower_set_table table{model, blocks, 1, 1u << 22};
  exact_search search{model};
  run_measure measure{model};
  for (std::int64_t budget = table.least_budget(); budget < 14; ++budget) {
    auto const fastest = search.fastest(budget);
    REQUIRE(fastest);
    CHECK(measure.cost(table.runs(budget)).time >= measure.cost(*fastest).time);
    CHECK(double(measure.cost(table.runs(budget)).time) <= 1.25 * double(measure.cost(*fastest).time));
  }
}

TEST_CASE("a table that may look at little gives up, and says so", "[plan][graph]") {
  graph_model const model{graphs::make(graphs::kind::residual, 40, 1), "test"};
  graph_blocks const blocks{model, 7, 64};
  lower_set_table table{model, blocks, 1, 10};
  CHECK_FALSE(table.time(table.least_budget() + 5));
  CHECK(table.gave_up());
}

TEST_CASE("cuts are where one value crosses", "[plan][graph]") {
  // Three times f, g and a sum with what came in, which in the first is the caller's.
  graph_model const model{graphs::make(graphs::kind::residual, 9, 1), "test"};
  std::vector<std::size_t> cuts;
  for (std::size_t p = 0; p <= 9; ++p)
    if (model.is_cut(p)) cuts.push_back(p);
  CHECK(cuts == std::vector<std::size_t>{0, 1, 2, 3, 6, 9});
}

TEST_CASE("the exact search finds what brute force finds", "[plan][graph][oracle][long]") {
  for (auto const kind : graphs::all_kinds)
    for (int size : {0, 1, 2, 5, 9})
      for (bool odd : {false, true}) {
        auto const graph = graphs::with_tapes(graphs::make(kind, size, 23, odd), 3 * (size % 2), 5);
        CAPTURE(graphs::name_of(kind), size, odd);
        graph_model const model{graph, "test"};
        run_measure measure{model};
        exact_search search{model};
        brute::graph_search all_plans{graph};
        std::int64_t const all = measure.cost(store_all_runs(model)).peak, least = all_plans.least_peak(all);
        CHECK(measure.cost(search.leanest()).peak == least);
        CHECK(least_peak_bound(model) <= least);
        for (std::int64_t budget = least - 1; budget <= all; budget += std::max<std::int64_t>(1, (all - least) / 5)) {
          auto const runs = search.fastest(budget);
          auto const best = all_plans.makespan(budget);
          REQUIRE(runs.has_value() == best.has_value());
          if (!runs) continue;
          auto const cost = cairn::replay(graph, measure.with_drops(*runs));
          CHECK(cost.peak <= budget);
          CHECK(cost.makespan == *best);
          CHECK(model.least_time() + least_extra_time(model, budget) <= *best);
        }
      }
}

TEST_CASE("a bound of nothing is not rounded up to something", "[plan][graph][oracle]") {
  auto const graph = graphs::make(graphs::kind::transformer, 12, 102, true);
  CHECK(brute::graph_search{graph}.makespan(45) == graph_model(graph, "test").least_time());
  CHECK(least_extra_time(graph_model{graph, "test"}, 45) == 0);
}

TEST_CASE("an order and its plan have the same peak and time", "[plan][graph]") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    auto const graph = graphs::make(graphs::kind::random, 15, seed, true);
    graph_model const model{graph, "test"};
    run_measure measure{model};
    std::int64_t const all = measure.cost(store_all_runs(model)).peak;
    run_search search{model, all * 9 / 10, 20'000};
    if (!search.offer(store_all_runs(model))) continue;
    search.search();
    auto const cost = cairn::replay(graph, measure.with_drops(search.best()));
    CHECK(cost.peak == search.cost().peak);
    CHECK(cost.makespan == search.cost().time);
    CHECK(cost.peak <= all * 9 / 10);
  }
}
