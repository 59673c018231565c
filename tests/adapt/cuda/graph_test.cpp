// SPDX-License-Identifier: Apache-2.0
// Sweeps and segments captured into graphs, on the simulator: bits and order of every replay, what cannot be captured,
// and when it pays.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/cuda/detail/owned_handle.hpp>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/adapt/cuda/graph.hpp>
#include <cairn/adapt/cuda/graph_pays.hpp>
#include <cairn/adapt/cuda/owned_stream.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
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
using sweep_of = device_sweep<sim_runtime, field>;
using graph = device_graph<sim_runtime>;
enum class form { out_of_place, in_place };
form constexpr forms[] = {form::out_of_place, form::in_place};
sim::order const orders[] = {sim::order::eager, sim::order::random, sim::order::laziest};
sim::shape const sizes{3, 2};

std::vector<any_schedule> plans_of(step_index n) {
  return {store_all(n), revolve{n, 3}, two_level{n, 4, 2, {.periods_on = tier::host, .extra_on = tier::device}},
          hrevolve{n, {{2, 0, 0, tier::device}, {3, 0.5, 0.25, tier::host}}}};
}

/// A device with a stream, a loop, an input and a gradient on it. The input is written by a kernel.
class bench {
 public:
  explicit bench(sim::options const& chosen = {.when = sim::order::random, .seed = 3}) : device{chosen} {}
  ~bench() {
    if (!device.context_lost()) device.sync(c);
    device.destroy(c);
  }
  void put_input(double more) {
    input.time = sim::first_time;
    auto const write = [this, more] {
      for (std::size_t b = 0; b < input.count(); ++b)
        for (std::size_t k = 0; k < input.size(b); ++k) input.numbers(b)[k] = sim::first_number(b, k) + more;
    };
    device.launch(c, input.all(true), write, 0);
  }
  [[nodiscard]] auto maker() {
    return [this] { return field{device, sizes}; };
  }
  [[nodiscard]] device_capacity capacity(any_schedule const& plan, form steps, slot_index more = 1) const {
    auto const needed =
        device_capacity_for(plan, steps == form::in_place ? step_form::in_place : step_form::out_of_place);
    return {needed.frames + more, needed.host_slots};
  }
  [[nodiscard]] graph captured(sweep_of& sweep, any_schedule const& plan, form steps) {
    if (steps == form::in_place)
      return sweep.capture(loop.step_in_place(), input, plan, loop.seed(), loop.adjoint(), bar);
    return sweep.capture(loop.step(), input, plan, loop.seed(), loop.adjoint(), bar);
  }
  void run(sweep_of& sweep, any_schedule const& plan, form steps) {
    if (steps == form::in_place) sweep.gradient(loop.step_in_place(), input, plan, loop.seed(), loop.adjoint(), bar);
    else sweep.gradient(loop.step(), input, plan, loop.seed(), loop.adjoint(), bar);
  }
  /// Whether the gradient there is that of this input.
  [[nodiscard]] bool holds(step_index n, double more) {
    device.sync(c);
    return sim::numbers_of(device, bar) == sim::gradient_by_hand(sizes, n, more);
  }

  sim_runtime device;
  stream c = device.make_stream();
  sim::loop<sim_runtime> loop{device};
  field input{device, sizes}, bar{device, sizes};
};

void check_clean(sim_runtime const& device) {
  if (device.faults() > 0) FAIL(device.first_fault());
  REQUIRE(device.captures_under_way() == 0);
}

/// Captures, launches and sweeps that are not captured take turns, of plans and of random lists of actions.
void campaign(std::uint64_t seeds) {
  std::size_t launches = 0;
  list_maker maker{13};
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    auto plans = plans_of(1 + step_index(seed % 23));
    plans.push_back(maker.make(8));
    auto const& plan = plans[std::size_t(seed % plans.size())];
    step_index const n = plan.steps();
    form const steps = forms[seed / 4 % 2];
    CAPTURE(seed, n);
    bench on{{.when = orders[seed % 3], .seed = seed, .time = {.launch = 0.25, .copy = double(seed % 5)}}};
    {
      sweep_of sweep{on.device, on.c, on.capacity(plan, steps, slot_index(seed % 4)), on.maker()};
      std::vector<graph> graphs;
      double more = 0;
      for (int k = 0; k < 6; ++k) {
        on.put_input(more = 0.25 * k);
        auto const choice = (seed * 7 + std::uint64_t(k) * 5) / 3 % 3;
        if (choice == 0 || graphs.empty()) graphs.push_back(on.captured(sweep, plan, steps));
        if (choice == 1) on.run(sweep, plan, steps);
        else graphs[std::size_t(k) % graphs.size()].launch();
        launches += choice == 1 ? 0 : 1;
        if (k % 2 == 1) REQUIRE(on.holds(n, more));
      }
    }
    check_clean(on.device);
  }
  CHECK(launches > 2 * seeds);
}

