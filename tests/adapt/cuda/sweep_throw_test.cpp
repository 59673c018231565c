// SPDX-License-Identifier: Apache-2.0
// Exceptions at every call of the user's functions and of the runtime: nothing in flight is freed, and the sweep can be
// used again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include "support/catch.hpp"
#include "support/fuse.hpp"
#include "support/sim_states.hpp"

using namespace cairn;

namespace {

using field = sim::state<sim_runtime>;
using stream = sim_runtime::stream;
enum class form { out_of_place, in_place };

sim::shape const sizes{4, 2};
step_index constexpr steps = 24;
sim::order const orders[] = {sim::order::eager, sim::order::random, sim::order::laziest};

any_schedule const& plan_of(int kind) {
  static any_schedule const plans[] = {two_level{steps, 5, 2, {.periods_on = tier::host, .extra_on = tier::device}},
                                       hrevolve{steps, {{2, 0, 0, tier::device}, {3, 0.5, 0.25, tier::host}}}};
  return plans[kind];
}

/// A device, a sweep over it, and a loop whose functions pass the fuse before and after they have put anything into the
/// stream.
class fixture {
 public:
  fixture(sim::order when, form steps_are, any_schedule const& plan)
      : device{{.when = when, .seed = 9}}, form_{steps_are}, plan_{plan} {}

  void gradient(device_sweep<sim_runtime, field>& sweep, field& bar) {
    sim::loop<sim_runtime> loop{device};
    auto const start = [&](field& x, stream in) { passing(site::copy, [&] { loop.start()(x, in); }); };
    auto const seed = [&](field const& x, field& to, stream in) {
      passing(site::seed, [&] { loop.seed()(x, to, in); });
    };
    auto const adjoint = [&](field const& x, field& to, step_index i, stream in) {
      passing(site::adjoint, [&] { loop.adjoint()(x, to, i, in); });
    };
    auto const step = [&](field const& x, field& x1, step_index i, stream in) {
      passing(site::step, [&] { loop.step()(x, x1, i, in); });
    };
    auto const step_in_place = [&](field& x, step_index i, stream in) {
      passing(site::step, [&] { loop.step_in_place()(x, i, in); });
    };
    auto const watch = [&](event const&) { the_fuse.pass(site::observer); };
    if (form_ == form::in_place) sweep.gradient(step_in_place, start, plan_, seed, adjoint, bar, watch);
    else sweep.gradient(step, start, plan_, seed, adjoint, bar, watch);
  }
  [[nodiscard]] device_capacity capacity() const {
    auto needed = device_capacity_for(plan_, form_ == form::in_place ? step_form::in_place : step_form::out_of_place);
    needed.frames += 2;
    return needed;
  }
  [[nodiscard]] auto maker() {
    return [this] { return field{device, sizes}; };
  }
  [[nodiscard]] std::string faults() const { return device.faults() > 0 ? device.first_fault() : ""; }

  sim_runtime device;

 private:
  template <class F>
  static void passing(site where, F f) {
    the_fuse.pass(where);
    f();
    the_fuse.pass(where);
  }
  form form_;
  any_schedule plan_;
};

/// Calls f(device order, form, plan).
template <class F>
void each_case(F f) {
  for (sim::order const when : orders)
    for (form const steps_are : {form::out_of_place, form::in_place})
      for (int const kind : {0, 1}) f(when, steps_are, plan_of(kind));
}

}  // namespace

TEST_CASE("what a user's function throws comes through, and the sweep runs right again", "[cuda][long]") {
  auto const expected = sim::gradient_by_hand(sizes, steps);
  std::size_t thrown = 0;
  for (site const where : {site::step, site::adjoint, site::seed, site::copy, site::observer})
    each_case([&](sim::order when, form steps_are, any_schedule const& plan) {
      fixture on{when, steps_are, plan};
      auto const c = on.device.make_stream();
      field bar{on.device, sizes};
      {
        device_sweep<sim_runtime, field> sweep{on.device, c, on.capacity(), on.maker()};
        for (std::int64_t call = 0;; ++call) {
          the_fuse.arm(where, call);
          try {
            on.gradient(sweep, bar);
            the_fuse.disarm();
            break;
          } catch (planned const&) {
            ++thrown;
          }
          the_fuse.disarm();
          if (call % 5 != 0) continue;
          on.gradient(sweep, bar);
          on.device.sync(c);
          if (sim::numbers_of(on.device, bar) != expected)
            FAIL("another gradient after the exception of call " << call);
        }
      }
      on.device.sync(c);
      REQUIRE(sim::numbers_of(on.device, bar) == expected);
      REQUIRE(on.faults() == "");
    });
  CHECK(thrown > 3000);
}

