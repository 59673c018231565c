// SPDX-License-Identifier: Apache-2.0
// The time of one action: a warm cursor is walked and every field of its actions is read.
#include <limits>
#include "../suite.hpp"
#include "plans.hpp"

namespace {

void cursor_walk(benchmark::State& run, char const* name) {
  with_plan(name, run.range(0), run.range(1), [&](auto const& plan) {
    cairn::cursor_of<std::remove_cvref_t<decltype(plan)>> cursor = plan.walk();
    unsigned long actions = 0;
    for (auto _ : run) {
      cursor = plan.walk();
      benchmark::DoNotOptimize(walk_through(cursor, actions));
    }
    run.counters["time/action"] =
        benchmark::Counter(double(actions), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  });
}

void start_up(benchmark::State& run) {
  for (auto _ : run) benchmark::DoNotOptimize(cairn::revolve{run.range(0), run.range(1)}.counts());
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"steps", "slots"})
      ->Args({1'000, 10})
      ->Args({10'000, 100})
      ->Args({1'000'000, 10})
      ->Args({1'000'000, 1'000});
}

}  // namespace

int main(int argc, char** argv) {
  for (char const* name :
       {"revolve", "revolve_free", "uniform", "store_all", "leaves", "remaining", "any_revolve", "any_uniform"})
    suite::add(std::string("cursor_walk/") + name, [name](benchmark::State& run) {
      cursor_walk(run, name);
    })->Apply(sizes);
  constexpr auto longest = std::numeric_limits<cairn::step_index>::max();
  auto* const starts = suite::add("start_up/revolve", start_up)->ArgNames({"steps", "slots"})->Args({1'000, 10});
  for (cairn::slot_index const slots : {1, 2, 3, 10, 1'000'000}) starts->Args({longest, slots});
  return suite::run(argc, argv);
}
