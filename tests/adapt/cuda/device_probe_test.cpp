// SPDX-License-Identifier: Apache-2.0
// What a probe measures on the simulator, where the truth is known, and what follows from it: a plan, a capacity, a
// sweep.
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>
#include <cairn/adapt/cuda/device_budget.hpp>
#include <cairn/adapt/cuda/device_plan.hpp>
#include <cairn/adapt/cuda/device_probe.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include "support/catch.hpp"
#include "support/sim_states.hpp"

using namespace cairn;

namespace {

using field = sim::state<sim_runtime>;

/// The clock of a simulator's host.
struct virtual_clock {
  struct span {
    struct period { static constexpr int num = 1, den = 1; };
    double seconds;
    [[nodiscard]] double count() const { return seconds; }
  };
  struct time {
    double seconds;
    friend span operator-(time end, time begin) { return {end.seconds - begin.seconds}; }
  };
  static inline sim_runtime* device = nullptr;
  [[nodiscard]] static time now() { return {device->host_time()}; }
};

/// What was asked for, and what it should have been.
struct probed {
  workload work;
  std::size_t steps = 0, adjoints = 0;
  double host_time = 0;
  std::string fault;
  bool leaks = false;
};
struct loop_times { double step = 1, adjoint = 1.5; };

probed probe(sim::options const& options, sim::shape const& sizes, step_index n, bool in_place, loop_times times = {}) {
  probed seen;
  sim_runtime device{options};
  virtual_clock::device = &device;
  auto const c = device.make_stream();
  {
    field bar{device, sizes};
    sim::loop<sim_runtime> loop{device, times.step, times.adjoint};
    auto const make = [&] { return field{device, sizes}; };
    seen.work = in_place ? device_probe<virtual_clock>(device, c, make, loop.step_in_place(), loop.start(), n,
                                                       loop.seed(), loop.adjoint(), bar)
                         : device_probe<virtual_clock>(device, c, make, loop.step(), loop.start(), n, loop.seed(),
                                                       loop.adjoint(), bar);
    seen.steps = loop.steps;
    seen.adjoints = loop.adjoints;
  }
  seen.host_time = device.host_time();
  device.destroy(c);
  seen.fault = device.first_fault();
  seen.leaks = device.has_leaks();
  return seen;
}

/// Copies that take `per_byte` and more, each way another time.
sim::costs costs_of(double per_byte) {
  return {.copy = 3 * per_byte, .byte_within = per_byte / 4, .byte_to_device = per_byte, .byte_to_host = 2 * per_byte};
}

}  // namespace

TEST_CASE("a probe finds the seconds and bytes that are true, exactly where launches cost nothing", "[cuda]") {
  for (sim::shape const& sizes : {sim::shape{1}, sim::shape{24, 8}, sim::shape{5, 0}})
    for (bool const in_place : {false, true})
      for (double const unit : {1.0, 1e-3, 1e-6})
        for (step_index const n : {1, 2, 1000}) {
          auto const time = costs_of(unit);
          auto const seen = probe({.when = sim::order::random, .time = time}, sizes, n, in_place, {unit, 1.5 * unit});
          double bytes = 0, copies = 0;
          for (std::size_t const size : sizes) bytes += double(size) * sizeof(double), copies += size > 0 ? 1 : 0;
          INFO(n << " steps, unit " << unit << ", in place " << in_place << ", bytes " << bytes);
          CHECK(seen.fault == "");
          CHECK_FALSE(seen.leaks);
          auto const& work = seen.work;
          CHECK(*work.steps == n);
          CHECK(work.form.step == (in_place ? step_form::in_place : step_form::out_of_place));
          CHECK(work.step_seconds == Approx(unit).epsilon(1e-9));
          CHECK(work.adjoint_seconds == Approx(1.5 * unit).epsilon(1e-9));
          CHECK(work.tiers.host.write_seconds == Approx(copies * time.copy + bytes * time.byte_to_host).epsilon(1e-9));
          CHECK(work.tiers.host.read_seconds == Approx(copies * time.copy + bytes * time.byte_to_device).epsilon(1e-9));
          CHECK(work.tiers.device.write_seconds == Approx(copies * time.copy + bytes * time.byte_within).epsilon(1e-9));
          CHECK(work.tiers.host.bytes == 0);
        }
}

TEST_CASE("a probe says the bytes of a state and of its adjoint, each buffer where it begins in a slot", "[cuda]") {
  auto const work = probe({}, {24, 8}, 3, false).work;
  CHECK(work.state_bytes == 32 * sizeof(double));
  CHECK(work.adjoint_bytes == 32 * sizeof(double));
  CHECK(probe({}, {}, 3, false).work.state_bytes == 0);
}

