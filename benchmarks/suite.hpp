// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the suites share: flags in every name, and what a sweep does, counted beside predicted; suites.py compares the
// two.
#include <benchmark/benchmark.h>
#include <string>
#include <utility>
#include <cairn/cairn.hpp>
#include "../tests/support/heap.hpp"

namespace suite {

template <class F>
benchmark::internal::Benchmark* add(std::string const& name, F f) {
  return benchmark::RegisterBenchmark((name + "/" CAIRN_BENCHMARK_FLAGS).c_str(), f);
}

inline int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

inline void compare(benchmark::State& run, char const* what, double counted, double predicted) {
  run.counters[what] = counted;
  run.counters[std::string("predicted_") + what] = predicted;
}

/// Actions of a walk, and the `done` at its end, which observers see, too.
template <class Plan>
double actions_of(Plan const& plan) {
  double sum = 1;
  for (auto walk = plan.walk(); walk.next().kind != cairn::action_kind::done;) ++sum;
  return sum;
}

/// Times gradients with a warm workspace, after a cold and a warm one that are counted. `step` is in place.
template <class State, class Plan, class Step, class Adjoint>
void gradient(benchmark::State& run, Plan const& plan, State const& x0, Step step, Adjoint adjoint) {
  auto const seed = [](State const& x) { return x; };
  cairn::workspace<State, Plan> work;
  heap::mark const cold;
  benchmark::DoNotOptimize(cairn::gradient(step, x0, plan, seed, adjoint, work));
  double const peak = double(cold.rise() + sizeof(State));  // the adjoint itself lies on the stack

  double calls = 0, actions = 0;
  auto const counted = [&](State& x, cairn::step_index i) {
    ++calls;
    step(x, i);
  };
  auto const look = [&](cairn::event const& e) { actions += e.moment() == cairn::moment::before; };
  benchmark::DoNotOptimize(cairn::gradient(counted, x0, plan, seed, adjoint, work, look));
  heap::mark const warm;
  benchmark::DoNotOptimize(cairn::gradient(step, x0, plan, seed, adjoint, work));
  // The seed's copy of a state that has memory of its own is the user's allocation.
  double const allocations = double(warm.allocated()) - (cairn::bytes_of(x0) > sizeof(State) ? 1 : 0);
  for (auto _ : run) benchmark::DoNotOptimize(cairn::gradient(step, x0, plan, seed, adjoint, work));
  auto const bytes = cairn::bytes_of(x0);
  auto const cost = cairn::estimate(
      plan, {.state_bytes = bytes, .state_inline_bytes = sizeof(State), .initial_bytes = 0, .adjoint_bytes = bytes});
  compare(run, "step_calls", calls, double(cost.step_calls));
  compare(run, "actions", actions, actions_of(plan));
  compare(run, "peak_bytes", peak, double(cost.peak_bytes));
  compare(run, "allocations", allocations, 0);
  run.counters["time/step"] = benchmark::Counter(
      double(plan.steps()), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace suite
