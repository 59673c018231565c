// The time of one action: a warm cursor is walked and every field of its actions is read.
#include <benchmark/benchmark.h>
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
    run.counters["time/action"] = benchmark::Counter(double(actions), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  });
}

void start_up(benchmark::State& run) {
  for (auto _ : run) benchmark::DoNotOptimize(cairn::revolve{run.range(0), run.range(1)}.counts());
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"steps", "slots"})->Args({1'000, 10})->Args({10'000, 100})->Args({1'000'000, 10})->Args({1'000'000, 1'000});
}

}  // namespace

BENCHMARK_CAPTURE(cursor_walk, revolve, "revolve")->Apply(sizes);
BENCHMARK_CAPTURE(cursor_walk, revolve_free, "revolve_free")->Apply(sizes);
BENCHMARK_CAPTURE(cursor_walk, uniform, "uniform")->Apply(sizes);
BENCHMARK_CAPTURE(cursor_walk, store_all, "store_all")->Apply(sizes);
BENCHMARK_CAPTURE(cursor_walk, leaves, "leaves")->Apply(sizes);
BENCHMARK_CAPTURE(cursor_walk, remaining, "remaining")->Apply(sizes);
BENCHMARK_CAPTURE(cursor_walk, any_revolve, "any_revolve")->Apply(sizes);
BENCHMARK_CAPTURE(cursor_walk, any_uniform, "any_uniform")->Apply(sizes);
BENCHMARK(start_up)->ArgNames({"steps", "slots"})->Args({1'000, 10})->Args({9'223'372'036'854'775'807, 1})->Args({9'223'372'036'854'775'807, 2})
    ->Args({9'223'372'036'854'775'807, 3})->Args({9'223'372'036'854'775'807, 10})->Args({9'223'372'036'854'775'807, 1'000'000});