/// The code of the device_error that `f` throws, and in `text` what it says; 0 where it throws none.
int code_of(std::function<void()> const& f, std::string& text) {
  try {
    f();
  } catch (device_error const& refused) {
    text = refused.what();
    return int(refused.value(1).magnitude);
  }
  return 0;
}
bool thrown_by(std::function<void()> const& f, std::string& text) {
  static_cast<void>(code_of(f, text));
  return !text.empty();
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a captured sweep has the bits of storing everything for every input that it is launched with", "[cuda]") {
  for (step_index const n : {0, 1, 2, 3, 17})
    for (auto const& plan : plans_of(n))
      for (form const steps : forms)
        for (sim::order const when : orders)
          for (slot_index const more : {0, 1, 3}) {
            CAPTURE(n, plan.slots(), int(steps), int(when), more);
            bench on{{.when = when, .seed = 11}};
            sweep_of sweep{on.device, on.c, on.capacity(plan, steps, more), on.maker()};
            on.put_input(9);
            auto const quiet = on.device.no_allocations_from_here();
            auto const before = on.device.counted();
            auto replay = on.captured(sweep, plan, steps);
            auto const captured = on.device.counted();
            REQUIRE(captured.syncs == before.syncs);
            REQUIRE(captured.launches == before.launches);  // nothing runs yet
            auto const calls = on.loop.steps + on.loop.adjoints;
            for (int k = 0; k < 3; ++k) {
              on.put_input(0.125 * k);
              replay.launch();
              if (k == 1) continue;  // two launches with no wait of the host between them
              REQUIRE(on.holds(n, 0.125 * k));
            }
            REQUIRE(on.loop.steps + on.loop.adjoints == calls);
            check_clean(on.device);
          }
}

