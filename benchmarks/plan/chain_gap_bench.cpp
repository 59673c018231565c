// SPDX-License-Identifier: Apache-2.0
// How far automatic plans of chains of 200 stages are from what is proven, and how long they take to be found.
// `gap` is (makespan - bound) / bound of `chain_plan::gap`; `class`: 0 a bound on every schedule, 1 on persistent, 2 on
// non-persistent plans; `of_any` the gap to the bound on every schedule.
#include <cstdint>
#include <string>
#include <cairn/plan/chain/chain_planner.hpp>
#include "../suite.hpp"
#include "../../tests/support/chain_kinds.hpp"

namespace {

void planning(benchmark::State& run, chains::kind kind) {
  cairn::chain const work = chains::make(kind, int(run.range(0)), 1);
  std::int64_t const budget = cairn::chain_planner{work}.store_all_peak() * run.range(1) / 100;
  cairn::chain_plan plan;
  for (auto _ : run) plan = cairn::chain_planner{work}.plan(budget);
  run.counters["gap"] = plan.gap();
  run.counters["class"] = double(plan.bound_class());
  run.counters["of_any"] =
      double(plan.cost.makespan - plan.proof.lower_bound_time) / double(plan.proof.lower_bound_time);
  suite::compare(run, "over_budget", double(plan.cost.peak > budget), 0);
}

}  // namespace

int main(int argc, char** argv) {
  for (auto const kind : chains::large_kinds) {
    auto* const bench = suite::add("chain_gap/" + std::string{chains::name_of(kind)},
                                   [kind](benchmark::State& run) { planning(run, kind); });
    bench->ArgNames({"stages", "percent"})->Unit(benchmark::kMillisecond)->Iterations(1);
    for (int const percent : {20, 40, 60, 80}) bench->Args({200, percent});
  }
  return suite::run(argc, argv);
}
