// SPDX-License-Identifier: Apache-2.0
// Plans for graphs: within the budget, always; as fast as any plan where the graph is small; and close to that without
// the exact search.
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/graph/liveness.hpp>
#include <cairn/plan/graph/replay.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_search.hpp"
#include "support/graph_kinds.hpp"
#include "support/graph_search.hpp"

using cairn::action;
using cairn::graph_options;
using cairn::graph_planner;
using cairn::operation_graph;
using Catch::Matchers::ContainsSubstring;

namespace {

std::int64_t store_all_peak(operation_graph const& graph) {
  cairn::detail::graph_model const model{graph, "test"};
  return cairn::detail::run_measure{model}.cost(cairn::detail::store_all_runs(model)).peak;
}
/// What must hold of any plan.
void check_plan(operation_graph const& graph, cairn::graph_plan const& plan, std::int64_t budget) {
  CHECK(cairn::replay(graph, plan.actions) == plan.cost);
  CHECK(plan.budget == budget);
  CHECK(plan.cost.peak <= budget);
  CHECK(plan.lower_bound_peak <= plan.cost.peak);
  CHECK(plan.lower_bound_time <= plan.cost.makespan);
  CHECK(plan.is_exact == (plan.lower_bound_time == plan.cost.makespan));
}
/// Ratios to the fastest plans there are, of a family of graphs.
struct tally {
  int pairs = 0, infeasible = 0, fastest = 0;
  double ratio = 0, worst = 1, bound = 0;
  void add(std::int64_t found, std::int64_t best, std::int64_t below) {
    double const one = best == 0 ? 1 : double(found) / double(best);
    ++pairs;
    fastest += found == best;
    ratio += one;
    worst = std::max(worst, one);
    bound += best == 0 ? 1 : double(below) / double(best);
  }
  void print(std::string const& name) const {
    std::printf(
        "%-22s %6d pairs, %d below the least budget found, %d as fast as any, makespan / optimum mean %.5f worst %.4f, "
        "lower bound / optimum %.3f\n",
        name.c_str(), pairs, infeasible, fastest, ratio / std::max(1, pairs), worst, bound / std::max(1, pairs));
  }
};
/// Plans at budgets from the least to that of storing everything, and one below.
tally compare(operation_graph const& graph, graph_options options, int budgets, tally sum = {}) {
  brute::graph_search search{graph};
  std::int64_t const all = store_all_peak(graph), least = search.least_peak(all);
  graph_planner planner{graph, options};
  auto const tapes =
      std::count_if(graph.operations.begin(), graph.operations.end(), [](auto const& op) { return op.tape_bytes > 0; });
  auto const uses = std::count_if(graph.operations.begin(), graph.operations.end(), [](auto const& op) {
    return !op.states_changed.empty() || !op.states_read.empty();
  });
  bool const is_exact = graph.size() + tapes + uses <= options.exact_operations;
  std::int64_t const found_least = planner.least_budget();
  CHECK(found_least >= least);
  if (is_exact) CHECK(found_least == least);
  CHECK_THROWS_AS(planner.plan(found_least - 1), cairn::infeasible_budget);
  for (int k = 0; k < budgets; ++k) {
    std::int64_t const budget = least + (all - least) * k / std::max(1, budgets - 1);
    CAPTURE(budget, least, all);
    if (budget < found_least) {
      ++sum.infeasible;
      continue;
    }
    auto const plan = planner.plan(budget);
    check_plan(graph, plan, budget);
    auto const best = search.makespan(budget);
    REQUIRE(best);
    CHECK(plan.cost.makespan >= *best);
    CHECK(plan.lower_bound_time <= *best);
    CHECK(plan.lower_bound_peak <= least);
    if (is_exact) CHECK(plan.is_exact);
    if (plan.is_exact) CHECK(plan.cost.makespan == *best);
    sum.add(plan.cost.makespan, *best, plan.lower_bound_time);
  }
  return sum;
}
constexpr graph_options without_search_of_all{.exact_operations = 0, .effort = 300'000};

}  // namespace

TEST_CASE("small graphs are planned as fast as any plan, and wherever one exists", "[plan][graph][oracle][long]") {
  for (bool odd : {false, true}) {
    tally sum;
    for (auto const kind : graphs::all_kinds)
      for (int size = 1; size <= 8; ++size)
        for (unsigned seed = 0; seed < (kind == graphs::kind::random ? 12 : 3); ++seed) {
          CAPTURE(graphs::name_of(kind), size, seed, odd);
          sum = compare(graphs::make(kind, size, seed, odd), {}, 5, sum);
        }
    CHECK(sum.pairs > 1000);
    CHECK(sum.fastest == sum.pairs);
  }
}

TEST_CASE("small graphs whose adjoints read some inputs are planned as fast as any plan",
          "[plan][graph][oracle][long]") {
  for (bool odd : {false, true}) {
    tally sum;
    std::int64_t fewer = 0;
    for (auto const kind : graphs::all_kinds)
      for (int size = 2; size <= 8; ++size)
        for (unsigned seed = 0; seed < (kind == graphs::kind::random ? 10 : 3); ++seed) {
          CAPTURE(graphs::name_of(kind), size, seed, odd);
          auto const graph = graphs::with_flags(graphs::make(kind, size, seed, odd), seed);
          sum = compare(graph, {}, 5, sum);
          operation_graph all = graph;  // as one flag for all inputs says it
          for (auto& op : all.operations)
            if (!op.adjoint_needs_inputs.each().empty()) op.adjoint_needs_inputs = true;
          std::int64_t const least = graph_planner{graph}.least_budget(),
                             least_of_all = graph_planner{all}.least_budget();
          CHECK(least <= least_of_all);
          fewer += least < least_of_all;
        }
    CHECK(sum.pairs > 500);
    CHECK(sum.fastest == sum.pairs);
    CHECK(fewer > 10);
  }
}

TEST_CASE("without the exact search, graphs whose adjoints read some inputs come close to the fastest plan",
          "[plan][graph][oracle][long]") {
  tally sum;
  for (auto const kind : graphs::all_kinds)
    for (bool odd : {false, true})
      for (int size : {5, 8, 10})
        for (unsigned seed = 0; seed < (size == 10 ? 1 : 2); ++seed) {
          CAPTURE(graphs::name_of(kind), size, seed, odd);
          sum = compare(graphs::with_flags(graphs::make(kind, size, seed, odd), seed), without_search_of_all, 5, sum);
        }
  CHECK(sum.infeasible * 25 <= sum.pairs);
  CHECK(sum.ratio <= 1.01 * sum.pairs);
}

TEST_CASE("blocks, boundaries and the search each come close to the fastest plan", "[plan][graph][oracle][long]") {
  for (auto const kind : graphs::all_kinds)
    for (bool odd : {false, true}) {
      tally sum;
      for (int size : {5, 8, 10})
        for (unsigned seed = 0; seed < (size == 10 ? 1 : 2); ++seed) {
          CAPTURE(graphs::name_of(kind), size, seed, odd);
          sum = compare(graphs::make(kind, size, seed, odd), without_search_of_all, 5, sum);
        }
      CAPTURE(graphs::name_of(kind), odd);
      CHECK(sum.infeasible * 25 <= sum.pairs);
      CHECK(sum.ratio <= 1.01 * sum.pairs);
    }
}

TEST_CASE("tapes are within the budget, and plans record what adjoints need", "[plan][graph][long]") {
  for (auto const kind : graphs::all_kinds)
    for (int size : {1, 3, 7, 24})
      for (bool odd : {false, true}) {
        CAPTURE(graphs::name_of(kind), size, odd);
        operation_graph graph = graphs::make(kind, size, 1, odd);
        for (std::size_t v = 0; v < graph.operations.size(); ++v)
          graph.operations[v].tape_bytes = std::int64_t(v * v % 5);
        auto const live = cairn::live_bytes(graph);
        CHECK(live.size() == 2 * graph.operations.size() + 1);
        std::int64_t const all = *std::max_element(live.begin(), live.end());
        graph_planner planner{graph, {.effort = 100'000}};
        std::int64_t const least = planner.least_budget();
        CHECK_THROWS_AS(planner.plan(least - 1), cairn::infeasible_budget);
        for (std::int64_t const budget : {least, least + (all - least) / 2, (std::max)(least, all)}) {
          auto const plan = planner.plan(budget);
          check_plan(graph, plan, budget);
          auto const records = std::count_if(plan.actions.begin(), plan.actions.end(),
                                             [](action const& a) { return a.kind == cairn::action_kind::record; });
          auto const wanted = std::count_if(graph.operations.begin(), graph.operations.end(),
                                            [](auto const& op) { return op.tape_bytes > 0; });
          CHECK(records >= wanted);
        }
      }
}

TEST_CASE("small graphs with tapes are planned as fast as any plan", "[plan][graph][oracle][long]") {
  for (bool odd : {false, true}) {
    tally sum;
    for (auto const kind : graphs::all_kinds)
      for (int size = 1; size <= 7; ++size)
        for (unsigned seed = 0; seed < 4; ++seed) {
          CAPTURE(graphs::name_of(kind), size, seed, odd);
          sum = compare(graphs::with_tapes(graphs::make(kind, size, seed, odd), 3, seed), {}, 5, sum);
        }
    CHECK(sum.pairs > 500);
    CHECK(sum.fastest == sum.pairs);
  }
}

TEST_CASE("of tapes, blocks, boundaries and the search keep the right ones and make others again",
          "[plan][graph][oracle][long]") {
  for (bool odd : {false, true}) {
    tally sum;
    for (auto const kind : graphs::all_kinds)
      for (int size : {5, 8, 10})
        for (unsigned seed = 0; seed < (size == 10 ? 1 : 2); ++seed) {
          CAPTURE(graphs::name_of(kind), size, seed, odd);
          sum =
              compare(graphs::with_tapes(graphs::make(kind, size, seed, odd), 3, seed), without_search_of_all, 5, sum);
        }
    sum.print(odd ? "tapes, odd" : "tapes");
    CHECK(sum.infeasible * 25 <= sum.pairs);
    CHECK(sum.ratio <= 1.01 * sum.pairs);
  }
}

TEST_CASE("a tape waits from its first run or is made again, whichever takes less time", "[plan][graph]") {
  // The tape of 0 waits through the adjoint of 1, beside 32 bytes, or operation 0 runs twice.
  operation_graph const graph{
      .operations = {{.bytes = 2, .time = 3, .tape_bytes = 10, .adjoint_needs_output = false},
                     {.inputs = {0}, .bytes = 15, .time = 1, .adjoint_bytes = 15, .adjoint_needs_inputs = false}}};
  for (graph_options const options : {graph_options{}, graph_options{.exact_operations = 0, .effort = 10'000}}) {
    graph_planner planner{graph, options};
    auto const kept = planner.plan(42), made_again = planner.plan(41);
    CHECK(kept.cost.extra_forward == 0);
    CHECK(made_again.cost.extra_forward == 3);
    CHECK(made_again.cost.peak == 32);
    CHECK(std::count(made_again.actions.begin(), made_again.actions.end(), cairn::graph_actions::record(0)) == 1);
    CHECK(std::count(made_again.actions.begin(), made_again.actions.end(), cairn::graph_actions::advance(0)) == 1);
  }
}

/// Graphs whose operations use states outside, against brute force; counts the plans of the same graphs without states
/// that do not keep their order.
tally compare_with_states(graph_options options, int& refused) {
  tally sum;
  auto const check = [&](operation_graph const& free, unsigned seed) {
    auto const graph = graphs::with_states(free, 5, seed);
    sum = compare(graph, options, 4, sum);
    for (auto const& plan : graph_planner{free}.pareto(4)) try {
        (void)cairn::replay(graph, plan.actions);
      } catch (cairn::invalid_schedule const&) {
        ++refused;
      }
  };
  for (auto const kind : graphs::all_kinds)
    for (int size : {3, 5, 7})
      for (unsigned seed = 0; seed < 4; ++seed) {
        CAPTURE(graphs::name_of(kind), size, seed);
        check(graphs::make(kind, size, seed, seed % 2 == 0), seed);
      }
  for (int pairs : {2, 3})  // the search for long graphs runs operations for the first time in the given order
    for (unsigned seed = 0; seed < 20 && options.exact_operations > 0; ++seed) {
      CAPTURE(pairs, seed);
      check(graphs::crossed(pairs, seed), seed);
    }
  return sum;
}

TEST_CASE("small graphs whose operations use states outside are planned as fast as any plan that keeps their order",
          "[plan][graph][oracle][long]") {
  int refused = 0;
  tally const sum = compare_with_states({}, refused);
  CHECK(sum.pairs > 400);
  CHECK(sum.fastest == sum.pairs);
  CHECK(refused > 10);
}

TEST_CASE("without the exact search, graphs whose operations use states come close to the fastest plan",
          "[plan][graph][oracle][long]") {
  int refused = 0;
  tally const sum = compare_with_states(without_search_of_all, refused);
  CHECK(sum.infeasible * 25 <= sum.pairs);
  CHECK(sum.ratio <= 1.01 * sum.pairs);
}

TEST_CASE("the states that a plan copies count, and every plan keeps their order", "[plan][graph][long]") {
  std::int64_t copied = 0;
  for (auto const kind : graphs::all_kinds)
    for (int size : {4, 20}) {
      constexpr unsigned seed = 1;
      CAPTURE(graphs::name_of(kind), size);
      auto const graph = graphs::with_states(graphs::make(kind, size, seed, false), 3 + size / 3, seed, 12);
      auto bare = graph;
      for (auto& op : bare.operations) op.copy_bytes = 0;
      for (auto const options : {graph_options{.effort = 300'000},
                                 graph_options{.exact_operations = 0, .block_operations = 4, .effort = 300'000}}) {
        graph_planner planner{graph, options};
        for (auto const& plan : planner.pareto(3)) {
          check_plan(graph, plan, plan.budget);
          copied += cairn::replay(bare, plan.actions).peak < plan.cost.peak;
        }
        CHECK(planner.plan(store_all_peak(graph)).cost.runs == graph.size());
      }
    }
  CHECK(copied > 10);
}

TEST_CASE("a plan that runs operations for the first time against the order of their states is refused",
          "[plan][graph]") {
  using namespace cairn::graph_actions;
  operation_graph graph;
  graph.operations = {{.bytes = 1, .states_changed = {5}}, {.bytes = 1, .states_read = {5}},
                      {.bytes = 1, .states_read = {5}}, {.inputs = {0, 1, 2}, .bytes = 1}};
  auto const rest = [](std::vector<action> plan) {
    for (action const& a : {advance(3), turn(4), reverse(3), reverse(2), reverse(1), reverse(0)}) plan.push_back(a);
    return plan;
  };
  CHECK(cairn::replay(graph, rest({advance(0), advance(2), advance(1)})).runs == 4);  // two readers in any order
  CHECK_THROWS_WITH(cairn::replay(graph, rest({advance(1), advance(0), advance(2)})),
                    ContainsSubstring("before an earlier one that uses the same state has run"));
  CHECK(cairn::replay(graph, rest({advance(0), drop(0), advance(1), advance(0), advance(2)})).runs == 5);
  graph.operations[0].states_changed = {-1};
  CHECK_THROWS_WITH(graph_planner{graph}, ContainsSubstring("negative number"));
}

TEST_CASE("graphs of many operations against brute force", "[plan][graph][.soak]") {
  for (auto const kind : graphs::all_kinds)
    for (bool odd : {false, true}) {
      tally exact, near;
      for (int size = 1; size <= 8; ++size)
        for (unsigned seed = 100; seed < 250; ++seed) {
          CAPTURE(graphs::name_of(kind), size, seed, odd);
          exact = compare(graphs::make(kind, size, seed, odd), {}, 8, exact);
        }
      for (int size : {8, 10, 12, 14})
        for (unsigned seed = 100; seed < 108; ++seed) {
          CAPTURE(graphs::name_of(kind), size, seed, odd);
          near = compare(graphs::make(kind, size, seed, odd), without_search_of_all, 8, near);
        }
      CHECK(exact.fastest == exact.pairs);
      exact.print(std::string{graphs::name_of(kind)} + (odd ? ", odd, 1..8" : ", 1..8"));
      near.print(std::string{graphs::name_of(kind)} + (odd ? ", odd, blocks" : ", blocks"));
    }
}

TEST_CASE("a chain as a graph is planned as chains are", "[plan][graph][oracle][long]") {
  // The models agree if a tape is only the output and the new adjoint is made beside the old one: s = x[i+1], b[i] =
  // g[i]. They differ elsewhere: a graph has one size a value and knows no tapes; a chain has no operation that reads
  // two values.
  for (unsigned seed = 0; seed < 30; ++seed) {
    int const stages = 1 + int(seed % 6);
    cairn::chain c = chains::make(chains::kind::tiny, stages, seed);
    c.g.clear();
    operation_graph graph;
    for (std::size_t i = 0; i < std::size_t(stages); ++i) {
      c.s[i] = c.x[i + 1];
      c.b[i] = i > 0 ? c.x[i] : 0;
      cairn::graph_operation op{.bytes = c.x[i + 1], .time = c.u[i], .work = c.f[i], .adjoint_time = c.v[i]};
      if (i > 0) op.inputs = {cairn::step_index(i) - 1};
      graph.operations.push_back(op);
    }
    c.b[std::size_t(stages)] = c.x[std::size_t(stages)];
    graph.loss_time = c.v[std::size_t(stages)];
    brute::chain_search search{c};
    std::int64_t const all = store_all_peak(graph), least = search.least_peak(all);
    graph_planner planner{graph}, near{graph, without_search_of_all};
    CHECK(planner.least_budget() == least);
    for (std::int64_t budget = least; budget <= all; ++budget) {
      CAPTURE(seed, stages, budget);
      CHECK(planner.plan(budget).cost.makespan == search.makespan(budget));
      if (budget >= near.least_budget()) CHECK(near.plan(budget).cost.makespan >= *search.makespan(budget));
    }
  }
}

TEST_CASE("graphs of no, one and two operations have plans", "[plan][graph]") {
  for (graph_options const options : {graph_options{}, graph_options{.exact_operations = 0}}) {
    graph_planner nothing{operation_graph{.operations = {}, .loss_time = 3, .loss_work = 5}, options};
    CHECK(nothing.least_budget() == 5);
    auto const only_loss = nothing.plan(5);
    CHECK(only_loss.actions == std::vector<action>{cairn::graph_actions::turn(0)});
    CHECK(only_loss.cost.makespan == 3);
    CHECK_THROWS_AS(nothing.plan(4), cairn::infeasible_budget);
    CHECK_THROWS_AS(nothing.plan(-1), cairn::infeasible_budget);

    graph_planner one{operation_graph{.operations = {{.bytes = 4, .time = 1, .adjoint_time = 2}}}, options};
    CHECK(one.least_budget() == 8);
    CHECK(one.plan(8).cost == cairn::graph_cost{.peak = 8, .makespan = 3, .runs = 1, .peak_adjoints = 4});

    // Value 0 waits through the loss, or is made again after it.
    operation_graph const two{
        .operations = {{.bytes = 10, .time = 1},
                       {.inputs = {0}, .bytes = 1, .adjoint_bytes = 20, .adjoint_needs_output = false},
                       {.inputs = {1}, .bytes = 30, .adjoint_bytes = 1}}};
    graph_planner planner{two, options};
    for (std::int64_t budget = planner.least_budget(); budget <= store_all_peak(two); ++budget)
      check_plan(two, planner.plan(budget), budget);
    CHECK(planner.plan(planner.least_budget()).cost.extra_forward == 1);
  }
}

TEST_CASE("values without bytes and operations without time are planned", "[plan][graph]") {
  for (graph_options const options : {graph_options{}, graph_options{.exact_operations = 0, .effort = 100'000}}) {
    operation_graph graph = graphs::make(graphs::kind::transformer, 12, 3);
    for (auto& op : graph.operations) op.time = op.adjoint_time = 0;
    graph_planner timeless{graph, options};
    auto const free = timeless.plan(timeless.least_budget());
    check_plan(graph, free, timeless.least_budget());
    CHECK(free.cost.makespan == 0);
    CHECK(free.is_exact);
    for (auto& op : graph.operations) op.bytes = 0;
    graph_planner weightless{graph, options};
    CHECK(weightless.least_budget() == 0);
    CHECK(weightless.plan(0).cost.runs == 12);
  }
}

TEST_CASE("parts that do not meet, and many outputs, are planned", "[plan][graph]") {
  for (graph_options const options : {graph_options{}, graph_options{.exact_operations = 0, .effort = 300'000}}) {
    operation_graph graph;
    for (int part = 0; part < 3; ++part)  // three chains side by side
      for (int k = 0; k < 3; ++k) {
        cairn::graph_operation op{.bytes = 3 + part, .time = 1 + k, .adjoint_time = 1};
        if (k > 0) op.inputs = {graph.size() - 1};
        graph.operations.push_back(op);
      }
    auto const sum = compare(graph, options, 6);
    CHECK(sum.ratio <= 1.05 * sum.pairs);
    for (std::size_t v = 0; v < graph.operations.size(); ++v) graph.outputs.push_back(cairn::step_index(v));
    CHECK(compare(graph, options, 6).pairs > 0);
  }
}

TEST_CASE("wide graphs keep within every budget", "[plan][graph][long]") {
  operation_graph graph{.operations = {{.bytes = 5, .time = 3, .adjoint_time = 1}}};
  for (int k = 0; k < 30; ++k)
    graph.operations.push_back({.inputs = {0}, .bytes = 4 + k % 3, .time = 2, .adjoint_time = 1});
  cairn::graph_operation join{.bytes = 9, .time = 1, .adjoint_needs_inputs = false};
  for (cairn::step_index k = 1; k <= 30; ++k) join.inputs.push_back(k);
  graph.operations.push_back(join);
  graph_planner planner{graph, {.effort = 2'000'000}};
  std::int64_t const least = planner.least_budget(), all = store_all_peak(graph);
  CHECK(least < all);
  for (int k = 0; k <= 4; ++k)
    check_plan(graph, planner.plan(least + (all - least) * k / 4), least + (all - least) * k / 4);
}

TEST_CASE("long graphs are planned in seconds and within the budget", "[plan][graph][long]") {
  for (auto const kind : {graphs::kind::residual, graphs::kind::transformer, graphs::kind::unet}) {
    operation_graph graph = graphs::make(kind, 200, 1);
    for (std::size_t v = 0; v < graph.operations.size(); ++v)
      graph.operations[v].bytes = graph.operations[v].bytes * 1'000'000 + std::int64_t(v * v * 7919 % 1'000'000);
    CAPTURE(graphs::name_of(kind));
    graph_planner planner{graph, {.effort = 1'000'000}};
    std::int64_t const all = store_all_peak(graph), least = planner.least_budget();
    CHECK(least < all);
    auto const tight = planner.plan(least);
    check_plan(graph, tight, least);
    auto const half = planner.plan(least + (all - least) / 2);
    check_plan(graph, half, least + (all - least) / 2);
    CHECK(half.cost.makespan <= tight.cost.makespan);
    CHECK(planner.plan(all).is_exact);
  }
  operation_graph chain;
  for (cairn::step_index v = 0; v < 200; ++v) {
    chain.operations.push_back({.bytes = 1, .time = 1, .adjoint_time = 1});
    if (v > 0) chain.operations.back().inputs = {v - 1};
  }
  graph_planner planner{chain, {.effort = 1'000'000}};
  CHECK(planner.least_budget() <= 12);  // value, adjoints, and no more than log2 of 200
  auto const plan = planner.plan(24);
  check_plan(chain, plan, 24);
  CHECK(plan.cost.extra_forward <= 2 * 200);
}

TEST_CASE("a curve falls from the least budget to that of storing everything", "[plan][graph]") {
  operation_graph const graph = graphs::make(graphs::kind::attention, 13, 5);
  graph_planner planner{graph};
  auto const curve = planner.pareto(12);
  REQUIRE(curve.size() >= 3);
  CHECK(curve.front().budget == planner.least_budget());
  CHECK(curve.back().cost.extra_forward == 0);
  for (std::size_t k = 0; k < curve.size(); ++k) {
    check_plan(graph, curve[k], curve[k].budget);
    if (k > 0) CHECK(curve[k].cost.makespan < curve[k - 1].cost.makespan);
  }
  CHECK_THROWS_AS(planner.pareto(1), cairn::invalid_plan);
}

TEST_CASE("the same graph and budget have the same plan", "[plan][graph][long]") {
  operation_graph const graph = graphs::make(graphs::kind::unet, 30, 2);
  graph_planner first{graph, {.effort = 500'000}}, second{graph, {.effort = 500'000}};
  std::int64_t const budget = (first.least_budget() + store_all_peak(graph)) / 2;
  (void)second.plan(store_all_peak(graph));
  CHECK(first.plan(budget).actions == second.plan(budget).actions);
}

TEST_CASE("the least budget is one of bytes alone, whatever times were measured", "[plan][graph]") {
  std::mt19937_64 dice{1};
  for (auto const kind : graphs::all_kinds)
    for (graph_options const options : {graph_options{.effort = 20'000}, {.exact_operations = 0, .effort = 20'000}}) {
      operation_graph graph = graphs::make(kind, 16, 3, true);
      std::int64_t const least = graph_planner{graph, options}.least_budget();
      for (int trial = 0; trial < 8; ++trial) {
        for (auto& operation : graph.operations) operation.time = 1 + std::int64_t(dice() % 100);
        graph_planner planner{graph, options};
        CHECK(planner.least_budget() == least);
        check_plan(graph, planner.plan(least), least);
      }
    }
}

TEST_CASE("without effort there are plans still", "[plan][graph]") {
  operation_graph const graph = graphs::make(graphs::kind::transformer, 30, 2);
  graph_planner planner{graph, {.effort = 0}};
  std::int64_t const least = planner.least_budget();
  CHECK(least < store_all_peak(graph));
  for (std::int64_t budget = least; budget <= store_all_peak(graph); budget += 7)
    check_plan(graph, planner.plan(budget), budget);
}

TEST_CASE("what cannot be planned is refused with what would work", "[plan][graph]") {
  operation_graph const graph = graphs::make(graphs::kind::residual, 6, 1);
  for (graph_options const wrong :
       {graph_options{.exact_operations = 19}, graph_options{.exact_operations = -1},
        graph_options{.block_operations = 0}, graph_options{.block_operations = 11}, graph_options{.effort = -1}})
    CHECK_THROWS_AS(graph_planner(graph, wrong), cairn::invalid_plan);
  operation_graph loop = graph;
  loop.operations[0].inputs = {5};
  CHECK_THROWS_AS(graph_planner(loop), cairn::invalid_plan);
  graph_planner planner{graph};
  try {
    (void)planner.plan(1);
    FAIL("a budget of one byte");
  } catch (cairn::infeasible_budget const& e) {
    CHECK(e.value(0).magnitude == 1);
    CHECK(e.value(1).magnitude == cairn::wide(planner.least_budget()));
  }
}
