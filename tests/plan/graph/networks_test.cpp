// SPDX-License-Identifier: Apache-2.0
// Plans for whole networks: within the budget, close to what is proven, and within a limit of work.
#include <cairn/plan/graph/graph_planner.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <cairn/plan/graph/liveness.hpp>
#include <cairn/plan/graph/replay.hpp>

#include "support/catch.hpp"
#include "support/graph_kinds.hpp"
#include "support/network_graphs.hpp"

using cairn::graph_options;
using cairn::graph_plan;
using cairn::graph_planner;
using cairn::operation_graph;

namespace {

std::int64_t store_all_bytes(operation_graph const& graph) {
  auto const live = cairn::live_bytes(graph);
  return *std::max_element(live.begin(), live.end());
}
void check_plan(operation_graph const& graph, graph_plan const& plan, std::int64_t budget) {
  CHECK(cairn::replay(graph, plan.actions) == plan.cost);
  CHECK(plan.cost.peak <= budget);
  CHECK(plan.lower_bound_time <= plan.cost.makespan);
  CHECK(plan.gap() >= 0);
}

}  // namespace

TEST_CASE("networks have the operations and bytes that they are known for", "[plan][graph]") {
  auto const resnet = graphs::resnet({3, 4, 6, 3});
  CHECK(resnet.size() == 174);
  CHECK(resnet.operations[0].bytes == 4 * 4 * 64 * 32 * 32);
  CHECK(resnet.operations.back().bytes == 4 * 4 * 1000);
  CHECK(graphs::resnet({3, 8, 36, 3}).size() == 514);
  CHECK(graphs::transformer().size() == 245);
  CHECK(graphs::u_net().size() == 75);
  // 4.1 * 10^9 products with their sums for a picture of 224 x 224; the rest is bytes moved.
  std::int64_t time = 0;
  for (auto const& op : graphs::resnet({3, 4, 6, 3}, 1, 224).operations) time += op.time - 2'000;
  CHECK(double(time) * 50 / 2 > 4.1e9);
  CHECK(double(time) * 50 / 2 < 5.0e9);
}

TEST_CASE("plans for networks at half and a third of the bytes are within 5 percent of the bound",
          "[plan][graph][long]") {
  for (auto const& [name, graph] : graphs::all_networks()) {
    graph_planner planner{graph, {.effort = graph.size() > 500 ? 6'000'000 : 3'000'000}};
    std::int64_t const all = store_all_bytes(graph);
    CAPTURE(std::string{name});
    for (std::int64_t const share : {2, 3}) {
      auto const plan = planner.plan(all / share);
      check_plan(graph, plan, all / share);
      std::printf("%-12s 1/%d: makespan %.4f of storing everything, gap %.2f %%\n", std::string{name}.c_str(),
                  int(share), double(plan.cost.makespan) / double(plan.cost.makespan - plan.cost.extra_forward),
                  100 * plan.gap());
      CHECK(plan.gap() <= 0.05);
    }
    auto const least = planner.plan(planner.least_budget());
    check_plan(graph, least, planner.least_budget());
    CHECK(planner.least_budget() * 4 <= all);
  }
}

TEST_CASE("a limit of work ends in a plan with its gap, or in an error, and never over the budget",
          "[plan][graph][long]") {
  auto const graph = graphs::resnet({3, 4, 6, 3});
  std::int64_t const budget = store_all_bytes(graph) / 2;
  std::int64_t last = INT64_MAX;
  bool was_refused = false, was_planned = false;
  for (cairn::wide sums = 1; sums < cairn::wide{1} << 27; sums *= 4) {
    graph_options options;
    options.limit.most_sums = sums;
    try {
      auto const plan = graph_planner{graph, options}.plan(budget);
      check_plan(graph, plan, budget);
      CHECK(plan.lower_bound_time > plan.cost.makespan - plan.cost.extra_forward);  // the bound of one span at least
      CHECK(plan.cost.makespan <= last);
      last = plan.cost.makespan;
      CHECK(graph_planner{graph, options}.plan(budget).actions == plan.actions);
      was_planned = true;
    } catch (cairn::too_much_work const& refused) {
      CHECK_FALSE(was_planned);
      CHECK(std::string{refused.what()}.find("the plan of this graph takes too much work") != std::string::npos);
      was_refused = true;
    }
  }
  CHECK(was_refused);
  CHECK(was_planned);
}

TEST_CASE("who is asked to stop stops, and a plan that is at hand needs no work", "[plan][graph][long]") {
  auto const graph = graphs::resnet({3, 4, 6, 3});
  std::int64_t const all = store_all_bytes(graph);
  int asked = 0;
  graph_options options{.effort = 3'000'000};
  options.limit.context = &asked;
  options.limit.stop = [](void* count, double) { return ++*static_cast<int*>(count) >= 3; };
  graph_planner planner{graph, options};
  CHECK(planner.plan(all).is_exact);
  CHECK(asked == 0);
  try {
    check_plan(graph, planner.plan(all / 2), all / 2);
  } catch (cairn::too_much_work const& refused) {
    CHECK(std::string{refused.what()}.find("the planning of this graph was stopped") != std::string::npos);
  }
  CHECK(asked == 3);
  // Each call counts anew, and what was found stays.
  asked = -1000;
  check_plan(graph, planner.plan(all / 2), all / 2);
  options.limit = {.most_sums = 1};
  graph_planner none{graph, options};
  CHECK_THROWS_AS(none.plan(all / 2), cairn::too_much_work);
  CHECK(none.least_budget() == all);
  CHECK(none.pareto(5).size() == 1);
  // Small graphs are cut short, too.
  auto const small = graphs::make(graphs::kind::residual, 12, 1);
  CHECK_THROWS_AS((graph_planner{small, options}.plan(store_all_bytes(small) / 2)), cairn::too_much_work);
}
