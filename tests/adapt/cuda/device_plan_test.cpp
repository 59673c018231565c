// SPDX-License-Identifier: Apache-2.0
// Plans for devices: what they promise is what sweeps take, and no plan tried is faster.
#include <cstdio>
#include <string>
#include <vector>
#include <cairn/adapt/cuda/device_plan.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/plan/loop/verify.hpp>
#include "support/catch.hpp"
#include "support/sim_states.hpp"

using namespace cairn;

namespace {

constexpr wide state_bytes = 1000;

/// A loop whose states take rho steps to be copied; the adjoint of a step takes one and a half.
workload loop_of(step_index steps, double rho, wide host_slots, step_form form = step_form::out_of_place) {
  workload work{
      .steps = steps, .state_bytes = state_bytes, .adjoint_bytes = 0, .step_seconds = 1, .adjoint_seconds = 1.5,
      .form = {.step = form}};
  work.tiers.host = {rho, rho, host_slots * state_bytes};
  work.tiers.device.write_seconds = 0.98;
  return work;
}
device_plan planned_for(workload const& work, slot_index frames) {
  return plan_for_device(wide(frames) * state_bytes, work, device_forecast{});
}
double ratio(device_plan const& plan) { return plan.seconds / (2.5 * double(plan.plan.steps())); }

/// The time of the same sweep on the simulator.
double simulated(any_schedule const& plan, device_capacity capacity, workload const& work, int copy_engines = 2) {
  using field = sim::state<sim_runtime>;
  sim::costs time{.copy = work.tiers.host.write_seconds, .copy_engines = copy_engines};
  time.byte_to_device = (work.tiers.host.read_seconds - time.copy) / sizeof(double);
  time.byte_within = (work.tiers.device.write_seconds - time.copy) / sizeof(double);
  sim_runtime device{{.when = sim::order::eager, .time = time}};
  auto const c = device.make_stream();
  double seconds = 0;
  {
    field bar{device, {1}};
    sim::loop<sim_runtime> loop{device, work.step_seconds, work.adjoint_seconds};
    device_sweep<sim_runtime, field> sweep{device, c, capacity, [&] { return field{device, {1}}; }};
    if (work.form.step == step_form::in_place)
      sweep.gradient(loop.step_in_place(), loop.start(), plan, loop.seed(), loop.adjoint(), bar);
    else sweep.gradient(loop.step(), loop.start(), plan, loop.seed(), loop.adjoint(), bar);
    device.sync(c);
    seconds = device.host_time();
    CHECK(sim::numbers_of(device, bar) == sim::gradient_by_hand({1}, plan.steps()));
  }
  CHECK(device.faults() == 0);
  device.destroy(c);
  return seconds;
}

}  // namespace

TEST_CASE("a forecast is the time of the sweep on the simulator", "[cuda]") {
  for (step_form const form : {step_form::out_of_place, step_form::in_place})
    for (double const rho : {0.5, 3.0, 27.25})
      for (slot_index const extra : {0, 2, 9})
        for (slot_index const more : {0, 1, 2, 6}) {
          auto const work = loop_of(150, rho, 40, form);
          any_schedule const plans[] = {two_level{150, 12, extra, {tier::host, tier::device}},
                                        hrevolve{150, {{extra + 1, 0, 0, tier::device}, {6, rho, rho, tier::host}}}};
          for (auto const& plan : plans) {
            auto capacity = device_capacity_for(plan, form);
            capacity.frames += more;
            INFO("rho " << rho << ", extra " << extra << ", frames " << capacity.frames << ", form " << int(form));
            CHECK(simulated(plan, capacity, work) == Approx(device_forecast{}(plan, capacity, work)).epsilon(1e-12));
          }
        }
}

