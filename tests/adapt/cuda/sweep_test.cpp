// SPDX-License-Identifier: Apache-2.0
// Sweeps over states on a device: bits, order, copies, events and allocations, for every schedule, on the simulator.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/plan/loop/verify.hpp>
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/random_list.hpp"
#include "support/sim_states.hpp"

using namespace cairn;

namespace {

using numbers = std::vector<std::vector<double>>;
using field = sim::state<sim_runtime>;

struct named_plan {
  std::string name;
  any_schedule plan;
};

bool is_for_devices(auto const& plan) { return plan.leaf() == 1 && tapes_of(plan) == 0; }

/// The same plan, with the states of one tier on another.
action_list moved(auto const& plan, tier from, tier to) {
  auto all = actions_of(plan);
  for (action& a : all)
    if (a.where == from && (a.kind == action_kind::save || a.kind == action_kind::drop ||
                            (a.kind == action_kind::load && a.slot != no_slot)))
      a.where = to;
  return {plan.steps(), plan.slots(), all.data(), all.size(), {1, 0, initial_is_free(plan)}};
}

std::vector<named_plan> plans_of(step_index n) {
  std::vector<named_plan> all;
  each_as_any(n, [&](std::string const& name, auto const& plan) {
    if (!is_for_devices(plan)) return;
    all.push_back({name + ", disk on the host", moved(plan, tier::disk, tier::host)});
    all.push_back(
        {name + ", memory on the host", moved(moved(plan, tier::disk, tier::device), tier::memory, tier::host)});
  });
  for (step_index const period : {1, 2, 5, 12})
    for (slot_index const extra : {0, 1, 3})
      all.push_back({"two_level on host and device",
                     two_level{n, period, extra, {.periods_on = tier::host, .extra_on = tier::device}}});
  for (slot_index const slots : {1, 2, 4})
    all.push_back(
        {"hrevolve on device and host", hrevolve{n, {{slots, 0, 0, tier::device}, {3, 0.5, 0.25, tier::host}}}});
  return all;
}

enum class form { out_of_place, in_place };

struct outcome {
  numbers bar;
  std::size_t faults = 0;
  std::string first_fault;
  sim::counts before, after;
  std::size_t steps = 0, adjoints = 0;
  double seconds = 0;
};

struct setting {
  sim::options device{};
  sim::shape sizes{3};
  form steps = form::out_of_place;
  slot_index more_frames = 1;
  int sweeps = 1;
  double step_time = 1, adjoint_time = 1;
};

template <schedule Plan>
outcome run(Plan const& plan, setting const& s) {
  outcome seen;
  sim_runtime device{s.device};
  {
    auto const c = device.make_stream();
    field bar{device, s.sizes};
    sim::loop<sim_runtime> loop{device, s.step_time, s.adjoint_time};
    auto const needed =
        device_capacity_for(plan, s.steps == form::in_place ? step_form::in_place : step_form::out_of_place);
    {
      device_sweep<sim_runtime, field> sweep{device, c, {needed.frames + s.more_frames, needed.host_slots}, [&] {
                                               return field{device, s.sizes};
                                             }};
      seen.before = device.counted();
      auto const quiet = device.no_allocations_from_here();
      for (int k = 0; k < s.sweeps; ++k) {
        if (s.steps == form::in_place)
          sweep.gradient(loop.step_in_place(), loop.start(), plan, loop.seed(), loop.adjoint(), bar);
        else sweep.gradient(loop.step(), loop.start(), plan, loop.seed(), loop.adjoint(), bar);
      }
      seen.after = device.counted();
      seen.steps = loop.steps;
      seen.adjoints = loop.adjoints;
    }
    seen.bar = sim::numbers_of(device, bar);
    seen.seconds = device.end_time();
    device.sync(c);
    device.destroy(c);
  }
  seen.faults = device.faults() + (device.has_leaks() ? 1 : 0);
  seen.first_fault = device.faults() > 0 ? device.first_fault() : device.has_leaks() ? "leaks" : "";
  return seen;
}

void check(named_plan const& one, setting const& s, numbers const& expected) {
  INFO(one.name << ", form " << int(s.steps) << ", order " << int(s.device.when) << ", seed " << s.device.seed
                << ", more frames " << s.more_frames);
  auto const seen = run(one.plan, s);
  if (seen.faults > 0) FAIL(seen.first_fault);
  if (seen.bar != expected) FAIL("another gradient");
  auto const counts = verify(one.plan);
  REQUIRE(wide(seen.steps) == wide(s.sweeps) * (counts.advances + counts.turned));
  REQUIRE(wide(seen.adjoints) == wide(s.sweeps) * counts.reversals);
  REQUIRE(seen.after.syncs == seen.before.syncs);
  REQUIRE(seen.after.queries == 0);
  REQUIRE(wide(seen.after.copies[int(copy_kind::host_to_device)]) <=
          wide(s.sweeps) * wide(s.sizes.size()) * counts.on(tier::host).loads);  // none is in vain
  if (s.steps == form::out_of_place) REQUIRE(seen.after.copies[int(copy_kind::device_to_device)] == 0);
}

sim::order const orders[] = {sim::order::eager, sim::order::random, sim::order::laziest};

/// Steps that begin on a frame that a slot of the device keeps, which in place are copies within the device.
std::size_t steps_on_kept_frames(auto const& plan) {
  std::size_t count = 0;
  slot_index live_in = no_slot;
  for (action const& a : actions_of(plan)) {
    if (a.kind == action_kind::save || a.kind == action_kind::load) live_in = a.slot;
    if (a.kind == action_kind::drop && a.slot == live_in) live_in = no_slot;
    if (a.kind == action_kind::turn && a.from < a.to) ++count;  // live stays
    if (a.kind != action_kind::advance || a.from == a.to) continue;
    if (live_in != no_slot) ++count;
    live_in = no_slot;
  }
  return count;
}

two_level periods_on_host(step_index n, step_index period, slot_index extra) {
  return {n, period, extra, {.periods_on = tier::host, .extra_on = tier::device}};
}

/// A device that copies one state in `steps_a_copy` units of time.
sim::options with_copies_of(double steps_a_copy) {
  return {.when = sim::order::laziest, .time = {.copy = steps_a_copy}};
}

struct used_device {
  sim_runtime device;
  sim_runtime::stream c = device.make_stream();
  explicit used_device(sim::options const& chosen = {}) : device{chosen} {}
  ~used_device() {
    device.sync(c);
    device.destroy(c);
  }
  [[nodiscard]] auto maker(sim::shape sizes = {3}) {
    return [this, sizes] { return field{device, sizes}; };
  }
};

/// Whether `gradient` throws an Error, and no step was run.
template <class Error>
bool refuses(any_schedule const& plan, device_capacity capacity) {
  used_device on;
  sim::loop<sim_runtime> loop{on.device};
  field bar{on.device, {3}};
  device_sweep<sim_runtime, field> sweep{on.device, on.c, capacity, on.maker()};
  try {
    sweep.gradient(loop.step(), loop.start(), plan, loop.seed(), loop.adjoint(), bar);
  } catch (Error const&) {
    return loop.steps == 0 && on.device.counted().launches == 0;
  }
  return false;
}

void campaign(std::uint64_t seeds) {
  std::mt19937_64 random{5};
  auto const below = [&](std::uint64_t bound) { return slot_index(random() % bound); };
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    step_index const n = 1 + below(40);
    double const write = double(below(9)) / 4, read = double(below(9)) / 4;
    named_plan const plans[] = {
        {"two_level of " + std::to_string(n), periods_on_host(n, 1 + below(12), below(5))},
        {"hrevolve of " + std::to_string(n),
         hrevolve{n, {{1 + below(5), 0, 0, tier::device}, {1 + below(6), write, read, tier::host}}}},
        {"multistage of " + std::to_string(n),
         moved(multistage{n, 1 + below(4), 1 + below(5)}, tier::disk, tier::host)}};
    sim::shape const sizes = seed % 3 == 0 ? sim::shape{3, 1} : sim::shape{2};
    auto const expected = sim::gradient_by_hand(sizes, n);
    for (auto const& one : plans)
      for (form const steps : {form::out_of_place, form::in_place})
        for (sim::order const when : orders)
          check(one,
                {.device = {.when = when, .seed = seed},
                 .sizes = sizes,
                 .steps = steps,
                 .more_frames = below(4),
                 .sweeps = 1 + int(below(2))},
                expected);
  }
}

