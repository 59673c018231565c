// SPDX-License-Identifier: Apache-2.0
// What the executor of chains takes beside the stages: stages of next to no work, by plans that store everything and
// that run much again.
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/plan/chain/replay.hpp>
#include <cairn/run/chain.hpp>
#include "../suite.hpp"

namespace {

using cairn::action;
using cairn::step_index;
using namespace cairn::chain_actions;

struct scaled {
  double forward(double x) const { return x * (1 - 1e-6); }
  double backward(double, double bar) const { return bar * (1 - 1e-6); }
};

/// Splits in halves down to `leaf` stages, whose tapes are kept.
void split(std::vector<action>& plan, step_index stages, step_index from, step_index to, step_index leaf) {
  if (to - from <= leaf) {
    for (step_index i = from; i < to; ++i) plan.push_back(record(i));
    if (to == stages) plan.push_back(turn(stages));
    for (step_index i = to; i-- > from;) plan.push_back(reverse(i));
    return;
  }
  step_index const middle = from + (to - from) / 2;
  for (step_index i = from; i < middle; ++i) {
    plan.push_back(advance(i));
    if (i > from) plan.push_back(drop(i));
  }
  split(plan, stages, middle, to, leaf);
  plan.push_back(drop(middle));
  split(plan, stages, from, middle, leaf);
}
std::vector<action> split_plan(step_index stages, step_index leaf) {
  std::vector<action> plan;
  split(plan, stages, 0, stages, leaf);
  return plan;
}

/// Times sweeps; the peak and the runs of stages are counted once, beside what `replay` says. `pointers`: bytes of
/// tables of the sweep.
template <class Stages>
void sweep(benchmark::State& run, Stages& stages, std::vector<action> const& plan, step_index count,
           std::int64_t value_bytes, std::int64_t pointers) {
  cairn::chain const work{.x = std::vector<std::int64_t>(std::size_t(count) + 1, value_bytes),
                          .s = std::vector<std::int64_t>(std::size_t(count), value_bytes),
                          .b = std::vector<std::int64_t>(std::size_t(count) + 1, value_bytes),
                          .u = std::vector<std::int64_t>(std::size_t(count), 1)};
  auto const cost = cairn::replay(work, plan);
  auto const seed = [](auto const&) {
    if constexpr (std::is_same_v<Stages, std::vector<cairn::any_stage>>) return cairn::stage_value{1.0};
    else return 1.0;
  };
  heap::mark const mark;
  benchmark::DoNotOptimize(cairn::chain_gradient(stages, 1.0, plan, seed));
  suite::compare(run, "peak_bytes", double(mark.rise()), double(cost.peak + pointers));
  double runs = 0;
  (void)cairn::chain_gradient(stages, 1.0, plan, seed, [&](cairn::event const& e) {
    runs += e.moment() == cairn::moment::before &&
            (e.what().kind == cairn::action_kind::advance || e.what().kind == cairn::action_kind::record);
  });
  suite::compare(run, "stage_runs", runs, double(cost.stage_runs));
  for (auto _ : run) benchmark::DoNotOptimize(cairn::chain_gradient(stages, 1.0, plan, seed));
  run.counters["time/action"] = benchmark::Counter(
      double(plan.size()), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void add(std::string const& name, step_index count, step_index leaf) {
  auto const plan = split_plan(count, leaf);
  std::int64_t const pointers = 8 * (2 * count + 1);
  suite::add("chain/vector/" + name, [=](benchmark::State& run) {
    std::vector<scaled> stages(static_cast<std::size_t>(count));
    sweep(run, stages, plan, count, sizeof(double), pointers);
  });
  suite::add("chain/any_stage/" + name, [=](benchmark::State& run) {
    std::vector<cairn::any_stage> stages;
    for (step_index i = 0; i < count; ++i) stages.emplace_back(scaled{});
    sweep(run, stages, plan, count, sizeof(cairn::stage_value) + 2 * sizeof(double), pointers);
  });
}
void add_tuple(std::string const& name, step_index leaf) {
  suite::add("chain/tuple/" + name, [=](benchmark::State& run) {
    std::tuple<scaled, scaled, scaled, scaled, scaled, scaled, scaled, scaled, scaled, scaled, scaled, scaled, scaled,
               scaled, scaled, scaled>
        stages;
    sweep(run, stages, split_plan(16, leaf), 16, sizeof(double), 0);
  });
}

}  // namespace

int main(int argc, char** argv) {
  add("store_all:1000", 1000, 1000);
  add("split:1000,leaf:10", 1000, 10);
  add("split:16,leaf:2", 16, 2);
  add_tuple("store_all:16", 16);
  add_tuple("split:16,leaf:2", 2);
  return suite::run(argc, argv);
}
