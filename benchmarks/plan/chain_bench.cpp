// SPDX-License-Identifier: Apache-2.0
// The time of planning a chain in slots: networks, a chain that repeats, and sizes without order, at 30 % of what
// storing everything takes. `gap` is the makespan of the plan over the bound that sizes rounded down give, less 1.
#include <optional>
#include <string>
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/chain/replay.hpp>
#include "../suite.hpp"
#include "../../tests/support/chain_kinds.hpp"

namespace {

using namespace cairn::detail;

void planning(benchmark::State& run, chains::kind kind, slot_kernel const& kernel) {
  chain_model const model{chains::make(kind, int(run.range(0)), 1), "bench"};
  std::int64_t const budget = model.store_all_peak() * 3 / 10;
  // As large as they may be: as many slots as requested, for any sizes.
  slot_division const division{.unit = (budget + run.range(1) - 1) / run.range(1)};
  slot_table_options const options{.kernel = &kernel};
  std::optional<slot_table> plan;
  for (auto _ : run) plan.emplace(model, budget, division, rounding::up, options);
  run.counters["table_MiB"] = double(plan->bytes()) / 1048576;
  auto const cost = cairn::detail::replay(model, plan->actions(), {}, "bench");
  suite::compare(run, "extra_forward", double(cost.extra_forward), double(plan->extra_forward()));
  if (run.range(0) >= 1000) return;
  slot_table const below{model, budget, division, rounding::down, options};
  double const bound = double(model.store_all_time() + below.extra_forward());
  run.counters["gap"] = double(cost.makespan) / bound - 1;
}

void add(char const* name, chains::kind kind, slot_kernel const& kernel) {
  auto* const bench = suite::add(std::string("chain_slots/") + name,
                                 [kind, &kernel](benchmark::State& run) { planning(run, kind, kernel); });
  bench->ArgNames({"stages", "slots"})->Unit(benchmark::kMillisecond)->Args({200, 500})->Args({339, 500});
  if (&kernel != &plain_kernel) bench->Args({200, 2'000})->Args({1'000, 500});
}

}  // namespace

int main(int argc, char** argv) {
  add("transformer", chains::kind::transformer, usual_kernel());
  add("resnet", chains::kind::resnet, usual_kernel());
  add("random", chains::kind::random, usual_kernel());
  add("lstm", chains::kind::lstm, usual_kernel());
  add("random/plain", chains::kind::random, plain_kernel);
  return suite::run(argc, argv);
}