TEST_CASE("with one copy engine a forecast is the time on the simulator, too, and never less than with two", "[cuda][long]") {
  std::size_t slower = 0;
  for (step_form const form : {step_form::out_of_place, step_form::in_place})
    for (double const rho : {0.5, 3.0, 11.3, 27.25})
      for (double const way_back : {0.7, 1.0, 2.5})
        for (slot_index const extra : {0, 2, 9})
          for (slot_index const more : {0, 1, 2, 6}) {
            auto work = loop_of(150, rho, 40, form);
            work.tiers.host.read_seconds = way_back * rho;
            any_schedule const plans[] = {
                two_level{150, 12, extra, {tier::host, tier::device}},
                hrevolve{150, {{extra + 1, 0, 0, tier::device}, {6, rho / 4, rho / 8, tier::host}}},
                hrevolve{150, {{1, 0, 0, tier::device}, {20, 0.01, 0.01, tier::host}}}};
            for (auto const& plan : plans) {
              auto capacity = device_capacity_for(plan, form);
              capacity.frames += more;
              INFO("rho " << rho << ", extra " << extra << ", frames " << capacity.frames << ", form " << int(form));
              double const one = device_forecast{.copy_engines = 1}(plan, capacity, work),
                           two = device_forecast{}(plan, capacity, work);
              CHECK(simulated(plan, capacity, work, 1) == Approx(one).epsilon(1e-12));
              CHECK(one >= two * (1 - 1e-12));
              CHECK(device_forecast{.copy_engines = 7}(plan, capacity, work) == two);
              slower += one > two ? 1u : 0u;
            }
          }
  CHECK(slower > 200);
}

TEST_CASE("a plan for a device with one copy engine keeps its promise there", "[cuda]") {
  for (slot_index const frames : {4, 9})
    for (unsigned const host : {1u, 5u, 30u}) {
      auto const work = loop_of(60, 3, host);
      auto const best = plan_for_device(wide(frames) * state_bytes, work, device_forecast{.copy_engines = 1});
      CHECK(simulated(best.plan, best.capacity, work, 1) == Approx(best.seconds));
    }
}

TEST_CASE("a plan for a capacity is the plan of the bytes of that capacity", "[cuda]") {
  for (step_form const form : {step_form::out_of_place, step_form::in_place})
    for (step_index const n : {0, 1, 2, 60})
      for (slot_index const frames : {3, 4, 9})
        for (unsigned const host : {0u, 1u, 5u, 80u}) {
          auto work = loop_of(n, 8, host, form);
          auto const by_bytes = planned_for(work, frames);
          auto const of_capacity =
              plan_for_device(device_capacity{by_bytes.capacity.frames, slot_index(host)}, work, device_forecast{});
          INFO(n << " steps, " << frames << " frames, " << int(host) << " host slots");
          CHECK((of_capacity.capacity == by_bytes.capacity));
          CHECK(of_capacity.seconds == by_bytes.seconds);
          CHECK(of_capacity.by == by_bytes.by);
          CHECK(of_capacity.device_bytes == by_bytes.device_bytes);
          CHECK(of_capacity.host_bytes == by_bytes.host_bytes);
        }
  auto const work = loop_of(60, 8, 0);
  CHECK_THROWS_AS(plan_for_device(device_capacity{2, 9}, work, device_forecast{}), infeasible_budget);
  CHECK_THROWS_AS(plan_for_device(device_capacity{9, -1}, work, device_forecast{}), infeasible_budget);
  CHECK_THROWS_AS(plan_for_device(device_capacity{9, 1}, workload{}, device_forecast{}), invalid_plan);
}

TEST_CASE("the plan for a device keeps to its capacity and its promise", "[cuda]") {
  for (step_form const form : {step_form::out_of_place, step_form::in_place})
    for (step_index const n : {0, 1, 2, 3, 60, 200})
      for (slot_index const frames : {3, 4, 9, 30})
        for (unsigned const host : {0u, 1u, 5u, 40u}) {
          auto const work = loop_of(n, 8, host, form);
          auto const best = planned_for(work, frames);
          INFO(n << " steps, " << frames << " frames, " << int(host) << " host slots");
          CHECK(best.capacity.frames <= frames);
          CHECK(best.capacity.host_slots <= slot_index(host));
          CHECK(best.device_bytes <= wide(frames) * state_bytes);
          CHECK(best.host_bytes <= host * state_bytes);
          CHECK(verify(best.plan).reversals == wide(n));
          CHECK(best.seconds >= best.least_seconds);
          if (n <= 60) CHECK(simulated(best.plan, best.capacity, work) == Approx(best.seconds));
        }
}