void campaign_of_lists(std::uint64_t lists) {
  list_maker maker{11};
  std::mt19937_64 random{12};
  for (std::uint64_t k = 0; k < lists; ++k) {
    named_plan const one{"list " + std::to_string(k), maker.make(8)};
    REQUIRE(check(one.plan));
    auto const expected = sim::gradient_by_hand({2}, one.plan.steps());
    for (form const steps : {form::out_of_place, form::in_place})
      for (sim::order const when : orders)
        check(one,
              {.device = {.when = when, .seed = k},
               .sizes = {2},
               .steps = steps,
               .more_frames = slot_index(random() % 3),
               .sweeps = 1 + int(random() % 2)},
              expected);
  }
}

}  // namespace

TEST_CASE("every schedule has the bits of storing everything in every form and order", "[cuda]") {
  for (step_index const n : {0, 1, 2, 13}) {
    auto const plans = plans_of(n);
    auto const expected = sim::gradient_by_hand({3}, n);
    for (auto const& one : plans)
      for (form const steps : {form::out_of_place, form::in_place})
        for (sim::order const when : orders)
          for (slot_index const more : {0, 2})
            check(one, {.device = {.when = when, .seed = 7}, .steps = steps, .more_frames = more}, expected);
  }
}

TEST_CASE("random plans on devices of random order race nowhere", "[cuda]") { campaign(25); }
TEST_CASE("random plans on devices of random order race nowhere, a long campaign", "[cuda][.soak]") { campaign(1000); }