TEST_CASE("a sweep that ends by an exception frees nothing that is in flight", "[cuda]") {
  std::size_t thrown = 0;
  for (site const where : {site::step, site::adjoint, site::seed, site::copy})
    each_case([&](sim::order when, form steps_are, any_schedule const& plan) {
      for (std::int64_t call = 0, last = -1; last < call; ++call) {
        fixture on{when, steps_are, plan};
        auto const c = on.device.make_stream();
        field bar{on.device, sizes};
        the_fuse.arm(where, call);
        try {
          device_sweep<sim_runtime, field> sweep{on.device, c, on.capacity(), on.maker()};
          on.gradient(sweep, bar);
          last = call;
        } catch (planned const&) {
          ++thrown;
          last = -1;
        }
        the_fuse.disarm();
        REQUIRE(on.faults() == "");
        on.device.sync(c);
        if (last == call) break;
      }
    });
  CHECK(thrown > 1000);
}

namespace {

/// What became of a sweep of which one call of the runtime failed.
struct aftermath {
  bool failed = false, ran_again = false, right = true, leaks = false;
  std::string fault;
};
aftermath with_failure(fixture& on, sim::call which, std::uint64_t nth, sim::failure how) {
  aftermath seen;
  auto const c = on.device.make_stream();
  {
    field bar{on.device, sizes};
    on.device.fail_at(which, nth, how);
    try {
      device_sweep<sim_runtime, field> sweep{on.device, c, on.capacity(), on.maker()};
      try {
        on.gradient(sweep, bar);
      } catch (error const&) {
        seen.failed = true;
        if (!on.device.context_lost()) {
          on.gradient(sweep, bar);
          on.device.sync(c);
          seen.right = sim::numbers_of(on.device, bar) == sim::gradient_by_hand(sizes, steps);
          seen.ran_again = true;
        }
      }
    } catch (error const&) {
      seen.failed = true;
    }
    on.device.fail_at(which, 0);
    if (!on.device.context_lost()) on.device.sync(c);
  }
  on.device.destroy(c);
  seen.leaks = on.device.has_leaks();
  seen.fault = on.faults();
  return seen;
}

}  // namespace

TEST_CASE("whichever call of the runtime fails, nothing in flight is freed, and nothing is left behind", "[cuda][long]") {
  using sim::call;
  std::size_t failed = 0, ran_again = 0;
  for (sim::failure const how : {sim::failure::usual, sim::failure::foreign_handle, sim::failure::context_lost})
    for (call const which : {call::device_alloc, call::pinned_alloc, call::make_stream, call::make_event, call::record,
                             call::wait, call::copy, call::launch, call::sync}) {
      // A stream that cannot be waited for, though all else goes on, was destroyed by the caller: nothing can be done
      // then.
      if (which == call::sync && how == sim::failure::foreign_handle) continue;
      each_case([&](sim::order when, form steps_are, any_schedule const& plan) {
        for (std::uint64_t nth = 1;; ++nth) {
          fixture on{when, steps_are, plan};
          auto const seen = with_failure(on, which, nth, how);
          INFO("call " << nth << " of kind " << int(which) << " fails");
          REQUIRE(seen.fault == "");
          REQUIRE(seen.right);
          REQUIRE_FALSE(seen.leaks);
          failed += seen.failed ? 1u : 0u;
          ran_again += seen.ran_again ? 1u : 0u;
          if (on.device.calls(which) < nth) break;
        }
      });
    }
  CHECK(failed > 3000);
  CHECK(ran_again > 1000);
}