TEST_CASE("more room is never slower, and the best of the plans is taken", "[cuda]") {
  for (double const rho : {4.0, 27.3}) {
    for (slot_index const frames : {5, 12, 40}) {
      double last = planned_for(loop_of(400, rho, 0), frames).seconds;
      for (unsigned const host : {1u, 4u, 16u, 64u}) {
        double const now = planned_for(loop_of(400, rho, host), frames).seconds;
        CHECK(now <= last * 1.02);  // tables are tried for some prices of a copy only
        last = now;
      }
      auto const work = loop_of(400, rho, 64);
      double const best = planned_for(work, frames).seconds;
      for (step_index const period : {7, 20, 28, 40, 60})
        for (slot_index extra = 0; extra + 5 <= frames; extra += 4) {
          two_level const plan{400, period, extra, {tier::host, tier::device}};
          auto const needed = device_capacity_for(plan);
          if (needed.frames > frames || needed.host_slots > 64) continue;
          CHECK(best <= 1.02 * device_forecast{}(plan, {frames, needed.host_slots}, work));
        }
    }
  }
}

TEST_CASE("with many frames the plan stays on the device, and host slots that are not needed are not requested",
          "[cuda]") {
  auto const best = planned_for(loop_of(1000, 27.3, 32), 69);
  CHECK(best.by == planner::revolve);
  CHECK(best.capacity.host_slots == 0);
  CHECK(planned_for(loop_of(1000, 27.3, 1000), 19).capacity.host_slots < 100);
}

TEST_CASE("a budget below the least is refused with the least", "[cuda]") {
  auto work = loop_of(100, 27.3, 8);
  work.adjoint_bytes = 500;
  wide least = 0;
  try {
    (void)plan_for_device(2 * state_bytes, work, device_forecast{});
    FAIL("planned");
  } catch (infeasible_budget const& refused) {
    least = refused.value(1).magnitude;
  }
  CHECK(least == 3 * state_bytes + 500);
  CHECK_NOTHROW(plan_for_device(least, work, device_forecast{}));
  CHECK_THROWS_AS(plan_for_device(least - 1, work, device_forecast{}), infeasible_budget);
  work.steps = {};
  CHECK_THROWS_AS(plan_for_device("1MB", work, device_forecast{}), invalid_plan);
  work.steps = -1;
  CHECK_THROWS_AS(plan_for_device("1MB", work, device_forecast{}), invalid_plan);
}

TEST_CASE("steps of no time and copies of no time are planned for, and states of no bytes only for a capacity",
          "[cuda]") {
  workload work{.steps = 50};
  CHECK_THROWS_WITH(plan_for_device("1GB", work, device_forecast{}),
                    Catch::Matchers::ContainsSubstring("does not say how many bytes a state holds"));
  CHECK(plan_for_device(device_capacity{9, 1}, work, device_forecast{}).plan.steps() == 50);
  work.state_bytes = 10;
  work.tiers.host.bytes = 100;
  CHECK(plan_for_device(60, work, device_forecast{}).plan.steps() == 50);
  work.step_seconds = 1;
  CHECK(plan_for_device(60, work, device_forecast{}).seconds >= 50);
}

TEST_CASE("a loop of 2^20 steps is planned for in seconds", "[cuda][long]") {
  auto const best = planned_for(loop_of(1 << 20, 27.3, 96), 35);
  CHECK(best.plan.steps() == 1 << 20);
  CHECK(best.seconds <= 1.01 * best.least_seconds);
}

TEST_CASE("the table of predictions", "[cuda][.soak]") {
  for (step_index const n : {1000, 10'000})
    for (slot_index const k : {4, 8, 16, 32, 66}) {
      std::printf("T = %6lld, k = %2lld:", (long long)n, (long long)k);
      for (unsigned const host : {0u, 32u, 64u, 96u}) {
        auto const best = planned_for(loop_of(n, 27.3, host), k + 3);
        std::printf("   %2d host slots %.3f (%s, %lld)", int(host), ratio(best), name_of(best.by),
                    (long long)best.capacity.host_slots);
      }
      std::printf("\n");
    }
}
