// SPDX-License-Identifier: Apache-2.0
// Advice and real time: a loop is probed, each planner's plan is run, and plans with fewer slots, and the advised one
// compared with the fastest. And what advice costs.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>
#include <vector>
#include <cairn/planning.hpp>
#include <cairn/run/probe.hpp>
#include "../suite.hpp"

namespace {

using cairn::step_index;
using field = std::vector<float>;

/// Diffusion on a line; `work` passes over it make a step.
struct diffusion {
  int work;
  void operator()(field& x, step_index) const {
    for (int pass = 0; pass < work; ++pass) {
      float left = x.front();
      for (std::size_t k = 1; k + 1 < x.size(); ++k) {
        float const here = x[k];
        x[k] = here + 0.2f * (left - 2 * here + x[k + 1]);
        left = here;
      }
    }
  }
};

/// Of this thread, so that others on the machine do not matter.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

struct thread_clock {
  static std::chrono::duration<double> now() { return std::chrono::duration<double>{processor_seconds()}; }
};

/// Medians of interleaved runs of all plans.
std::vector<double> seconds_of(std::vector<cairn::any_schedule> const& plans, field const& x0, diffusion step) {
  constexpr std::size_t rounds = 5;
  auto const adjoint = [&](field const&, field& bar, step_index i) { step(bar, i); };
  std::vector<std::vector<double>> times(plans.size());
  for (std::size_t k = 0; k < rounds; ++k)
    for (std::size_t p = 0; p < plans.size(); ++p) {
      double const begin = processor_seconds();
      benchmark::DoNotOptimize(cairn::gradient(step, x0, plans[p], x0, adjoint));
      times[p].push_back(processor_seconds() - begin);
    }
  std::vector<double> medians;
  for (auto& of : times) {
    std::sort(of.begin(), of.end());
    medians.push_back(of[rounds / 2]);
  }
  return medians;
}

/// `ratio` is the time of the advised plan over that of the fastest of all; `predicted` is its predicted time over the
/// measured one.
void compared(benchmark::State& run, step_index steps, std::size_t cells, int work, char const* budget) {
  field x0(cells, 1.0f);
  x0[cells / 2] = 2;
  diffusion const step{work};
  auto const adjoint = [&](field const&, field& bar, step_index i) { step(bar, i); };
  auto const measured = cairn::probe<thread_clock>(step, x0, steps, x0, adjoint, 32);
  auto const given = cairn::advise(budget, measured);
  double ratio = 0, predicted = 0;
  std::vector<cairn::any_schedule> plans{given.best.schedule};
  for (auto const& other : given.runners_up) plans.push_back(other.schedule);
  // Beside each planner's own best one: fewer and fewer slots.
  for (cairn::slot_index slots = given.best.cost.slots; slots > 7 && plans.size() < 9; slots /= 2)
    plans.push_back(cairn::revolve{steps, slots / 2, {.free_initial = true}});
  for (auto _ : run) {
    auto const times = seconds_of(plans, x0, step);
    ratio = times[0] / *std::min_element(times.begin(), times.end());
    predicted = given.best.cost.seconds / times[0];
  }
  run.counters["ratio"] = ratio;
  run.counters["predicted"] = predicted;
  run.counters["plans"] = double(plans.size());
  run.SetLabel(cairn::name_of(given.best.by));
}

void add(step_index steps, std::size_t cells, int work, char const* budget) {
  suite::add("advised/steps:" + std::to_string(steps) + ",cells:" + std::to_string(cells) +
                 ",work:" + std::to_string(work) + ",budget:" + budget,
             [=](benchmark::State& run) { compared(run, steps, cells, work, budget); })
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}
void add_cost(step_index steps) {
  suite::add("advise/steps:" + std::to_string(steps), [=](benchmark::State& run) {
    cairn::workload work{.steps = steps,
                         .state_bytes = 100'000,
                         .adjoint_bytes = 100'000,
                         .step_seconds = 1e-3,
                         .adjoint_seconds = 2e-3};
    work.tiers.disk = {.write_seconds = 2e-3, .read_seconds = 1e-3, .bytes = cairn::unlimited_bytes};
    for (auto _ : run) benchmark::DoNotOptimize(cairn::advise("2MB", work));
  })->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  add(1'000, 4'096, 1, "200kB");
  add(1'000, 4'096, 1, "1MB");
  add(1'000, 4'096, 1, "20MB");
  add(1'000, 4'096, 4, "1MB");
  add(3'000, 1'024, 1, "100kB");
  add(10'000, 1'024, 1, "2MB");
  add(10'000, 1'024, 2, "50MB");
  add(300, 100'000, 1, "10MB");
  add(300, 100'000, 1, "200MB");
  add(100'000, 16, 1, "1MB");
  for (step_index const steps : {step_index{100}, step_index{1'000}, step_index{10'000}, step_index{1'000'000'000'000}})
    add_cost(steps);
  return suite::run(argc, argv);
}
