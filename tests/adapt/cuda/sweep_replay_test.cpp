// SPDX-License-Identifier: Apache-2.0
// The replay check of sweeps on a device: planted faults are found, sound loops are not reported, and its memory is
// what the capacity says.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>
#include "support/catch.hpp"
#include "support/random_list.hpp"
#include "support/sim_states.hpp"

using namespace cairn;

namespace {

using field = sim::state<sim_runtime>;
using stream = sim_runtime::stream;
enum class form { out_of_place, in_place };
form constexpr forms[] = {form::out_of_place, form::in_place};
sim::order const orders[] = {sim::order::eager, sim::order::random, sim::order::laziest};
sweep_options constexpr modes[] = {{.verify = replay_check::checkpoints}, {.verify = replay_check::every_step}};
sim::shape const sizes{3, 2};

std::vector<any_schedule> plans_of(step_index n) {
  std::vector<any_schedule> all{store_all(n)};
  for (slot_index const slots : {1, 2, 3, 5}) {
    all.push_back(revolve{n, slots});
    all.push_back(two_level{n, 2 + slots, slots - 1, {.periods_on = tier::host, .extra_on = tier::device}});
    all.push_back(hrevolve{n, {{1, 0, 0, tier::device}, {slots, 0.5, 0.25, tier::host}}});
  }
  return all;
}
device_capacity room_for(any_schedule const& plan, form steps, slot_index more, sweep_options options) {
  auto capacity =
      device_capacity_for(plan, steps == form::in_place ? step_form::in_place : step_form::out_of_place, options);
  capacity.frames += more;
  return capacity;
}

struct outcome {
  bool told = false, right = false;
  replay_difference found;
  std::string text;
};
/// One sweep, whose step is the loop's and then whatever `more(x1, i)` puts into the stream and changes.
template <class R, class State, class More>
outcome run(R& device, any_schedule const& plan, form steps, slot_index more_frames, sweep_options options, More more) {
  outcome seen;
  stream const c = device.make_stream();
  {
    State bar{device, sizes};
    sim::loop<R> loop{device};
    auto const step = [&, inner = loop.step()](State const& x, State& x1, step_index i, stream in) {
      inner(x, x1, i, in);
      more(x, x1, i, in);
    };
    auto const step_in_place = [&, inner = loop.step_in_place()](State& x, step_index i, stream in) {
      inner(x, i, in);
      more(x, x, i, in);
    };
    device_sweep<R, State> sweep{device, c, room_for(plan, steps, more_frames, options),
                                 [&] {
                                   return State{device, sizes};
                                 },
                                 options};
    try {
      if (steps == form::in_place) sweep.gradient(step_in_place, loop.start(), plan, loop.seed(), loop.adjoint(), bar);
      else sweep.gradient(step, loop.start(), plan, loop.seed(), loop.adjoint(), bar);
      device.sync(c);
      seen.right = sim::numbers_of(device, bar) == sim::gradient_by_hand(sizes, plan.steps());
    } catch (nondeterminism_error const& refused) {
      seen.told = true;
      seen.found = refused.found;
      seen.text = refused.what();
    }
  }
  device.sync(c);
  device.destroy(c);
  REQUIRE(device.faults() == 0);
  REQUIRE_FALSE(device.has_leaks());
  return seen;
}
auto const nothing_more = [](auto const&, auto&, step_index, stream) {};

/// Adds to the first number, on the device.
template <class State>
void add(sim_runtime& device, State const& x, double what, stream in) {
  double* const at = x.numbers(0);
  device.launch(in, {sim::writes(at, sizeof *at)}, [at, what] { *at += what; }, 0);
}

void check_sound(any_schedule const& plan, std::uint64_t seed, slot_index more_frames) {
  for (form const steps : forms)
    for (sweep_options const options : modes) {
      sim_runtime device{{.when = orders[seed % 3], .seed = seed}};
      auto const seen = run<sim_runtime, field>(device, plan, steps, more_frames, options, nothing_more);
      CAPTURE(seed, plan.steps(), int(steps), int(options.verify), more_frames, seen.text);
      REQUIRE_FALSE(seen.told);
      REQUIRE(seen.right);
    }
}
void campaign_of_lists(std::uint64_t lists) {
  list_maker maker{21};
  for (std::uint64_t k = 0; k < lists; ++k) check_sound(maker.make(8), k, slot_index(k % 4));
}

/// A state that keeps a number which no copy of it takes along.
struct leaky_field : field {
  using field::field;
  double hidden = 0;
};

/// Leaves out one copy from the host.
struct lossy_runtime : sim_runtime {
  using sim_runtime::sim_runtime;
  std::size_t left_out = 0, copies = 0;
  void copy(void* to, void const* from, std::size_t bytes, copy_kind kind, stream in) {
    if (kind == copy_kind::host_to_device && ++copies == left_out) return;
    sim_runtime::copy(to, from, bytes, kind, in);
  }
};

}  // namespace

