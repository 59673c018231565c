// SPDX-License-Identifier: Apache-2.0
// What follows the bar of a sweep on a device: parameters, options, an observer and a report, in any order, on the
// simulator.
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/cuda/device_probe.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/in_memory.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include "support/catch.hpp"
#include "support/sim_states.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

using field = sim::state<sim_runtime>;
using stream = sim_runtime::stream;
using params = std::array<double, 2>;
params const p0{0.7, 0.3};
constexpr std::size_t cells = 3;

[[gnu::noinline]] double run(double x, params const& p, step_index i) {
  return x + 0.125 * (std::sin(p[0] * x) - p[1] * double(i % 3));
}
[[gnu::noinline]] double pull(double x, double bar, params const& p, double* dp, step_index i) {
  double const c = 0.125 * bar * std::cos(p[0] * x);
  dp[0] += c * x;
  dp[1] -= 0.125 * bar * double(i % 3);
  return bar + c * p[0];
}
struct found {
  std::vector<double> bar, dp;
  bool operator==(found const&) const = default;
};
/// All states kept, and the cells of each step in order, as the kernels take them.
found by_hand(step_index n, params const& p = p0) {
  std::vector<std::vector<double>> x{{}};
  for (std::size_t k = 0; k < cells; ++k) x[0].push_back(sim::first_number(0, k));
  for (step_index i = 0; i < n; ++i) {
    x.push_back(x.back());
    for (double& one : x.back()) one = run(one, p, i);
  }
  found sum{x.back(), {0, 0}};
  for (std::size_t k = 0; k < cells; ++k) sum.dp[1] += x.back()[k];
  for (double& one : sum.bar) one += p[1];
  for (step_index i = n; i-- > 0;)
    for (std::size_t k = 0; k < cells; ++k)
      sum.bar[k] = pull(x[std::size_t(i)][k], sum.bar[k], p, sum.dp.data(), i);
  return sum;
}

/// The loop on the simulated device: kernels get the value that p has when they are launched.
struct on_device {
  sim_runtime& device;
  int calls = 0, change_at = 0, throw_at = 0;  // of the functions below, counted from 1
  params* changes = nullptr;

  void tick() {
    ++calls;
    if (calls == change_at) (*changes)[1] += 1;
    if (calls == throw_at) throw std::string{"stop"};
  }
  static std::vector<sim::access> of(std::vector<sim::access> all, std::vector<sim::access> const& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  auto start() {
    return [this](field& x, stream in) {
      tick();
      x.time = 0;
      auto const put = [to = x.numbers(0)] {
        for (std::size_t k = 0; k < cells; ++k) to[k] = sim::first_number(0, k);
      };
      device.launch(in, x.all(true), put);
    };
  }
  void run_kernel(field const& x, field& x1, params const& p, step_index i, stream in) {
    tick();
    x1.time = x.time;
    auto const put = [from = x.numbers(0), to = x1.numbers(0), p, i] {
      for (std::size_t k = 0; k < cells; ++k) to[k] = run(from[k], p, i);
    };
    device.launch(in, &x == &x1 ? x.all(true) : of(x.all(false), x1.all(true)), put);
  }
  auto step() {
    return [this](field const& x, field& x1, params const& p, step_index i, stream in) { run_kernel(x, x1, p, i, in); };
  }
  auto step_in_place() {
    return [this](field& x, params const& p, step_index i, stream in) { run_kernel(x, x, p, i, in); };
  }
  auto seed() {
    return [this](field const& x, field& bar, params const& p, field& dp, stream in) {
      tick();
      auto const put = [from = x.numbers(0), to = bar.numbers(0), sum = dp.numbers(0), p] {
        for (std::size_t k = 0; k < cells; ++k) to[k] = from[k] + p[1], sum[1] += from[k];
      };
      device.launch(in, of(of(x.all(false), bar.all(true)), dp.all(true)), put);
    };
  }
  auto adjoint() {
    return [this](field const& x, field& bar, params const& p, field& dp, step_index i, stream in) {
      tick();
      auto const put = [from = x.numbers(0), to = bar.numbers(0), sum = dp.numbers(0), p, i] {
        for (std::size_t k = 0; k < cells; ++k) to[k] = pull(from[k], to[k], p, sum, i);
      };
      device.launch(in, of(of(x.all(false), bar.all(true)), dp.all(true)), put);
    };
  }
};

/// A device with a sweep, its bar and dp.
struct bench {
  explicit bench(sim::options const& options, device_capacity capacity) : device{options}, capacity_{capacity} {}
  ~bench() {
    device.sync(in);
    device.destroy(in);
  }
  field make() { return field{device, {cells}}; }

  sim_runtime device;
  device_capacity capacity_;
  stream in = device.make_stream();
  field bar = make(), dp{device, {2}};
  device_sweep<sim_runtime, field> sweep{device, in, capacity_, [this] { return make(); }};

