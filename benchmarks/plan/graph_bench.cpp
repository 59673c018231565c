// SPDX-License-Identifier: Apache-2.0
// How far plans of whole networks are from what is proven, and how long they take to be found, at shares of the bytes
// of storing everything. `makespan` and `bound` are over the time of storing everything, `gap` is (makespan - bound) /
// bound of `graph_plan::gap`; 0 percent is the least budget.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/graph/liveness.hpp>
#include "../suite.hpp"
#include "../../tests/support/network_graphs.hpp"

namespace {

/// Each iteration plans with a new planner, nothing of which is there before.
void planning(benchmark::State& run, cairn::operation_graph const& graph, std::int64_t budget) {
  cairn::graph_plan plan;
  for (auto _ : run) plan = cairn::graph_planner{graph}.plan(budget);
  double const all = double(plan.cost.makespan - plan.cost.extra_forward);
  run.counters["operations"] = double(graph.size());
  run.counters["makespan"] = double(plan.cost.makespan) / all;
  run.counters["bound"] = double(plan.lower_bound_time) / all;
  run.counters["gap"] = plan.gap();
  suite::compare(run, "over_budget", double(plan.cost.peak > budget), 0);
}

}  // namespace

int main(int argc, char** argv) {
  for (auto const& [name, graph] : graphs::all_networks())
    for (int const percent : {50, 33, 25, 0}) {
      auto const share = percent == 33 ? std::string{"third"} : std::to_string(percent) + "%";
      suite::add("graph/" + std::string{name} + "/" + (percent == 0 ? "least" : share),
                 [graph = graph, percent](benchmark::State& run) {
                   auto const live = cairn::live_bytes(graph);
                   std::int64_t const all = *std::max_element(live.begin(), live.end());
                   planning(run, graph,
                            percent == 0    ? cairn::graph_planner{graph}.least_budget()
                            : percent == 33 ? all / 3
                                            : all * percent / 100);
                 })
          ->Unit(benchmark::kMillisecond)
          ->Iterations(1);
    }
  return suite::run(argc, argv);
}