TEST_CASE("a sound loop is not blamed by the replay check, and its gradient has the bits of storing everything",
          "[cuda]") {
  for (step_index const n : {0, 1, 2, 3, 17})
    for (auto const& plan : plans_of(n))
      for (std::uint64_t seed = 0; seed < 3; ++seed) check_sound(plan, seed, slot_index(seed));
}
TEST_CASE("random lists of actions are not blamed by the replay check", "[cuda][long]") { campaign_of_lists(1'000); }
TEST_CASE("random lists of actions are not blamed by the replay check, a long campaign", "[cuda][.soak]") {
  campaign_of_lists(50'000);
}

TEST_CASE("a step that changes something outside the state is found wherever a step runs twice", "[cuda]") {
  std::size_t told = 0;
  for (step_index const n : {2, 3, 7, 17, 30})
    for (auto const& plan : plans_of(n))
      for (form const steps : forms)
        for (sweep_options const options : modes) {
          sim_runtime device;
          double calls = 0;
          auto const seen = run<sim_runtime, field>(
              device, plan, steps, 1, options,
              [&](field const&, field& x1, step_index, stream in) { add(device, x1, 1e-3 * ++calls, in); });
          auto const counts = verify(plan);
          CAPTURE(n, plan.slots(), int(steps), int(options.verify));
          REQUIRE(seen.told == (counts.advances + counts.turned > wide(n)));
          told += seen.told ? 1u : 0u;
        }
  CHECK(told > 150);
}

namespace {

/// The loop's step, which leaves one number of x1, in the first buffer or on the host, as it finds it.
template <class More>
outcome run_stale(sim_runtime& device, any_schedule const& plan, sweep_options options, More is_left) {
  outcome seen;
  stream const c = device.make_stream();
  {
    field bar{device, sizes};
    sim::loop<sim_runtime> loop{device};
    double left = 0;  // on the device: what stood in x1 before the step
    auto const step = [&, inner = loop.step()](field const& x, field& x1, step_index i, stream in) {
      double* const at = x1.numbers(0);
      double const time = x1.time;
      int const part = is_left(i);
      if (part == 1) device.launch(in, {sim::reads(at, sizeof *at)}, [at, &left] { left = *at; }, 0);
      inner(x, x1, i, in);
      if (part == 1) device.launch(in, {sim::writes(at, sizeof *at)}, [at, &left] { *at = left; }, 0);
      if (part == 2) x1.time = time;
    };
    device_sweep<sim_runtime, field> sweep{device, c, room_for(plan, form::out_of_place, 1, options),
                                           [&] {
                                             return field{device, sizes};
                                           },
                                           options};
    try {
      sweep.gradient(step, loop.start(), plan, loop.seed(), loop.adjoint(), bar);
      device.sync(c);
    } catch (nondeterminism_error const& refused) {
      seen.told = true;
      seen.found = refused.found;
    }
  }
  device.sync(c);
  device.destroy(c);
  REQUIRE(device.faults() == 0);
  return seen;
}

}  // namespace

TEST_CASE(
    "a step that does not write all of x1 is found wherever it runs again, on the device and on the host's part of a "
    "state",
    "[cuda]") {
  std::size_t told = 0;
  step_index constexpr n = 17;
  for (auto const& plan : plans_of(n))
    for (sweep_options const options : modes)
      for (int const part : {1, 2})
        for (step_index bad = 0; bad < n; ++bad) {
          sim_runtime device{{.when = orders[bad % 3], .seed = std::uint64_t(bad)}};
          std::size_t runs = 0;
          auto const seen = run_stale(device, plan, options, [&](step_index i) {
            runs += i == bad ? 1 : 0;
            return i == bad ? part : 0;
          });
          CAPTURE(plan.slots(), int(options.verify), part, bad);
          REQUIRE((!seen.told || seen.found.first_step <= bad));
          if (options.verify == replay_check::every_step) REQUIRE(seen.told == (runs >= 2));
          told += seen.told ? 1u : 0u;
        }
  CHECK(told > 150);
}

TEST_CASE("the first step that differs is named where every step is compared", "[cuda]") {
  step_index constexpr n = 20;
  for (any_schedule const& plan :
       {any_schedule{revolve{n, 2}},
        any_schedule{two_level{n, 6, 1, {.periods_on = tier::host, .extra_on = tier::device}}}})
    for (form const steps : forms)
      for (step_index bad = 0; bad < n; ++bad) {
        sim_runtime device{{.when = sim::order::laziest}};
        std::size_t runs = 0;
        auto const seen = run<sim_runtime, field>(device, plan, steps, 1, {.verify = replay_check::every_step},
                                                  [&](field const&, field& x1, step_index i, stream in) {
                                                    if (i == bad && ++runs == 2) add(device, x1, 1e-9, in);
                                                  });
        CAPTURE(bad, seen.text);
        REQUIRE(seen.told == (runs >= 2));
        if (!seen.told) continue;
        REQUIRE(seen.found.state == bad + 1);
        REQUIRE(seen.found.last_step == bad);
      }
}

TEST_CASE("states on a device are compared bit by bit: the sign of a zero and what a NaN carries count", "[cuda]") {
  double const quiet = std::numeric_limits<double>::quiet_NaN(),
               carries = std::bit_cast<double>(std::bit_cast<std::uint64_t>(quiet) + 1);
  step_index constexpr n = 6;
  struct pair {
    double first, again;
    bool differ;
  };
  for (pair const values :
       {pair{0.0, -0.0, true}, pair{quiet, carries, true}, pair{quiet, quiet, false}, pair{-0.0, -0.0, false}})
    for (form const steps : forms)
      for (sweep_options const options : modes) {
        sim_runtime device;
        std::map<step_index, int> runs;
        auto const seen = run<sim_runtime, field>(
            device, revolve{n, 2}, steps, 1, options, [&](field const&, field& x1, step_index i, stream in) {
              double* const at = x1.numbers(0);
              double const value = runs[i]++ == 0 ? values.first : values.again;
              device.launch(
                  in, {sim::writes(at, sizeof *at)}, [at, value] { *at = value; }, 0);
            });
        CAPTURE(values.first, values.again, int(steps), int(options.verify), seen.text);
        REQUIRE(seen.told == values.differ);
      }
}

// Out of place, where the forward run copies no state: what is lost there is lost in the first run, too.
TEST_CASE("a state that loses a part of itself when copied to the host is found, or the gradient is right", "[cuda]") {
  std::size_t told = 0;
  for (step_index const n : {3, 7, 17, 30})
    for (auto const& plan : plans_of(n))
      for (sweep_options const options : modes)
        for (slot_index const more : {0, 1, 3}) {
          sim_runtime device;
          auto const with_hidden = [&](leaky_field const& x, leaky_field& x1, step_index i, stream in) {
            x1.hidden = i == 0 ? 1 : x.hidden + 1;
            add(device, x1, 1e-3 * (x1.hidden - double(i) - 1), in);  // nothing where it is as it should be
          };
          auto const seen = run<sim_runtime, leaky_field>(device, plan, form::out_of_place, more, options, with_hidden);
          CAPTURE(n, plan.slots(), int(options.verify), more);
          REQUIRE((seen.told || seen.right));
          told += seen.told ? 1u : 0u;
        }
  CHECK(told > 50);
}

TEST_CASE("a copy from the host that brings nothing is found when the state is loaded, or the gradient is right",
          "[cuda][long]") {
  std::size_t told = 0;
  for (sweep_options const options : modes)
    for (form const steps : forms)
      for (auto const& plan : plans_of(17))
        for (std::size_t left_out = 1;; ++left_out) {
          lossy_runtime device;
          device.left_out = left_out;
          auto const seen =
              run<lossy_runtime, sim::state<lossy_runtime>>(device, plan, steps, 1, options, nothing_more);
          CAPTURE(plan.slots(), int(steps), left_out, seen.text);
          REQUIRE((seen.told || seen.right));
          if (seen.told)
            REQUIRE(seen.text.find("a state that was brought back is not what was kept") != std::string::npos);
          told += seen.told ? 1u : 0u;
          if (device.copies < left_out) break;
        }
  CHECK(told > 100);
}

TEST_CASE(
    "the slot that states are looked at through is one of the capacity's, and a sweep that lacks it is refused before "
    "any step",
    "[cuda]") {
  any_schedule const plan = two_level{20, 6, 1, {.periods_on = tier::host, .extra_on = tier::device}};
  auto const plain = device_capacity_for(plan);
  for (sweep_options const options : modes) {
    auto const capacity = device_capacity_for(plan, step_form::out_of_place, options);
    CHECK(capacity == device_capacity{plain.frames, plain.host_slots + 1});
    sim_runtime device;
    stream const c = device.make_stream();
    {
      sim::loop<sim_runtime> loop{device};
      field bar{device, sizes};
      auto const make = [&] { return field{device, sizes}; };
      device_sweep<sim_runtime, field> lacking{device, c, plain, make, options};
      CHECK_THROWS_AS(lacking.gradient(loop.step(), loop.start(), plan, loop.seed(), loop.adjoint(), bar),
                      invalid_plan);
      CHECK(loop.steps == 0);
      device_sweep<sim_runtime, field> sweep{device, c, capacity, make, options};
      CHECK(sweep.capacity() == capacity);
      CHECK_THROWS_AS(sweep.capture(loop.step(), loop.start(), plan, loop.seed(), loop.adjoint(), bar), invalid_call);
      CHECK(loop.steps == 0);
      auto const quiet = device.no_allocations_from_here();
      for (double const more : {0.0, 0.5, 0.25}) {  // other states each time
        auto const start = [&](field& x, stream in) {
          loop.start()(x, in);
          for (std::size_t b = 0; b < x.count(); ++b)
            device.launch(in, {sim::writes(x.numbers(b), x.size(b) * sizeof(double))},
                          [at = x.numbers(b), size = x.size(b), more] {
                            for (std::size_t k = 0; k < size; ++k) at[k] += more;
                          });
        };
        sweep.gradient(loop.step(), start, plan, loop.seed(), loop.adjoint(), bar);
        device.sync(c);
        CHECK(sim::numbers_of(device, bar) == sim::gradient_by_hand(sizes, 20, more));
      }
    }
    device.sync(c);
    device.destroy(c);
    CHECK(device.faults() == 0);
  }
}