TEST_CASE(
    "an adjoint that is no state on a device counts with the bytes that are there, and one that cannot be told with "
    "those that are given",
    "[cuda]") {
  sim_runtime device;
  virtual_clock::device = &device;
  auto const c = device.make_stream();
  struct handle { void const* nobody_knows; };
  handle bar{};
  std::vector<double> on_host(10);
  auto const make = [&] { return field{device, {1}}; };
  sim::loop<sim_runtime> loop{device};
  auto const seed = [](field const&, auto&, sim_runtime::stream) {};
  auto const adjoint = [](field const&, auto&, step_index, sim_runtime::stream) {};
  CHECK(device_probe<virtual_clock>(device, c, make, loop.step(), loop.start(), 3, seed, adjoint, bar, 800)
            .adjoint_bytes == 800);
  CHECK(device_probe<virtual_clock>(device, c, make, loop.step(), loop.start(), 3, seed, adjoint, on_host)
            .adjoint_bytes == 0);
  device.destroy(c);
  CHECK(device.faults() == 0);
}

TEST_CASE("a launch that fails silently is not measured as a fast one", "[cuda]") {
  bool failed = true;
  std::uint64_t nth = 1;
  for (; failed; ++nth) {
    sim_runtime device{{.time = costs_of(1)}};
    virtual_clock::device = &device;
    auto const c = device.make_stream();
    std::string text;
    {
      field bar{device, {3}};
      sim::loop<sim_runtime> loop{device};
      auto const make = [&] { return field{device, {3}}; };
      device.fail_at(sim::call::launch, nth, sim::failure::untold);
      try {
        static_cast<void>(device_probe<virtual_clock>(device, c, make, loop.step(), loop.start(), 5, loop.seed(),
                                                      loop.adjoint(), bar));
      } catch (device_error const& refused) {
        text = refused.what();
      }
    }
    CAPTURE(nth, text);
    failed = !text.empty();
    if (failed)
      CHECK(text.find(
                "cairn::device_probe: a launch of the start, step, seed or adjoint failed (device = 0, code = 209)") ==
            0);
    else CHECK(device.calls(sim::call::launch) == nth - 1);  // each of them has failed once
    device.destroy(c);
    CHECK(device.faults() == 0);
    CHECK_FALSE(device.has_leaks());
  }
  CHECK(nth > 10);
}

TEST_CASE(
    "of a loop without steps only copies are timed, and a negative number of steps is refused before anything is made",
    "[cuda]") {
  auto const seen = probe({.time = costs_of(1)}, {4}, 0, false);
  CHECK(seen.steps == 0);
  CHECK(seen.adjoints == 0);
  CHECK(seen.work.step_seconds == 0);
  CHECK(seen.work.tiers.host.read_seconds == Approx(3 + 32));
  sim_runtime device;
  auto const c = device.make_stream();
  field bar{device, {1}};
  sim::loop<sim_runtime> loop{device};
  auto const never = [&]() -> field { throw 1; };
  CHECK_THROWS_AS(
      device_probe<virtual_clock>(device, c, never, loop.step(), loop.start(), -1, loop.seed(), loop.adjoint(), bar),
      invalid_plan);
  device.destroy(c);
}

TEST_CASE("short calls are put into the stream by the hundred, long ones a few times", "[cuda]") {
  auto const long_ones = probe({.time = costs_of(1)}, {1}, 1000, false);
  CHECK(long_ones.steps <= 8);
  CHECK(long_ones.adjoints <= 4);
  auto const short_ones = probe({.time = costs_of(1e-6)}, {1}, 1000, false, {1e-5, 1e-5});
  CHECK(short_ones.steps > 3000);
  CHECK(short_ones.steps < 8000);
}