TEST_CASE("random lists of actions, which no planner makes, race nowhere", "[cuda]") { campaign_of_lists(150); }
TEST_CASE("3,000 random lists of actions race nowhere", "[cuda][long]") { campaign_of_lists(3000); }
TEST_CASE("random lists of actions race nowhere, a long campaign", "[cuda][.soak]") { campaign_of_lists(300'000); }

TEST_CASE("states of several buffers, of empty ones and of none come back whole", "[cuda]") {
  for (sim::shape const& sizes : {sim::shape{}, sim::shape{0}, sim::shape{1}, sim::shape{5, 0, 3}, sim::shape{64, 7}})
    for (form const steps : {form::out_of_place, form::in_place})
      for (sim::order const when : orders)
        check({"two_level", periods_on_host(30, 6, 2)},
              {.device = {.when = when}, .sizes = sizes, .steps = steps, .more_frames = 2, .sweeps = 2},
              sim::gradient_by_hand(sizes, 30));
}

TEST_CASE("a sweep records four events a checkpoint on the host and none a step", "[cuda]") {
  std::size_t records[2] = {};
  for (int k = 0; k < 2; ++k) {
    step_index const n = k == 0 ? 1000 : 10'000;
    auto const seen = run(periods_on_host(n, n / 10, 12), {.more_frames = 2});
    records[k] = seen.after.records - seen.before.records;
    CHECK(seen.faults == 0);
    CHECK(seen.after.copies[int(copy_kind::device_to_host)] == 10);
    CHECK(seen.after.copies[int(copy_kind::host_to_device)] == 9);  // the last one is still on the device
    CHECK(seen.after.copies[int(copy_kind::device_to_device)] == 0);
  }
  CHECK(records[0] == records[1]);
  CHECK(records[0] <= 4 * 10);
}

TEST_CASE("a plan only on the device has no events and no copies", "[cuda]") {
  auto const seen = run(revolve{200, 7}, {.more_frames = 0});
  CHECK(seen.after.records == 0);
  CHECK(seen.after.waits == 0);
  for (std::size_t const copies : seen.after.copies) CHECK(copies == 0);
}

TEST_CASE("in place a step on a kept frame copies it once within the device, and no other step does", "[cuda]") {
  for (step_index const n : {1, 2, 9, 100})
    for (auto const& plan : {any_schedule{revolve{n, 4}}, any_schedule{uniform{n}}, any_schedule{store_all(n)},
                             any_schedule{revolve{n, 1}}}) {
      auto const seen = run(plan, {.steps = form::in_place, .more_frames = 0});
      CHECK(seen.after.copies[int(copy_kind::device_to_device)] == steps_on_kept_frames(plan));
    }
}

TEST_CASE("steps wait for copies at most one part in a hundred where a period is as long as a copy", "[cuda]") {
  for (double const rho : {10.0, 27.3, 39.1})
    for (slot_index const extra : {4, 8, 16, 32}) {
      step_index const period = step_index(rho) + 1 + extra;
      auto const plan = periods_on_host(20 * period, period, extra);
      auto const seen = run(plan, {.device = with_copies_of(rho), .more_frames = 2, .adjoint_time = 1.5});
      double const pure = double(seen.steps) + 1.5 * double(seen.adjoints);
      INFO("rho " << rho << ", extra slots " << extra);
      CHECK(seen.seconds <= 1.01 * pure);
      CHECK(seen.seconds >= pure);
    }
}

TEST_CASE(
    "with one frame more than is needed a period's start stays, and what comes next is fetched when that has gone",
    "[cuda]") {
  for (slot_index const extra : {1, 2, 4, 8, 16}) {
    auto const seen =
        run(periods_on_host(600, 30, extra), {.device = with_copies_of(27.3), .more_frames = 1, .adjoint_time = 1.5});
    double const pure = double(seen.steps) + 1.5 * double(seen.adjoints);
    INFO("extra slots " << extra);
    CHECK(seen.seconds <= (extra < 4 ? 1.1 : 1.01) * pure);
  }
}

TEST_CASE("a capacity that is too small is refused before any step", "[cuda]") {
  auto const plan = periods_on_host(40, 8, 3);
  auto const needed = device_capacity_for(plan);
  CHECK(needed.host_slots == 5);
  CHECK(refuses<invalid_plan>(plan, {needed.frames - 1, needed.host_slots}));
  CHECK(refuses<invalid_plan>(plan, {needed.frames, needed.host_slots - 1}));
  CHECK(refuses<invalid_plan>(plan, {needed.frames, 0}));
  used_device on;
  CHECK_THROWS_AS((device_sweep<sim_runtime, field>{on.device, on.c, {0, 1}, on.maker()}), invalid_plan);
  CHECK_THROWS_AS((device_sweep<sim_runtime, field>{on.device, on.c, {1, -1}, on.maker()}), invalid_plan);
}

TEST_CASE("plans that no device can obey are refused before any step", "[cuda]") {
  device_capacity const capacity{20, 20};
  CHECK(refuses<invalid_plan>(two_level{20, 5, 2}, capacity));  // on disk
  CHECK(refuses<invalid_plan>(leaves{20, 4, revolve{5, 3}}, capacity));
  CHECK(refuses<invalid_plan>(all_tapes(6), capacity));
  action const twice[] = {{action_kind::save, tier::device, content::state, 0, 0, 0},
                          {action_kind::save, tier::device, content::state, 0, 0, 0}};
  action const nothing_there[] = {{action_kind::load, tier::host, content::state, 1, 0, 0}};
  action const nowhere[] = {{action_kind::save, tier::device, content::state, 2, 0, 0}};
  CHECK(refuses<invalid_schedule>(action_list{0, 2, twice, 2}, capacity));
  CHECK(refuses<invalid_schedule>(action_list{0, 2, nothing_there, 1}, capacity));
  CHECK(refuses<invalid_schedule>(action_list{0, 2, nowhere, 1}, capacity));
}

TEST_CASE("without host slots a plan only on the device runs", "[cuda]") {
  auto const seen = run(revolve{30, 4}, {});
  CHECK(seen.bar == sim::gradient_by_hand({3}, 30));
  CHECK(seen.after.pins == 0);
}

TEST_CASE("host slots are pinned once, exactly as many bytes as their states have", "[cuda]") {
  used_device on;
  {
    device_sweep<sim_runtime, field> sweep{on.device, on.c, {2, 7}, on.maker({24, 8})};
    CHECK(on.device.pinned_bytes_held() == 7 * 32 * sizeof(double));
    CHECK(on.device.counted().pins == 1);
    CHECK(sweep.frame_bytes() == 32 * sizeof(double));
    CHECK(sweep.capacity().host_slots == 7);
  }
  CHECK(on.device.pinned_bytes_held() == 0);
  CHECK(on.device.faults() == 0);
}

TEST_CASE("memory that is not available is reported with what there was", "[cuda]") {
  std::size_t const large = std::size_t{1} << 24;  // 128 MiB a state
  used_device on{{.pinned_bytes = 5 * large * sizeof(double)}};
  try {
    device_sweep<sim_runtime, field> sweep{on.device, on.c, {1, 7}, on.maker({large})};
    FAIL("pinned more than there is");
  } catch (out_of_memory const& refused) {
    CHECK(refused.value(0).magnitude == 7);
    CHECK(refused.value(1).magnitude == 5);
  }
  CHECK_FALSE(on.device.pinned_bytes_held() > 0);
  used_device small{{.device_bytes = 1000}};
  CHECK_THROWS_AS((device_sweep<sim_runtime, field>{small.device, small.c, {50, 0}, small.maker()}), out_of_memory);
  CHECK(small.device.device_bytes_held() == 0);
}

TEST_CASE("frames of different sizes are refused", "[cuda]") {
  used_device on;
  std::size_t size = 0;
  auto const growing = [&] { return field{on.device, {++size}}; };
  CHECK_THROWS_AS((device_sweep<sim_runtime, field>{on.device, on.c, {2, 0}, growing}), invalid_call);
}

TEST_CASE("an initial state that is given is copied once, and stays", "[cuda]") {
  used_device on;
  sim::loop<sim_runtime> loop{on.device};
  field bar{on.device, {3}}, x0{on.device, {3}};
  loop.start()(x0, on.c);
  auto const plan = periods_on_host(20, 5, 1);
  device_sweep<sim_runtime, field> sweep{on.device, on.c, {6, 4}, on.maker()};
  for (int k = 0; k < 2; ++k) {
    sweep.gradient(loop.step(), x0, plan, loop.seed(), loop.adjoint(), bar);
    CHECK(on.device.counted().copies[int(copy_kind::device_to_device)] == std::size_t(k) + 1);
    on.device.sync(on.c);
    CHECK(sim::numbers_of(on.device, bar) == sim::gradient_by_hand({3}, 20));
  }
  CHECK(on.device.faults() == 0);
}

TEST_CASE("a sweep within a sweep is refused, and observers see every action twice", "[cuda]") {
  used_device on;
  sim::loop<sim_runtime> loop{on.device};
  field bar{on.device, {3}};
  device_sweep<sim_runtime, field> sweep{on.device, on.c, {4, 0}, on.maker()};
  auto const nested = [&](field const&, field&, step_index, sim_runtime::stream) {
    sweep.gradient(loop.step(), loop.start(), revolve{2, 1}, loop.seed(), loop.adjoint(), bar);
  };
  CHECK_THROWS_AS(sweep.gradient(nested, loop.start(), revolve{2, 1}, loop.seed(), loop.adjoint(), bar),
                  reentrancy_error);
  std::vector<action> seen;
  std::size_t calls = 0;
  auto const watch = [&](event const& e) {
    ++calls;
    if (e.moment() == moment::after) seen.push_back(e.what());
    CHECK(e.bytes_held() == 4 * 3 * sizeof(double));
    CHECK_FALSE(e.each_buffer([](void const*, std::size_t) {}));
  };
  revolve const plan{9, 2};
  sweep.gradient(loop.step(), loop.start(), plan, loop.seed(), loop.adjoint(), bar, watch);
  CHECK(seen == actions_of(plan));
  CHECK(calls == 2 * seen.size());
}