namespace {

/// Who was called, as errors name it, and with which number. Each call is one launch.
struct one_call {
  std::string problem;
  named_value which;
};
/// A sweep over the simulator that writes down whom it calls.
void noted_gradient(fixture& on, form steps_are, any_schedule const& plan, device_sweep<sim_runtime, field>& sweep,
                    field& bar, std::vector<one_call>& called) {
  sim::loop<sim_runtime> loop{on.device};
  bool on_the_way_back = false;
  auto const step_is = [&](step_index i) {
    called.push_back({on_the_way_back ? "a launch of the step failed where it runs again"
                                      : "a launch of the step failed on the way forward",
                      {"step", i}});
  };
  auto const start = [&](field& x, stream in) {
    called.push_back({"a launch of the start failed", {"state", 0}});
    loop.start()(x, in);
  };
  auto const seed = [&](field const& x, field& to, stream in) {
    called.push_back({"a launch of the seed failed", {"state", steps}});
    loop.seed()(x, to, in);
    on_the_way_back = true;
  };
  auto const adjoint = [&](field const& x, field& to, step_index i, stream in) {
    called.push_back({"a launch of the adjoint failed", {"step", i}});
    loop.adjoint()(x, to, i, in);
  };
  auto const step = [&](field const& x, field& x1, step_index i, stream in) { step_is(i), loop.step()(x, x1, i, in); };
  auto const step_in_place = [&](field& x, step_index i, stream in) { step_is(i), loop.step_in_place()(x, i, in); };
  if (steps_are == form::in_place) sweep.gradient(step_in_place, start, plan, seed, adjoint, bar);
  else sweep.gradient(step, start, plan, seed, adjoint, bar);
}

}  // namespace

TEST_CASE("a launch that fails silently is reported with its function and step, and the sweep runs right again",
          "[cuda]") {
  auto const expected = sim::gradient_by_hand(sizes, steps);
  std::size_t told = 0;
  each_case([&](sim::order when, form steps_are, any_schedule const& plan) {
    fixture on{when, steps_are, plan};
    auto const c = on.device.make_stream();
    {
      field bar{on.device, sizes};
      device_sweep<sim_runtime, field> sweep{on.device, c, on.capacity(), on.maker()};
      for (std::uint64_t nth = 1;; ++nth) {
        std::vector<one_call> called;
        std::string text;
        named_value which;
        auto const before = on.device.calls(sim::call::launch);
        on.device.fail_at(sim::call::launch, nth, sim::failure::untold);
        try {
          noted_gradient(on, steps_are, plan, sweep, bar, called);
        } catch (device_error const& refused) {
          text = refused.what();
          which = refused.value(0);
          REQUIRE(refused.value(2).magnitude == 209);
        }
        on.device.fail_at(sim::call::launch, 0);
        if (text.empty()) {
          REQUIRE(on.device.calls(sim::call::launch) - before == nth - 1);  // each of them has failed once
          break;
        }
        ++told;
        CAPTURE(text);
        REQUIRE(called.size() == nth);  // it is reported after the call that made it
        REQUIRE(text.find("cairn::device_sweep: " + called.back().problem + " (") == 0);
        REQUIRE(text.find("nvcc -arch=native") != std::string::npos);
        REQUIRE(std::string{which.name} == called.back().which.name);
        REQUIRE(which.magnitude == called.back().which.magnitude);
        if (nth % 7 != 0) continue;
        noted_gradient(on, steps_are, plan, sweep, bar, called);
        on.device.sync(c);
        REQUIRE(sim::numbers_of(on.device, bar) == expected);
      }
    }
    REQUIRE(on.faults() == "");
    on.device.sync(c);
  });
  CHECK(told > 700);
}

TEST_CASE("a launch that failed before the sweep is reported before any step, once", "[cuda]") {
  fixture on{sim::order::laziest, form::out_of_place, plan_of(0)};
  auto const c = on.device.make_stream();
  {
    field bar{on.device, sizes};
    device_sweep<sim_runtime, field> sweep{on.device, c, on.capacity(), on.maker()};
    on.device.fail_at(sim::call::launch, 1, sim::failure::untold);
    on.device.launch(c, bar.all(true), [] {});
    auto const launches = on.device.counted().launches;
    std::string text;
    try {
      on.gradient(sweep, bar);
    } catch (device_error const& refused) {
      text = refused.what();
    }
    CAPTURE(text);
    CHECK(text.find("cairn::device_sweep: a launch before this call failed, and its error was never read (device = 0, "
                    "code = 209)") == 0);
    CHECK(on.device.counted().launches == launches);
    on.gradient(sweep, bar);
    on.device.sync(c);
    CHECK(sim::numbers_of(on.device, bar) == sim::gradient_by_hand(sizes, steps));
  }
  CHECK(on.faults() == "");
}