TEST_CASE("captures, launches and sweeps that are not captured take turns and race nowhere", "[cuda]") {
  campaign(100);
}
TEST_CASE("so do 1,000 of them", "[cuda][long]") { campaign(1'000); }
TEST_CASE("captures, launches and sweeps that are not captured take turns and race nowhere, a long campaign",
          "[cuda][.soak]") {
  campaign(40'000);
}

TEST_CASE("a segment of steps is captured once and launched again and again", "[cuda]") {
  step_index constexpr length = 4, times = 5;
  for (sim::order const when : orders) {
    bench on{{.when = when, .seed = 5}};
    field x[2] = {field{on.device, {6}}, field{on.device, {6}}};
    on.loop.start()(x[0], on.c);
    auto const step = on.loop.step();
    graph segment{on.device, on.c, [&](stream in) {
                    for (step_index i = 0; i < length; ++i) step(x[i % 2], x[(i + 1) % 2], i, in);
                  }};
    REQUIRE(on.device.counted().nodes_captured == std::size_t(length));
    for (step_index k = 0; k < times; ++k) segment.launch();
    on.device.sync(on.c);
    std::vector<double> expected(6);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      expected[k] = sim::first_number(0, k);
      for (step_index turn = 0; turn < times; ++turn) {
        double time = sim::first_time;  // the host's part is frozen: each launch begins at the time that was captured
        for (step_index i = 0; i < length; ++i, time += sim::time_step)
          expected[k] = sim::stepped(expected[k], time, i);
      }
    }
    CHECK(sim::numbers_of(on.device, x[0])[0] == expected);
    check_clean(on.device);
  }
}

TEST_CASE("nothing is captured into a graph of nothing", "[cuda]") {
  bench on;
  graph empty{on.device, on.c, [](stream) {}};
  empty.launch();
  empty.launch();
  on.device.sync(on.c);
  CHECK(on.device.counted().nodes_captured == 0);
  check_clean(on.device);
}

TEST_CASE("a graph is moved, waits for its launches when it ends, and leaves nothing behind", "[cuda]") {
  bench on{{.when = sim::order::laziest}};
  {
    std::optional<graph> moved;
    {
      graph first{on.device, on.c, [&](stream in) { on.loop.start()(on.bar, in); }};
      graph second{on.device, on.c, [&](stream in) { on.loop.start()(on.input, in); }};
      first.launch();
      second = std::move(first);
      moved.emplace(std::move(second));
      CHECK(on.device.counted().graphs_alive == 1);  // what second had is given up
    }
    moved->launch();
  }
  CHECK(on.device.counted().graphs_alive == 0);
  check_clean(on.device);
}

TEST_CASE("a launch costs the host one call, however long the sweep", "[cuda]") {
  any_schedule const plan = revolve{200, 8};
  bench on{{.time = {.launch = 2, .call = 0, .kernel = 1}}};
  sweep_of sweep{on.device, on.c, on.capacity(plan, form::out_of_place), on.maker()};
  on.put_input(0);
  auto replay = on.captured(sweep, plan, form::out_of_place);
  double const before = on.device.host_time();
  replay.launch();
  CHECK(on.device.host_time() == before + 2);
  REQUIRE(on.holds(200, 0));
  double const graph_time = on.device.host_time() - before;
  on.run(sweep, plan, form::out_of_place);
  REQUIRE(on.holds(200, 0));
  CHECK(on.device.host_time() - before - graph_time > 1.9 * graph_time);  // each kernel takes 1 and its launch 2
}

TEST_CASE("each call that a capture does not allow is refused by name, and the stream and the sweep can be used again",
          "[cuda]") {
  step_index constexpr n = 9;
  struct broken {
    std::string name;
    int code;
    std::string says;
    std::function<void(bench&, stream other, sim_runtime::event before, stream in)> step;
  };
  std::vector<broken> const all = {
      {"waits for the stream", 900, "sim::sync: a call that a stream does not allow",
       [](bench& on, stream, auto, stream in) { on.device.sync(in); }},
      {"waits for another stream", 900, "sim::sync",
       [](bench& on, stream other, auto, stream) { on.device.sync(other); }},
      {"waits for an event", 900, "sim::sync", [](bench& on, stream, auto before, stream) { on.device.sync(before); }},
      {"waits for the device", 900, "sim::sync_device",
       [](bench& on, stream, auto, stream) { on.device.sync_device(); }},
      {"queries", 900, "sim::done",
       [](bench& on, stream, auto before, stream) { static_cast<void>(on.device.done(before)); }},
      {"allocates", 900, "sim::device_alloc",
       [](bench& on, stream, auto, stream) { static_cast<void>(on.device.device_alloc(8)); }},
      {"pins", 900, "sim::pinned_alloc",
       [](bench& on, stream, auto, stream) { static_cast<void>(on.device.pinned_alloc(8)); }},
      {"waits for an event from before", 905,
       "sim::wait: a stream that is captured into a graph cannot wait for work that is not",
       [](bench& on, stream, auto before, stream in) { on.device.wait(in, before); }},
      {"leaves a stream unjoined", 904, "sim::end_capture: work was captured in a second stream",
       [](bench& on, stream other, auto, stream in) {
         detail::owned_event<sim_runtime> const fork{on.device};
         on.device.record(fork.get(), in);
         on.device.wait(other, fork.get());
         on.loop.start()(on.input, other);
       }},
      {"looks at no answer", 901, "an earlier call was refused while the stream was captured",
       [](bench& on, stream, auto, stream in) {
         try {
           on.device.sync(in);
         } catch (device_error const&) {}
       }},
  };
  for (auto const& one : all)
    for (auto const& plan : plans_of(n))
      for (step_index const at : {step_index{0}, n / 2, n - 1}) {
        CAPTURE(one.name, plan.slots(), at);
        bench on;
        {
          owned_stream<sim_runtime> const other{on.device};
          detail::owned_event<sim_runtime> const before{on.device};
          on.device.record(before.get(), other.get());
          sweep_of sweep{on.device, on.c, on.capacity(plan, form::out_of_place), on.maker()};
          on.put_input(0.5);
          auto const step = [&](field const& x, field& x1, step_index i, stream in) {
            on.loop.step()(x, x1, i, in);
            if (i == at) one.step(on, other.get(), before.get(), in);
          };
          std::string text;
          int const code = code_of(
              [&] {
                static_cast<void>(sweep.capture(step, on.input, plan, on.loop.seed(), on.loop.adjoint(), on.bar));
              },
              text);
          INFO(text);
          REQUIRE(code == one.code);
          REQUIRE(has(text, one.says));
          REQUIRE(on.device.captures_under_way() == 0);
          on.run(sweep, plan, form::out_of_place);
          REQUIRE(on.holds(n, 0.5));
          auto replay = on.captured(sweep, plan, form::out_of_place);
          replay.launch();
          REQUIRE(on.holds(n, 0.5));
          on.device.sync(other.get());
        }
        CHECK(on.device.counted().graphs_alive == 0);
        check_clean(on.device);
      }
}

TEST_CASE("a step that frees spoils the capture, which its end reports", "[cuda]") {
  bench on;
  void* const memory = on.device.device_alloc(8);
  std::string text;
  CHECK(code_of([&] { graph{on.device, on.c, [&](stream) { on.device.device_free(memory); }}; }, text) == 901);
  CHECK(has(text, "find what allocates, frees, queries or waits on the host"));
  on.device.device_free(memory);
  check_clean(on.device);
}

TEST_CASE("streams that cannot be captured are refused before anything is called", "[cuda]") {
  bench on;
  stream const legacy = on.device.make_legacy_stream();
  std::string text;
  bool called = false;
  CHECK(code_of([&] { graph{on.device, legacy, [&](stream) { called = true; }}; }, text) == 900);
  CHECK(has(text, "sim::begin_capture: the stream cannot be captured into a graph"));
  CHECK(!called);
  CHECK(code_of(
            [&] {
              graph{on.device, on.c, [&](stream in) { graph{on.device, in, [&](stream) { called = true; }}; }};
            },
            text) == 401);
  CHECK(!called);
  CHECK(code_of([&] {
          graph{on.device, on.c, [&](stream in) {
                  detail::owned_event<sim_runtime> const fork{on.device};
                  on.device.record(fork.get(), in);
                  on.device.wait(legacy, fork.get());
                }};
        }, text) == 906);
  CHECK(has(text, "the legacy default stream was used"));
  {
    any_schedule const plan = revolve{5, 2};
    sweep_of sweep{on.device, legacy, on.capacity(plan, form::out_of_place), on.maker()};
    CHECK(code_of([&] { static_cast<void>(on.captured(sweep, plan, form::out_of_place)); }, text) == 900);
    CHECK(on.loop.steps == 0);
    on.put_input(0);
    on.device.sync(on.c);
    on.run(sweep, plan, form::out_of_place);
    on.device.sync(legacy);
    CHECK(on.holds(5, 0));
  }
  on.device.sync(legacy);
  on.device.destroy(legacy);
  check_clean(on.device);
}

TEST_CASE("what a captured function throws comes out unchanged, and nothing is left captured", "[cuda]") {
  struct mine { step_index at; };
  step_index constexpr n = 7;
  for (auto const& plan : plans_of(n))
    for (form const steps : forms)
      for (step_index at = 0; at < n; ++at) {
        bench on;
        sweep_of sweep{on.device, on.c, on.capacity(plan, steps), on.maker()};
        on.put_input(0);
        auto const adjoint = [&](field const& x, field& bar, step_index i, stream in) {
          on.loop.adjoint()(x, bar, i, in);
          if (i == at) throw mine{i};
        };
        step_index caught = -1;
        try {
          if (steps == form::in_place)
            static_cast<void>(sweep.capture(on.loop.step_in_place(), on.input, plan, on.loop.seed(), adjoint, on.bar));
          else static_cast<void>(sweep.capture(on.loop.step(), on.input, plan, on.loop.seed(), adjoint, on.bar));
        } catch (mine const& thrown) {
          caught = thrown.at;
        }
        REQUIRE(caught == at);
        REQUIRE(on.device.captures_under_way() == 0);
        REQUIRE(on.device.counted().graphs_made == 0);
        on.run(sweep, plan, steps);
        REQUIRE(on.holds(n, 0));
        check_clean(on.device);
      }
}

TEST_CASE(
    "a launch that fails silently within a capture is reported with its function and step, and nothing is left "
    "captured",
    "[cuda]") {
  step_index constexpr n = 7;
  std::size_t told = 0;
  for (auto const& plan : plans_of(n))
    for (form const steps : forms) {
      bench on;
      sweep_of sweep{on.device, on.c, on.capacity(plan, steps), on.maker()};
      for (std::uint64_t nth = 1;; ++nth) {
        on.device.fail_at(sim::call::launch, nth, sim::failure::untold);
        std::string text;
        step_index at = -1;
        try {
          static_cast<void>(on.captured(sweep, plan, steps));
        } catch (device_error const& refused) {
          text = refused.what();
          at = step_index(refused.value(0).magnitude);
        }
        on.device.fail_at(sim::call::launch, 0);
        if (text.empty()) break;
        CAPTURE(nth, text);
        REQUIRE(has(text, "cairn::device_sweep: a launch of the "));
        REQUIRE(has(text, nth > std::uint64_t(n) ? " failed" : "step failed on the way forward"));
        if (nth <= std::uint64_t(n)) REQUIRE(at == step_index(nth) - 1);
        REQUIRE(on.device.captures_under_way() == 0);
        ++told;
      }
      REQUIRE(on.device.counted().graphs_made == 1);  // that of the capture without a failure
      on.put_input(0);
      on.run(sweep, plan, steps);
      REQUIRE(on.holds(n, 0));
      check_clean(on.device);
    }
  CHECK(told > 100);
  bench on;
  std::string text;
  auto const launch = [&](stream in) { on.device.launch(in, on.bar.all(true), [] {}); };
  on.device.fail_at(sim::call::launch, 2, sim::failure::untold);
  CHECK(thrown_by([&] { graph{on.device, on.c, [&](stream in) { launch(in), launch(in); }}; }, text));
  CHECK(has(text, "cairn::device_graph: a launch of the captured work failed (device = 0, code = 209)"));
  on.device.fail_at(sim::call::launch, 1, sim::failure::untold);
  launch(on.c);
  bool called = false;
  CHECK(thrown_by([&] { graph{on.device, on.c, [&](stream) { called = true; }}; }, text));
  CHECK(has(text, "cairn::device_graph: a launch before this call failed"));
  CHECK_FALSE(called);
  check_clean(on.device);
}

TEST_CASE("a plan that the sweep cannot obey is refused, and the stream is as it was", "[cuda]") {
  bench on;
  sweep_of sweep{on.device, on.c, {2, 0}, on.maker()};
  CHECK_THROWS_AS(on.captured(sweep, revolve{20, 5}, form::out_of_place), invalid_plan);
  CHECK(on.loop.steps == 0);
  on.put_input(0);
  on.run(sweep, store_all(1), form::out_of_place);
  CHECK(on.holds(1, 0));
  check_clean(on.device);
}

TEST_CASE(
    "whichever call of the device fails while a sweep is captured and launched, nothing leaks and nothing in flight is "
    "freed",
    "[cuda]") {
  any_schedule const plan = two_level{12, 4, 2, {.periods_on = tier::host, .extra_on = tier::device}};
  for (sim::failure const how : {sim::failure::foreign_handle, sim::failure::no_memory, sim::failure::context_lost}) {
    for (std::uint64_t nth = 1;; ++nth) {
      bench on{{.when = sim::order::laziest}};
      bool failed = false;
      std::uint64_t calls = 0;
      {
        sweep_of sweep{on.device, on.c, on.capacity(plan, form::out_of_place), on.maker()};
        on.put_input(0);
        on.device.fail_at_any(nth, how);
        calls = on.device.calls();
        try {
          auto replay = on.captured(sweep, plan, form::out_of_place);
          replay.launch();
          replay.launch();
          on.device.sync(on.c);
        } catch (error const&) {
          failed = true;
        }
        calls = on.device.calls() - calls;
        on.device.fail_at_any(0);
        REQUIRE(on.device.captures_under_way() == 0);
        if (failed && !on.device.context_lost()) {
          on.run(sweep, plan, form::out_of_place);
          REQUIRE(on.holds(12, 0));
        }
      }
      CAPTURE(nth, int(how));
      REQUIRE(on.device.counted().graphs_alive == 0);
      REQUIRE(on.device.faults() == 0);
      if (failed) continue;
      CHECK(nth ==
            calls);  // each call has failed once; the last is the wait of the graph that ends, which reports nothing
      break;
    }
  }
}

TEST_CASE("the simulator sees edges that are missing within a graph, and between a graph and what is beside it",
          "[cuda]") {
  bench on{{.when = sim::order::laziest}};
  {
    owned_stream<sim_runtime> const other{on.device};
    detail::owned_event<sim_runtime> const fork{on.device}, join{on.device};
    graph both{on.device, on.c, [&](stream in) {
                 on.device.record(fork.get(), in);
                 on.device.wait(other.get(), fork.get());
                 on.loop.start()(on.bar, in);
                 on.loop.start()(on.bar, other.get());  // in no order with the one before
                 on.device.record(join.get(), other.get());
                 on.device.wait(in, join.get());
               }};
    CHECK(on.device.faults() == 0);
    both.launch();
    CHECK(on.device.faults(sim::fault::race) > 0);
    auto const races = on.device.faults(sim::fault::race);
    on.loop.start()(on.bar, on.c);  // after the launch
    CHECK(on.device.faults(sim::fault::race) == races);
    on.loop.start()(on.bar, other.get());  // not after it: that the stream was captured orders nothing
    CHECK(on.device.faults(sim::fault::race) > races);
    CHECK_THROWS_AS(on.device.sync(fork.get()),
                    device_error);  // an event that was recorded within a capture orders nothing
    CHECK_THROWS_AS(on.device.wait(on.c, fork.get()), device_error);
  }
  sim_runtime device;
  stream const s = device.make_stream();
  auto const memory = device.device_alloc(8);
  device.begin_capture(s);
  device.launch(s, {sim::writes(memory, 8)}, [] {});
  auto const g = device.end_capture(s);
  device.launch(g, s);
  device.destroy(g);
  CHECK(device.faults(sim::fault::destroyed_in_use) == 1);
  device.device_free(memory);
  CHECK(device.faults(sim::fault::freed_in_flight) == 1);
  CHECK_THROWS_AS(device.launch(g, s), device_error);
  CHECK_THROWS_AS(static_cast<void>(device.end_capture(s)), device_error);
  device.abandon_capture(s);
}

TEST_CASE("the nodes of a graph are known before it is captured", "[cuda]") {
  for (step_index const n : {0, 1, 2, 5, 40})
    for (std::size_t k = 0; k < plans_of(n).size(); ++k)
      for (form const steps : forms) {
        any_schedule const plan = plans_of(n)[k];
        bool const exact = steps == form::out_of_place && k < 2;  // the first two use no slots on the host
        CAPTURE(n, k, int(steps));
        bench on;
        sweep_of sweep{on.device, on.c, on.capacity(plan, steps, 2), on.maker()};
        auto const replay = on.captured(sweep, plan, steps);
        // The start copies two buffers, the other nodes are kernels and copies of two buffers.
        auto const most = graph_nodes(plan, steps == form::in_place ? step_form::in_place : step_form::out_of_place,
                                      {.nodes_a_copy = 2}) +
                          1;
        auto const nodes = on.device.counted().nodes_captured;
        if (exact) CHECK(wide(nodes) == most);
        else CHECK((wide(nodes) <= most && wide(2 * nodes) >= most));
      }
  CHECK(graph_nodes(store_all(10)) == 22);  // start, 10 steps, seed, 10 adjoints
  CHECK(graph_nodes(store_all(10), step_form::out_of_place, {.nodes_a_step = 3, .nodes_an_adjoint = 5}) ==
        3 + 30 + 5 + 50);
  CHECK(graph_nodes(store_all(0)) == 2);
}

TEST_CASE("a graph pays for short steps and a bounded number of nodes", "[cuda]") {
  auto const with = [](double seconds) {
    return workload{.step_seconds = seconds, .form = {.step = step_form::out_of_place}};
  };
  any_schedule const plan = store_all(10);
  CHECK(graph_pays(with(2e-6), plan));
  CHECK(graph_pays(with(9.9e-6), plan));
  CHECK(!graph_pays(with(10e-6), plan));
  CHECK(!graph_pays(with(1), plan));
  CHECK(!graph_pays(with(0), plan));  // not measured
  CHECK(!graph_pays(with(-1), plan));
  CHECK(graph_pays(with(50e-6), plan, {.longest_step_seconds = 100e-6}));
  CHECK(graph_pays(with(2e-6), plan, {.most_nodes = 22}));
  CHECK(!graph_pays(with(2e-6), plan, {.most_nodes = 21}));
  CHECK(graph_pays(with(2e-6), store_all(49'999)));
  CHECK(!graph_pays(with(2e-6), store_all(50'000)));
  CHECK(!graph_pays(with(2e-6), revolve{1'000'000'000'000, 50}));  // answered without walking all of it
}
