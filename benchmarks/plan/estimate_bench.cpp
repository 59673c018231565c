// SPDX-License-Identifier: Apache-2.0
// What it takes to know a plan before it runs: `estimate`, and `verify`, which plays every action.
#include "../suite.hpp"

namespace {

template <class Plan>
void add(std::string const& name, Plan const& plan) {
  suite::add("estimate/" + name, [plan](benchmark::State& run) {
    for (auto _ : run) benchmark::DoNotOptimize(cairn::estimate(plan, {.state_bytes = 1024}));
  })->Unit(benchmark::kMicrosecond);
  suite::add("verify/" + name, [plan](benchmark::State& run) {
    cairn::schedule_counts seen;
    for (auto _ : run) benchmark::DoNotOptimize(seen = cairn::verify(plan));
    auto const cost = cairn::estimate(plan);
    suite::compare(run, "advances", double(seen.advances), double(cost.advances));
    suite::compare(run, "saves", double(seen.saves), double(cost.saves));
    suite::compare(run, "peak_slots", double(seen.peak_slots), double(cost.peak_slots));
    run.counters["time/action"] = benchmark::Counter(
        suite::actions_of(plan), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  })->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  add("uniform:10000", cairn::uniform{10'000});
  add("revolve:10000,slots:10", cairn::revolve{10'000, 10});
  add("revolve:10000,slots:100", cairn::revolve{10'000, 100});
  add("revolve:1000000,slots:100", cairn::revolve{1'000'000, 100});
  return suite::run(argc, argv);
}