  found result() {
    device.sync(in);
    return {sim::numbers_of(device, bar)[0], sim::numbers_of(device, dp)[0]};
  }
};
std::vector<any_schedule> plans_of(step_index n) {
  return {revolve{n, 3}, two_level{n, 4, 1, {.periods_on = tier::host, .extra_on = tier::device}},
          hrevolve{n, {{2, 0, 0, tier::device}, {3, 0.5, 0.25, tier::host}}}};
}
device_capacity more_than(device_capacity needed) { return {needed.frames + 1, needed.host_slots + 1}; }

}  // namespace

TEST_CASE("parameters of a sweep on a device: the bits of storing everything, without a wait or an allocation",
          "[cuda]") {
  for (sim::order const when : {sim::order::eager, sim::order::random, sim::order::laziest})
    for (step_index const n : {0, 1, 17})
      for (auto const& plan : plans_of(n))
        for (bool const in_place : {false, true}) {
          auto const form = in_place ? step_form::in_place : step_form::out_of_place;
          bench at{{.when = when, .seed = std::uint64_t(n)}, more_than(device_capacity_for(plan, form))};
          on_device loop{at.device};
          params p = p0;
          {
            auto const before = at.device.counted();
            auto const quiet = at.device.no_allocations_from_here();
            for (int k = 0; k < 2; ++k) {  // the second sets dp to zero again
              p = p0;
              if (in_place)
                at.sweep.gradient(loop.step_in_place(), loop.start(), plan, loop.seed(), loop.adjoint(), at.bar,
                                  wrt{p, at.dp});
              else
                at.sweep.gradient(loop.step(), loop.start(), plan, loop.seed(), loop.adjoint(), at.bar, wrt{p, at.dp});
              p = {1e300, 1e300};  // kernels that have not run have their values
            }
            CHECK(at.device.counted().syncs == before.syncs);
            CHECK(at.device.counted().zeroed == before.zeroed + 2);
          }
          CHECK(at.result() == by_hand(n));
          CAPTURE(at.device.first_fault());
          CHECK(at.device.faults() == 0);
        }
}

TEST_CASE("parameters on the host that change while a sweep is put into streams are an error, at each call",
          "[cuda]") {
  step_index const n = 5;
  auto const plan = plans_of(n)[1];
  bench at{{}, more_than(device_capacity_for(plan))};
  on_device loop{at.device};
  params p = p0;
  loop.changes = &p;
  auto const call = [&] {
    p = p0, loop.calls = 0;
    at.sweep.gradient(loop.step(), loop.start(), plan, loop.seed(), loop.adjoint(), at.bar, wrt{p, at.dp});
  };
  call();
  int const all = loop.calls;
  CHECK(all > 2 * n);
  for (int k = 1; k <= all; ++k) {
    loop.change_at = k, loop.throw_at = 0;
    CHECK_THROWS_WITH(call(), ContainsSubstring("cairn::device_sweep: the parameters p of cairn::wrt have changed"));
    loop.change_at = 0, loop.throw_at = k;
    CHECK_THROWS_AS(call(), std::string);
  }
  loop.throw_at = 0;
  // Seen at the seed, too: p is what it was again at the end.
  auto const restores = [&](field const&, field&, params const&, field&, stream) { p = p0; };
  p = p0, loop.calls = 0, loop.change_at = 2;
  CHECK_THROWS_WITH(
      at.sweep.gradient(loop.step(), loop.start(), plan, restores, loop.adjoint(), at.bar, wrt{p, at.dp}),
      ContainsSubstring("have changed"));
  loop.change_at = 0;
  at.device.fail_at(sim::call::zero, 1);
  CHECK_THROWS_AS(call(), device_error);
  call();
  CHECK(at.result() == by_hand(n));
  CHECK(at.device.faults() == 0);
}