TEST_CASE("what a launch and a wait cost beside short steps is less than a hundredth of them", "[cuda]") {
  sim::costs time = costs_of(1e-6);
  time.launch = 4e-6;
  auto const seen = probe({.time = time}, {1}, 100'000, false, {1e-5, 2e-5});
  CHECK(seen.work.step_seconds == Approx(1e-5).epsilon(0.01));
  CHECK(seen.work.adjoint_seconds == Approx(2e-5).epsilon(0.01));
  time.launch = 3e-5;  // the host is slower than the device, and the sweep takes its time
  auto const slow = probe({.time = time}, {1}, 100'000, false, {1e-5, 2e-5});
  CHECK(slow.work.step_seconds == Approx(3e-5).epsilon(0.01));
}

TEST_CASE("whichever call fails in a probe, nothing in flight is freed and nothing is left behind", "[cuda]") {
  std::size_t failed = 0;
  for (sim::failure const how : {sim::failure::usual, sim::failure::no_memory, sim::failure::context_lost})
    for (sim::order const when : {sim::order::eager, sim::order::random})
      for (std::uint64_t nth = 1;; ++nth) {
        sim_runtime device{{.when = when, .time = costs_of(1)}};
        virtual_clock::device = &device;
        auto const c = device.make_stream();
        bool thrown = false;
        {
          field bar{device, {2}};
          sim::loop<sim_runtime> loop{device};
          auto const make = [&] {  // a fill that is under way when the next frame is not to be had
            field made{device, {2}};
            loop.start()(made, c);
            return made;
          };
          device.fail_at_any(nth, how);
          try {
            (void)device_probe<virtual_clock>(device, c, make, loop.step(), loop.start(), 5, loop.seed(),
                                              loop.adjoint(), bar);
          } catch (error const&) {
            thrown = true;
          }
          device.fail_at_any(0);
          if (!device.context_lost()) device.sync(c);
        }
        device.destroy(c);
        INFO("call " << nth << " fails");
        REQUIRE(device.first_fault() == "");
        REQUIRE_FALSE(device.has_leaks());
        if (!thrown) break;
        ++failed;
      }
  CHECK(failed > 300);
}

TEST_CASE("by the clock of the machine, too, a probe ends soon and measures something", "[cuda]") {
  sim_runtime device{{.when = sim::order::eager}};
  auto const c = device.make_stream();
  {
    field bar{device, {1}};
    sim::loop<sim_runtime> loop{device};
    auto const work = device_probe(
        device, c,
        [&] {
          return field{device, {1}};
        },
        loop.step(), loop.start(), 20, loop.seed(), loop.adjoint(), bar);
    CHECK(work.step_seconds > 0);
    CHECK(work.tiers.host.write_seconds > 0);
  }
  device.destroy(c);
  CHECK(device.faults() == 0);
}

TEST_CASE("from a probe to a plan to a sweep that takes the seconds that were promised", "[cuda]") {
  for (int const engines : {1, 2}) {
    sim::shape const sizes{16};
    auto time = costs_of(0.02);
    time.copy_engines = engines;
    sim_runtime device{{.when = sim::order::eager, .time = time, .device_bytes = 10 * 128}};
    virtual_clock::device = &device;
    auto const c = device.make_stream();
    {
      field bar{device, sizes};
      sim::loop<sim_runtime> loop{device, 1, 1.5};
      auto const make = [&] { return field{device, sizes}; };
      device_forecast const forecast{.copy_engines = engines};

      auto work = device_probe<virtual_clock>(device, c, make, loop.step(), loop.start(), 200, loop.seed(),
                                              loop.adjoint(), bar);
      work.tiers.host.bytes = 20 * 128;
      auto const best = plan_for_device(device_budget{"90%"}.of(device), work, forecast);
      device_sweep<sim_runtime, field> sweep{device, c, best.capacity, make};
      double const begin = device.host_time();
      sweep.gradient(loop.step(), loop.start(), best.plan, loop.seed(), loop.adjoint(), bar);
      device.sync(c);
      CHECK(device.host_time() - begin == Approx(best.seconds).epsilon(1e-9));
      CHECK(best.capacity.frames == 7);  // 90% of 9 are 8, and one of these is the adjoint
      CHECK(best.capacity.host_slots > 0);
      CHECK(sim::numbers_of(device, bar) == sim::gradient_by_hand(sizes, 200));
    }
    CHECK(device.first_fault() == "");
    device.destroy(c);
  }
}

namespace {

/// A sweep of a capacity up to `wanted`, on a device where another program takes what it likes: what it got, and
/// whether its gradient is right.
struct shortage {
  device_capacity got;
  bool right = false, refused = false;
  std::string fault, message;
  bool leaks = false;
};
shortage with_less(sim::options const& options, device_capacity wanted, sim::shape const& sizes,
                   std::uint64_t fails = 0, bool as_bad_alloc = false) {
  shortage seen;
  sim_runtime device{options};
  auto const c = device.make_stream();
  {
    field bar{device, sizes};
    sim::loop<sim_runtime> loop{device};
    auto const make = [&]() -> field {
      try {
        field made{device, sizes};
        loop.start()(made, c);
        return made;
      } catch (out_of_memory const&) {
        if (as_bad_alloc) throw std::bad_alloc{};
        throw;
      }
    };
    if (fails > 0) device.fail_at_any(fails, sim::failure::no_memory);
    try {
      device_sweep<sim_runtime, field> sweep{device, c, capacity_up_to{wanted}, make};
      device.fail_at_any(0);
      seen.got = sweep.capacity();
      workload work{.steps = 40, .state_bytes = 8, .step_seconds = 1, .adjoint_seconds = 1};
      work.tiers.host = {4, 4, 0};
      if (sweep.capacity().frames >= 3) {
        auto const plan = plan_for_device(sweep.capacity(), work, device_forecast{});
        seen.got.host_slots =
            plan.capacity.host_slots <= sweep.capacity().host_slots ? sweep.capacity().host_slots : -1;
        sweep.gradient(loop.step(), loop.start(), plan.plan, loop.seed(), loop.adjoint(), bar);
        device.sync(c);
        seen.right = sim::numbers_of(device, bar) == sim::gradient_by_hand(sizes, 40);
      }
    } catch (error const& refused) {
      seen.refused = true;
      seen.message = refused.what();
    }
    device.fail_at_any(0);
    device.sync(c);
  }
  device.destroy(c);
  seen.fault = device.first_fault();
  seen.leaks = device.has_leaks();
  return seen;
}

}  // namespace

TEST_CASE("a sweep that may take less takes what there is, says so, and leaves a frame's memory free", "[cuda]") {
  for (bool const as_bad_alloc : {false, true}) {
    auto const enough = with_less({}, {9, 4}, {16}, 0, as_bad_alloc);
    CHECK((enough.got == device_capacity{9, 4}));
    CHECK(enough.right);
    auto const less =
        with_less({.device_bytes = 8 * 128}, {9, 4}, {16}, 0, as_bad_alloc);  // the adjoint has one of eight
    CHECK((less.got == device_capacity{6, 4}));
    CHECK(less.right);
    CHECK((with_less({.device_bytes = 2 * 128}, {9, 0}, {16}, 0, as_bad_alloc).got == device_capacity{1, 0}));
    auto const none = with_less({.device_bytes = 128}, {9, 4}, {16}, 0, as_bad_alloc);
    CHECK(none.refused);
    CHECK(none.message.find(
              "cairn::device_sweep: not all frames could be made (frames = 9, made = 0, bytes a frame = 0)") == 0);
  }
}

TEST_CASE(
    "whichever call has no memory left, a sweep that may take less is right or says so, and frees nothing in flight",
    "[cuda]") {
  std::size_t refused = 0, less = 0;
  for (sim::order const when : {sim::order::eager, sim::order::random})
    for (std::uint64_t nth = 1; nth < 120; ++nth) {
      auto const seen = with_less({.when = when, .seed = nth}, {7, 3}, {2, 3}, nth);
      INFO("call " << nth << " fails");
      REQUIRE(seen.fault == "");
      REQUIRE_FALSE(seen.leaks);
      REQUIRE((seen.refused || seen.right || seen.got.frames < 3));
      refused += seen.refused ? 1u : 0u;
      less += seen.refused || seen.got == device_capacity{7, 3} ? 0u : 1u;
    }
  CHECK(refused > 8);
  CHECK(less > 8);
}

TEST_CASE(
    "a sweep that may not take less says how many frames were made for all that make throws, and frees none in flight",
    "[cuda]") {
  for (bool const as_bad_alloc : {false, true}) {
    sim_runtime device{{.when = sim::order::random, .device_bytes = 5 * 128}};
    auto const c = device.make_stream();
    sim::loop<sim_runtime> loop{device};
    auto const make = [&]() -> field {
      if (as_bad_alloc && device.device_bytes_held() == 5 * 128) throw std::bad_alloc{};
      field made{device, {16}};
      loop.start()(made, c);
      return made;
    };
    try {
      device_sweep<sim_runtime, field> sweep{device, c, {9, 0}, make};
      FAIL("made more than there is room for");
    } catch (out_of_memory const& refused) {
      CHECK(std::string{refused.what()}.find(
                "cairn::device_sweep: not all frames could be made (frames = 9, made = 5, bytes a frame = 128)") == 0);
    }
    struct other {};
    int made = 0;
    auto const failing = [&] { return ++made < 4 ? make() : throw other{}; };
    CHECK_THROWS_AS((device_sweep<sim_runtime, field>{device, c, capacity_up_to{{9, 0}}, failing}), other);
    device.destroy(c);
    CHECK(device.first_fault() == "");
    CHECK_FALSE(device.has_leaks());
  }
}
