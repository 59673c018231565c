// SPDX-License-Identifier: Apache-2.0
// The time of making the plans that need a table, and of one of their actions. The cost that a plan reports is compared
// with that of its walk.
#include <cairn/schedule/disk_revolve.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/multistage.hpp>
#include "../suite.hpp"
#include "plans.hpp"

namespace {

constexpr double write = 2, read = 3, host_write = 0.25, host_read = 0.5;

auto two_tiers(cairn::step_index n, cairn::slot_index s) { return cairn::hrevolve{n, {{s}, {s, write, read}}}; }
auto two_dear_tiers(cairn::step_index n, cairn::slot_index s) {
  return cairn::hrevolve{n, {{s, host_write, host_read, cairn::tier::host}, {s, write, read}}};
}
auto three_tiers(cairn::step_index n, cairn::slot_index s) {
  return cairn::hrevolve{n, {{s}, {s, host_write, host_read}, {s, write, read}}};
}
auto disk(cairn::step_index n, cairn::slot_index s) {
  return cairn::disk_revolve{n, s, {.disk_write = write, .disk_read = read}};
}
auto two_stages(cairn::step_index n, cairn::slot_index s) { return cairn::multistage{n, s, s}; }

double walked_cost(cairn::schedule_counts const& counts) {
  auto const& host = counts.on(cairn::tier::host);
  auto const& disk = counts.on(cairn::tier::disk);
  return double(counts.advances) + double(host.saves) * host_write + double(host.loads) * host_read +
         double(disk.saves) * write + double(disk.loads) * read;
}

template <class Make>
void making(benchmark::State& run, Make make) {
  for (auto _ : run) benchmark::DoNotOptimize(make(run.range(0), run.range(1)));
  auto const plan = make(run.range(0), run.range(1));
  run.counters["table_KiB"] = double(plan.shared_table_bytes()) / 1024;
  if constexpr (requires { plan.cost(); }) suite::compare(run, "cost", walked_cost(cairn::verify(plan)), plan.cost());
}

template <class Make>
void walking(benchmark::State& run, Make make) {
  auto const plan = make(run.range(0), run.range(1));
  auto cursor = plan.walk();
  unsigned long actions = 0;
  for (auto _ : run) {
    cursor = plan.walk();
    benchmark::DoNotOptimize(walk_through(cursor, actions));
  }
  run.counters["time/action"] =
      benchmark::Counter(double(actions), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"steps", "slots_each"})->Args({1'000, 5})->Args({10'000, 10})->Unit(benchmark::kMillisecond);
}

template <class Make>
void add(char const* name, Make make) {
  suite::add(std::string("table/") + name, [make](benchmark::State& run) { making(run, make); })->Apply(sizes);
  suite::add(std::string("table_walk/") + name, [make](benchmark::State& run) { walking(run, make); })->Apply(sizes);
}

}  // namespace

int main(int argc, char** argv) {
  add("hrevolve", two_tiers);
  add("hrevolve_dear_memory", two_dear_tiers);
  add("hrevolve_three_tiers", three_tiers);
  add("disk_revolve", disk);
  add("multistage", two_stages);
  return suite::run(argc, argv);
}