TEST_CASE("what follows the bar comes in any order, and a report has what was counted", "[cuda]") {
  step_index const n = 11;
  auto const plan = plans_of(n)[2];
  auto const needed = device_capacity_for(plan, step_form::out_of_place, {.verify = replay_check::every_step});
  bench at{{}, more_than(needed)};
  on_device loop{at.device};
  long seen = 0;
  auto const watch = [&](event const&) { ++seen; };
  sweep_report report;
  sweep_options const options{.verify = replay_check::every_step};
  auto const counts = verify(plan);
  auto const call = [&](auto&&... last) {
    seen = 0, report = {}, loop.calls = 0;
    at.sweep.gradient(loop.step(), loop.start(), plan, loop.seed(), loop.adjoint(), at.bar, last...);
    CHECK(at.result() == by_hand(n));
    CHECK(seen > 4 * n);
    CHECK(report.steps == n);
    CHECK(report.slots == plan.slots());
    CHECK(report.step_calls == counts.advances + counts.turned);
    CHECK(report.step_calls == wide(loop.calls) - wide(n) - 2);
    wide const bytes = sizeof(double) * cells;  // of a state, and of bar
    auto const made = at.sweep.capacity();
    CHECK(report.predicted.states == wide(needed.frames + needed.host_slots) * bytes);
    CHECK(report.state_bytes == wide(made.frames + made.host_slots) * bytes);
    for (sweep_parts const& parts : {report.predicted, report.counted}) {
      CHECK(parts.adjoints == bytes);
      CHECK(parts.params == bytes_of(p0));
      CHECK(parts.gradient == p0.size() * sizeof(double));
      CHECK(parts.checks == replay_check_bytes(replay_check::every_step, {n, plan.slots()}));
      CHECK(parts.plan >= 2 * plan.table_bytes());
      CHECK(parts.frames > 0);
    }
    CHECK(report.predicted_bytes == report.predicted.total());
    CHECK(report.predicted_bytes != unknown_bytes);
  };
  call(wrt{p0, at.dp}, watch, report, options);
  call(report, options, watch, wrt{p0, at.dp});
  call(options, wrt{p0, at.dp}, report, watch);
  CHECK(at.device.counted().syncs > 0);  // of the replay check
}

TEST_CASE("a replay check of one call finds what drifts, needs its slot, and is not kept", "[cuda]") {
  step_index const n = 6;
  revolve const plan{n, 2};
  auto const needed = device_capacity_for(plan);
  double drift = 0;
  for (slot_index const slots : {0, 1}) {
    bench at{{}, {needed.frames, needed.host_slots + slots}};
    on_device loop{at.device};
    auto const step = [&](field const& x, field& x1, step_index i, stream in) {
      loop.run_kernel(x, x1, {p0[0] + (drift += 0.01), p0[1]}, i, in);
    };
    auto const adjoint = [&](field const&, field&, step_index, stream) {};
    auto const seed = [&](field const&, field&, stream) {};
    auto const call = [&](auto const&... last) {
      at.sweep.gradient(step, loop.start(), plan, seed, adjoint, at.bar, last...);
    };
    sweep_options const check{.verify = replay_check::checkpoints};
    if (slots == 0) CHECK_THROWS_AS(call(check), invalid_plan);
    else CHECK_THROWS_AS(call(check), nondeterminism_error);
    CHECK_NOTHROW(call());
  }
}

TEST_CASE("a captured sweep takes an observer and a report", "[cuda]") {
  step_index const n = 7;
  revolve const plan{n, 3};
  bench at{{}, more_than(device_capacity_for(plan))};
  on_device loop{at.device};
  auto const step = [&](field const& x, field& x1, step_index i, stream in) { loop.run_kernel(x, x1, p0, i, in); };
  auto const seed = [&](field const& x, field& bar, stream in) { loop.seed()(x, bar, p0, at.dp, in); };
  auto const adjoint = [&](field const& x, field& bar, step_index i, stream in) {
    loop.adjoint()(x, bar, p0, at.dp, i, in);
  };
  long seen = 0;
  sweep_report report;
  {
    auto graph = at.sweep.capture(step, loop.start(), plan, seed, adjoint, at.bar, report,
                                  [&](event const&) { ++seen; });
    CHECK(seen > 2 * n);
    CHECK(report.steps == n);
    at.device.zero(at.dp.numbers(0), 2 * sizeof(double), at.in);
    graph.launch();
    CHECK(at.result() == by_hand(n));
  }
  CHECK_THROWS_AS(static_cast<void>(at.sweep.capture(step, loop.start(), plan, seed, adjoint, at.bar,
                                                     sweep_options{.verify = replay_check::every_step})),
                  invalid_call);
  CHECK(at.device.faults() == 0);
}

TEST_CASE("a probe of a loop with parameters leaves zeros in dp", "[cuda]") {
  struct ticking {
    static std::chrono::steady_clock::time_point now() {
      static int ticks = 0;
      return std::chrono::steady_clock::time_point{std::chrono::seconds{++ticks}};
    }
  };
  bench at{{}, {1, 0}};
  on_device loop{at.device};
  auto const make = [&] { return at.make(); };
  auto const work = device_probe<ticking>(at.device, at.in, make, loop.step_in_place(), loop.start(), 9, loop.seed(),
                                          loop.adjoint(), at.bar, wrt{p0, at.dp});
  CHECK(work.form.step == step_form::in_place);
  CHECK(work.state_bytes == sizeof(double) * cells);
  CHECK(loop.calls > 9);
  CHECK(at.result().dp == std::vector<double>{0, 0});
  CHECK(at.device.faults() == 0);
}
