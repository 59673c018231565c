// SPDX-License-Identifier: Apache-2.0
// The simulator that tests of device code stand on: it finds every kind of missing edge, raises no alarm without one,
// and keeps time exactly.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>
#include <cairn/adapt/cuda/detail/owned_handle.hpp>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/adapt/cuda/owned_stream.hpp>
#include "support/catch.hpp"
#include "support/device_conformance.hpp"
#include "support/sim_runtime.hpp"

using cairn::copy_kind;
using cairn::detail::owned_event;
using sim::fault;
using sim::order;
using sim::reads;
using sim::writes;

namespace {

constexpr order orders[] = {order::eager, order::random, order::laziest};

/// Two streams, an event and memory on both sides.
struct bench {
  sim_runtime device;
  sim_runtime::stream one, two;
  sim_runtime::event edge;
  double* on_device;
  double* on_host;
  static constexpr std::size_t bytes = 4 * sizeof(double);

  explicit bench(sim::options const& chosen = {})
      : device{chosen},
        one{device.make_stream()},
        two{device.make_stream()},
        edge{device.make_event()},
        on_device{static_cast<double*>(device.device_alloc(bytes))},
        on_host{static_cast<double*>(device.pinned_alloc(bytes))} {}
  void write(sim_runtime::stream in, double value = 1) {
    device.launch(in, {writes(on_device, bytes)}, [at = on_device, value] {
      for (int k = 0; k < 4; ++k) at[k] = value;
    });
  }
  void read(sim_runtime::stream in) { device.launch(in, {reads(on_device, bytes)}, [] {}); }
  void to_host(sim_runtime::stream in) { device.copy(on_host, on_device, bytes, copy_kind::device_to_host, in); }
  void to_device(sim_runtime::stream in) { device.copy(on_device, on_host, bytes, copy_kind::host_to_device, in); }
  /// What comes in `two` from here on runs after what is in `one`.
  void order_two_after_one() {
    device.record(edge, one);
    device.wait(two, edge);
  }
};

/// Runs a program with and without the edge in its middle, in all orders: the first must be clean, the second have
/// faults of that kind only.
template <class First, class Second>
void needs_edge(fault kind, First first, Second second) {
  for (order const when : orders)
    for (bool const edge : {true, false}) {
      bench at{{.when = when}};
      first(at);
      if (edge) at.order_two_after_one();
      second(at);
      CAPTURE(int(when), edge, at.device.first_fault());
      CHECK((at.device.faults() == 0) == edge);
      CHECK(at.device.faults(kind) == at.device.faults());
    }
}
/// The same where the host has to wait.
template <class First, class Second>
void needs_sync(fault kind, First first, Second second) {
  for (order const when : orders)
    for (int waits = 0; waits < 4; ++waits) {
      bench at{{.when = when}};
      first(at);
      at.device.record(at.edge, at.one);
      if (waits == 1) at.device.sync(at.edge);
      if (waits == 2) at.device.sync(at.one);
      if (waits == 3)
        while (!at.device.done(at.edge)) {}
      second(at);
      CAPTURE(int(when), waits, at.device.first_fault());
      CHECK((at.device.faults() == 0) == (waits > 0));
      CHECK(at.device.faults(kind) == at.device.faults());
    }
}

}  // namespace

TEST_CASE("a missing edge between two streams is a race in every order", "[adapt][cuda][sim]") {
  SECTION("a kernel reads what a kernel writes") {
    needs_edge(fault::race, [](bench& at) { at.write(at.one); }, [](bench& at) { at.read(at.two); });
  }
  SECTION("a kernel writes what a kernel reads") {
    needs_edge(fault::race, [](bench& at) { at.read(at.one); }, [](bench& at) { at.write(at.two); });
  }
  SECTION("two kernels write") {
    needs_edge(fault::race, [](bench& at) { at.write(at.one); }, [](bench& at) { at.write(at.two); });
  }
  SECTION("a copy to the host reads what a kernel writes") {
    needs_edge(fault::race, [](bench& at) { at.write(at.one); }, [](bench& at) { at.to_host(at.two); });
  }
  SECTION("a kernel writes what a copy to the host reads") {
    needs_edge(fault::race, [](bench& at) { at.to_host(at.one); }, [](bench& at) { at.write(at.two); });
  }
  SECTION("a kernel reads what a copy to the device writes") {
    needs_edge(fault::race, [](bench& at) { at.to_device(at.one); }, [](bench& at) { at.read(at.two); });
  }
  SECTION("a copy to the device reads a slot that a copy to the host writes") {
    needs_edge(fault::race, [](bench& at) { at.to_host(at.one); }, [](bench& at) { at.to_device(at.two); });
  }
  SECTION("a copy to the host rewrites a slot that a copy to the device reads") {
    needs_edge(fault::race, [](bench& at) { at.to_device(at.one); }, [](bench& at) { at.to_host(at.two); });
  }
}

TEST_CASE("two streams may read at once and write next to each other", "[adapt][cuda][sim]") {
  bench at;
  at.write(at.one);
  at.order_two_after_one();
  at.read(at.one);
  at.read(at.two);
  at.to_host(at.two);
  CHECK(at.device.faults() == 0);
  bench next;
  next.device.launch(next.one, {writes(next.on_device, 16)}, [] {});
  next.device.launch(next.two, {writes(next.on_device + 2, 16)}, [] {});
  CHECK(next.device.faults() == 0);
  next.device.launch(next.two, {writes(next.on_device + 1, 16)}, [] {});
  CHECK(next.device.faults(fault::race) == 1);
}

TEST_CASE("the host has to wait before it uses or frees what a stream uses", "[adapt][cuda][sim]") {
  SECTION("it reads what a copy writes") {
    needs_sync(
        fault::race, [](bench& at) { at.to_host(at.one); },
        [](bench& at) { at.device.host_reads(at.on_host, at.bytes); });
  }
  SECTION("it writes what a copy reads") {
    needs_sync(
        fault::race, [](bench& at) { at.to_device(at.one); },
        [](bench& at) { at.device.host_writes(at.on_host, at.bytes); });
  }
  SECTION("it frees device memory that a kernel reads") {
    needs_sync(
        fault::freed_in_flight, [](bench& at) { at.read(at.one); },
        [](bench& at) { at.device.device_free(at.on_device); });
  }
  SECTION("it frees pinned memory that a copy writes") {
    needs_sync(
        fault::freed_in_flight, [](bench& at) { at.to_host(at.one); },
        [](bench& at) { at.device.pinned_free(at.on_host); });
  }
  SECTION("it destroys the event") {
    needs_sync(fault::destroyed_in_use, [](bench&) {}, [](bench& at) { at.device.destroy(at.edge); });
  }
}

TEST_CASE("a wait of the host for one stream says nothing about another", "[adapt][cuda][sim]") {
  bench at;
  at.read(at.one);
  at.device.sync(at.two);
  at.device.device_free(at.on_device);
  CHECK(at.device.faults(fault::freed_in_flight) == 1);
}

TEST_CASE("a wait is for the record before it, not for a later one", "[adapt][cuda][sim]") {
  bench at{{.when = order::laziest}};
  at.order_two_after_one();
  at.write(at.one);
  at.device.record(at.edge, at.one);  // the wait is already put
  at.read(at.two);
  CHECK(at.device.faults(fault::race) == 1);
  bench later{{.when = order::laziest}};
  later.device.wait(later.two, later.edge);  // never recorded: no wait
  later.write(later.one);
  later.device.record(later.edge, later.one);
  later.read(later.two);
  CHECK(later.device.faults(fault::race) == 1);
  CHECK(bench{}.device.faults() == 0);
}

TEST_CASE("an event never recorded has happened", "[adapt][cuda][sim]") {
  bench at{{.when = order::laziest}};
  at.write(at.one);
  at.device.sync(at.edge);
  CHECK(at.device.done(at.edge));
  CHECK(std::isnan(at.on_device[0]));
  at.device.destroy(at.edge);
  CHECK(at.device.faults() == 0);
}

TEST_CASE("memory that is free, or was never allocated, must not be used", "[adapt][cuda][sim]") {
  bench at;
  auto* const before = at.on_device;
  at.device.device_free(at.on_device);
  at.device.device_free(nullptr);
  CHECK(at.device.faults() == 0);
  at.read(at.one);
  CHECK(at.device.faults(fault::use_after_free) == 1);
  at.device.device_free(at.on_device);
  CHECK(at.device.faults(fault::use_after_free) == 2);
  at.device.device_free(at.on_host);
  CHECK(at.device.faults(fault::out_of_range) == 1);
  at.device.host_reads(at.on_host, at.bytes + 1);
  at.device.launch(at.one, {writes(&at, 1)}, [] {});
  CHECK(at.device.faults(fault::out_of_range) == 3);
  CHECK(before[0] < -1e300);
}

TEST_CASE("copies must go between the memories that they name", "[adapt][cuda][sim]") {
  bench at;
  double unpinned[4] = {};
  at.device.copy(at.on_host, at.on_device, at.bytes, copy_kind::device_to_device, at.one);
  CHECK(at.device.faults(fault::wrong_memory) == 1);
  at.device.copy(unpinned, at.on_device, at.bytes, copy_kind::device_to_host, at.one);
  CHECK(at.device.faults(fault::wrong_memory) == 2);
  at.device.copy(at.on_host, at.on_device, 0, copy_kind::device_to_device, at.one);
  CHECK(at.device.faults(fault::wrong_memory) == 2);
}

TEST_CASE("streams and events are destroyed once, and only out of use", "[adapt][cuda][sim]") {
  bench at;
  at.write(at.one);
  at.order_two_after_one();
  at.device.destroy(at.one);
  CHECK(at.device.faults(fault::destroyed_in_use) == 1);
  at.device.sync(at.edge);
  at.device.destroy(at.edge);  // its wait in the other stream is not known to be over
  CHECK(at.device.faults(fault::destroyed_in_use) == 2);
  at.device.destroy(at.edge);
  CHECK(at.device.faults(fault::dead_handle) == 1);
  CHECK_THROWS_AS(at.device.record(at.edge, at.two), cairn::device_error);
  CHECK_THROWS_AS(at.device.sync(at.one), cairn::device_error);
  CHECK_THROWS_AS(at.device.wait(sim_runtime::stream{}, at.edge), cairn::device_error);
  CHECK(at.device.faults(fault::dead_handle) == 4);
  at.device.sync(at.two);
  at.device.destroy(at.two);
  CHECK(at.device.faults(fault::destroyed_in_use) == 2);
}

TEST_CASE("a copy is not one moment: another stream may run in its middle", "[adapt][cuda][sim]") {
  bool torn = false;
  for (std::uint64_t seed = 0; seed < 200 && !torn; ++seed) {
    bench at{{.when = order::random, .seed = seed}};
    at.write(at.one, 1);
    at.device.sync(at.one);
    at.to_host(at.one);
    at.write(at.two, 2);
    at.device.sync_device();
    CHECK(at.device.faults(fault::race) > 0);
    torn = at.on_host[0] == 1 && at.on_host[3] == 2;
  }
  CHECK(torn);
}

TEST_CASE("orders: at once, in any order, as late as anybody lets it", "[adapt][cuda][sim]") {
  bench eager{{.when = order::eager}}, lazy{{.when = order::laziest}};
  for (bench* const at : {&eager, &lazy}) {
    at->write(at->one, 5);
    at->order_two_after_one();
    at->to_host(at->two);
  }
  CHECK(eager.on_host[3] == 5);
  CHECK(std::isnan(lazy.on_device[3]));
  lazy.device.sync(lazy.two);
  CHECK(lazy.on_host[3] == 5);
}

TEST_CASE("a chain of ten thousand waits needs no deep stack", "[adapt][cuda][sim]") {
  bench at{{.when = order::laziest}};
  for (int k = 0; k < 10'000; ++k) {
    at.write(at.one, k);
    at.order_two_after_one();
    at.write(at.two, k);
    std::swap(at.one, at.two);
  }
  at.device.sync(at.one);
  CHECK(at.device.faults() == 0);
  CHECK(at.on_device[0] == 9'999);
}

namespace {

struct outcome {
  std::vector<std::uint64_t> values;  ///< at the end
  bool ordered = true;  ///< whether every two accesses that clash are in order, by a search of paths between them
};

/// A random program over some streams and buffers in which accesses that clash have an edge, but for the one that is
/// left out. Each write stores a function of what was there, so that the values tell the order, too.
outcome random_program(std::uint64_t program, sim_runtime& device, int left_out = -1) {
  std::mt19937_64 random{program};
  auto const below = [&](std::size_t bound) { return std::size_t(random() % bound); };
  std::size_t const streams = 1 + below(4), buffers = 1 + below(4), things = 5 + below(30);
  std::vector<cairn::owned_stream<sim_runtime>> stream;
  for (std::size_t k = 0; k < streams; ++k) stream.emplace_back(device);
  struct node {
    std::size_t stream;
    std::vector<std::size_t> read, write;
    owned_event<sim_runtime> end;
    std::vector<bool> after;  ///< which of the earlier ones happen before
  };
  std::vector<cairn::device_buffer<sim_runtime>> on_device;
  std::vector<cairn::pinned_buffer<sim_runtime>> pinned;
  for (std::size_t k = 0; k < buffers; ++k) {
    on_device.emplace_back(device, sizeof(std::uint64_t));
    pinned.emplace_back(device, sizeof(std::uint64_t));
    std::memset(on_device[k].data(), 0, sizeof(std::uint64_t));
    std::memset(pinned[k].data(), 0, sizeof(std::uint64_t));
  }
  auto const value = [&](std::size_t k) {
    return static_cast<std::uint64_t*>(k < buffers ? on_device[k].data() : pinned[k - buffers].data());
  };
  auto const clash = [](std::vector<std::size_t> const& a, std::vector<std::size_t> const& b) {
    for (std::size_t const x : a)
      for (std::size_t const y : b)
        if (x == y) return true;
    return false;
  };
  auto const clashes = [&](node const& a, node const& b) {
    return clash(a.write, b.read) || clash(a.read, b.write) || clash(a.write, b.write);
  };
  std::vector<node> done;
  outcome result;
  int edges = 0;
  for (std::size_t i = 0; i < things; ++i) {
    node next{below(streams), {}, {}, owned_event<sim_runtime>{device}, std::vector<bool>(things, false)};
    std::size_t const kind = below(4), slot = below(buffers), into = below(buffers);
    if (kind == 0) next.read = {slot}, next.write = {buffers + into};       // to the host
    else if (kind == 1) next.read = {buffers + slot}, next.write = {into};  // to the device
    else next.read = {slot, into}, next.write = {into};
    auto const comes_after = [&](std::size_t j) {
      next.after[j] = true;
      for (std::size_t k = 0; k < j; ++k) next.after[k] = next.after[k] || done[j].after[k];
    };
    std::vector<bool> waited(streams, false);  // a later one of the same stream includes the earlier ones
    for (std::size_t j = i; j-- > 0;) {
      node const& other = done[j];
      if (other.stream == next.stream) comes_after(j);
      else if (!waited[other.stream] && clashes(other, next)) {
        waited[other.stream] = true;
        if (edges++ == left_out) continue;
        comes_after(j);
        device.wait(stream[next.stream].get(), other.end.get());
      }
    }
    for (std::size_t j = 0; j < i; ++j) result.ordered = result.ordered && (next.after[j] || !clashes(done[j], next));
    auto const in = stream[next.stream].get();
    if (kind == 0)
      device.copy(value(buffers + into), value(slot), sizeof(std::uint64_t), copy_kind::device_to_host, in);
    else if (kind == 1)
      device.copy(value(into), value(buffers + slot), sizeof(std::uint64_t), copy_kind::host_to_device, in);
    else
      device.launch(in, {reads(value(slot), 8), reads(value(into), 8), writes(value(into), 8)},
                    [from = value(slot), to = value(into), i] { *to = *to * 6364136223846793005u + *from * 3 + i; });
    device.record(next.end.get(), in);
    done.push_back(std::move(next));
  }
  for (auto const& one : stream) device.sync(one.get());
  for (std::size_t k = 0; k < 2 * buffers; ++k) result.values.push_back(*value(k));
  return result;
}

/// Programs, each in all orders: no faults, nothing left, and the same values. The number of runs.
std::size_t run_programs(std::uint64_t programs, std::uint64_t seeds) {
  std::size_t runs = 0;
  for (std::uint64_t program = 0; program < programs; ++program) {
    sim_runtime eager{{.when = order::eager}};
    auto const expected = random_program(program, eager);
    for (order const when : orders)
      for (std::uint64_t seed = 0; seed < (when == order::random ? seeds : 1); ++seed) {
        sim_runtime device{{.when = when, .seed = seed}};
        auto const seen = random_program(program, device);
        bool const same = seen.values == expected.values;
        REQUIRE(seen.ordered);
        if (!same || device.faults() > 0 || device.has_leaks()) {
          CAPTURE(program, int(when), seed, device.first_fault());
          CHECK(same);
          CHECK(device.faults() == 0);
          CHECK_FALSE(device.has_leaks());
          return runs;
        }
        ++runs;
      }
  }
  return runs;
}

}  // namespace

TEST_CASE("ordered programs raise no alarm and have the same values in every order", "[adapt][cuda][sim]") {
  CHECK(run_programs(200, 1) == 600);
}
TEST_CASE("many ordered programs in many orders raise no alarm", "[.soak][adapt][cuda][sim]") {
  CHECK(run_programs(3'000, 30) == 3'000 * 32);
}

static void check_edges(std::uint64_t programs) {
  std::size_t found = 0, harmless = 0, seen_in_values = 0;
  for (std::uint64_t program = 0; program < programs; ++program) {
    sim_runtime full;
    auto const expected = random_program(program, full);
    auto const edges = int(full.counted().waits);
    for (int left_out = 0; left_out < edges; ++left_out) {
      bool other_values = false;
      std::size_t races = 0;
      for (order const when : orders) {
        sim_runtime device{{.when = when, .seed = program}};
        auto const seen = random_program(program, device, left_out);
        if (when == orders[0]) races = device.faults(fault::race);
        REQUIRE(device.faults() == races);  // the verdict is the same whatever ran when
        REQUIRE((races == 0) == seen.ordered);
        other_values = other_values || seen.values != expected.values;
      }
      if (races == 0) REQUIRE_FALSE(other_values);
      ++(races > 0 ? found : harmless);
      seen_in_values += other_values ? 1 : 0;
    }
  }
  CAPTURE(found, harmless, seen_in_values);
  CHECK(found > 5 * programs);
  CHECK(harmless > 5 * programs);
  CHECK(seen_in_values < found);  // clocks find what values do not show
}
TEST_CASE("an edge left out is found in every order, if and only if no other path replaces it", "[adapt][cuda][sim]") {
  check_edges(15);
}
TEST_CASE("so is each of 200 programs", "[adapt][cuda][sim][long]") { check_edges(200); }

TEST_CASE("allocations, frees and device-wide waits within a sweep are reported", "[adapt][cuda][sim]") {
  bench at;
  {
    auto const quiet = at.device.no_allocations_from_here();
    at.write(at.one);
    at.order_two_after_one();
    at.to_host(at.two);
    at.device.sync(at.two);
    CHECK(at.device.faults() == 0);
    auto* const memory = at.device.device_alloc(8);
    CHECK(at.device.faults(fault::not_quiet) == 1);
    at.device.device_free(memory);
    CHECK(at.device.faults(fault::not_quiet) == 2);
    auto* const pinned = at.device.pinned_alloc(8);
    at.device.pinned_free(pinned);
    CHECK(at.device.faults(fault::not_quiet) == 4);
    at.device.sync_device();
    CHECK(at.device.faults(fault::not_quiet) == 5);
    at.device.destroy(at.device.make_stream());
    at.device.destroy(at.device.make_event());
    CHECK(at.device.faults(fault::not_quiet) == 9);
  }
  at.device.device_free(at.device.device_alloc(8));
  CHECK(at.device.faults() == 9);
}

TEST_CASE("everything that is asked for is counted", "[adapt][cuda][sim]") {
  bench at{{.device_bytes = 1'000}};
  CHECK(at.device.free_bytes() == 1'000 - at.bytes);
  at.write(at.one);
  at.to_host(at.one);
  at.to_host(at.one);
  at.to_device(at.one);
  at.order_two_after_one();
  at.device.sync(at.one);
  auto* const more = at.device.device_alloc(500);
  at.device.device_free(more);
  auto const& counted = at.device.counted();
  CHECK(std::tuple{counted.allocations, counted.frees, counted.pins, counted.unpins} == std::tuple{2u, 1u, 1u, 0u});
  CHECK(std::tuple{counted.records, counted.waits, counted.syncs, counted.queries, counted.launches} ==
        std::tuple{1u, 1u, 1u, 0u, 1u});
  CHECK(std::tuple{counted.copies[0], counted.copies[1], counted.copies[2]} == std::tuple{0u, 2u, 1u});
  CHECK(std::tuple{counted.bytes[0], counted.bytes[1], counted.bytes[2]} == std::tuple{0u, 2 * at.bytes, at.bytes});
  CHECK(counted.device_peak == 500 + at.bytes);
  CHECK(counted.pinned_peak == at.bytes);
  CHECK(at.device.has_leaks());
  CHECK(at.device.device_alloc(0) == nullptr);
  CHECK(counted.allocations == 2);
}

TEST_CASE("time of pipelines is what a drawing says", "[adapt][cuda][sim]") {
  sim::costs const time{.launch = 0,
                        .kernel = 2,
                        .byte_within = 0.125,
                        .byte_to_device = 0.5,
                        .byte_to_host = 0.25};  // 32 bytes: 4, 16, 8
  SECTION("kernels of one stream, and of two, take turns on the one compute engine") {
    bench at{{.time = time}};
    for (int k = 0; k < 3; ++k) at.read(at.one), at.read(at.two);
    CHECK(at.device.end_time() == 12);
    CHECK(at.device.busy_time(sim::engine::compute) == 12);
  }
  SECTION("a copy in the same stream waits for the kernel, in another stream it does not") {
    bench same{{.time = time}}, other{{.time = time}};
    same.read(same.one), same.to_host(same.one);
    other.read(other.one), other.to_host(other.two);
    CHECK(same.device.end_time() == 10);
    CHECK(other.device.end_time() == 8);
  }
  SECTION("both directions run at once, unless there is one copy engine") {
    for (int const engines : {1, 2}) {
      auto with = time;
      with.copy_engines = engines;
      bench at{{.time = with}};
      at.device.copy(at.on_device, at.on_host, 16, copy_kind::host_to_device, at.one);
      at.device.copy(at.on_host + 2, at.on_device + 2, 16, copy_kind::device_to_host, at.two);
      CHECK(at.device.faults() == 0);
      CHECK(at.device.end_time() == (engines == 1 ? 12 : 8));
    }
  }
  SECTION("offload: kernel, copy away beside kernels, fetch, kernel") {
    bench at{{.time = time}};
    at.write(at.one);                                     // compute 0..2
    at.order_two_after_one();
    at.to_host(at.two);                                   // to the host 2..10
    for (int k = 0; k < 3; ++k) at.read(at.one);          // compute 2..8
    at.device.record(at.edge, at.two);
    at.device.wait(at.one, at.edge);
    at.device.launch(at.one, {writes(at.on_device, at.bytes)}, [] {}, 5);  // compute 10..15
    at.device.record(at.edge, at.one);
    at.device.wait(at.two, at.edge);
    at.to_device(at.two);                                 // to the device 15..31
    at.device.sync(at.one);
    CHECK(at.device.host_time() == 15);
    at.device.sync(at.two);
    CHECK(at.device.host_time() == 31);
    CHECK(at.device.end_time() == 31);
    CHECK(at.device.busy_time(sim::engine::compute) == 13);
    CHECK(at.device.busy_time(sim::engine::to_host) == 8);
    CHECK(at.device.busy_time(sim::engine::to_device) == 16);
    CHECK(at.device.faults() == 0);
  }
  SECTION("work that waits does not hold up work of others on its engine") {
    bench at{{.time = time}};
    at.to_host(at.one);  // 0..8
    at.order_two_after_one();
    at.read(at.two);                                 // could start at 8
    auto const third = at.device.make_stream();
    at.read(third), at.read(third);                  // 0..4, though put later
    CHECK(at.device.end_time() == 10);
    CHECK(at.device.faults() == 0);
  }
  SECTION("what the host puts in after a wait starts after it") {
    bench at{{.time = time}};
    at.to_host(at.two);        // 0..8
    at.device.sync(at.two);
    at.read(at.one);           // 8..10
    CHECK(at.device.end_time() == 10);
    CHECK(at.device.host_time() == 8);
  }
  SECTION("launches that the host cannot make fast enough leave the device idle") {
    auto slow = time;
    slow.launch = 3, slow.call = 1;
    bench at{{.time = slow}};
    for (int k = 0; k < 4; ++k) at.read(at.one);  // put at 3, 6, 9, 12
    CHECK(at.device.host_time() == 12);
    CHECK(at.device.end_time() == 14);
    at.order_two_after_one();
    CHECK(at.device.host_time() == 14);
    at.read(at.two);
    CHECK(at.device.host_time() == 17);
    CHECK(at.device.end_time() == 19);
  }
  SECTION("a copy within the device is a kernel's work") {
    bench at{{.time = time}};
    at.device.copy(at.on_device, at.on_device + 2, 16, copy_kind::device_to_device, at.one);
    at.read(at.two);
    CHECK(at.device.end_time() == 4);
  }
}

TEST_CASE("time does not depend on the order in which things were run", "[adapt][cuda][sim]") {
  for (std::uint64_t program = 0; program < 100; ++program) {
    auto const time_of = [&](order when, std::uint64_t seed) {
      sim::costs const time{.launch = 0.25, .call = 0.125, .copy = 0.5, .byte_to_device = 0.5, .byte_to_host = 0.25};
      sim_runtime device{{.when = when, .seed = seed, .time = time}};
      random_program(program, device);
      return device.end_time();
    };
    double const expected = time_of(order::eager, 1);
    CHECK(time_of(order::laziest, 1) == expected);
    CHECK(time_of(order::random, program) == expected);
  }
}

TEST_CASE("any call can be made to fail, and owners give everything back", "[adapt][cuda][sim]") {
  for (order const when : orders)
    for (auto const how :
         {sim::failure::usual, sim::failure::no_memory, sim::failure::foreign_handle, sim::failure::context_lost})
      for (std::uint64_t program = 0; program < 4; ++program) {
        sim_runtime whole{{.when = when}};
        random_program(program, whole);
        auto const thrown_up_to =
            whole.calls() - whole.counted().streams_made;  // the last are the waits of the streams' owners
        for (std::uint64_t k = 1; k <= whole.calls(); ++k) {
          sim_runtime device{{.when = when}};
          device.fail_at_any(k, how);
          bool thrown = false;
          try {
            random_program(program, device);
          } catch (cairn::error const&) {
            thrown = true;
          }
          // Buffers go before streams here: what was in flight is only safe where nothing runs any more, or where all
          // had ended.
          CAPTURE(program, k, int(how), device.first_fault());
          CHECK(thrown == (k <= thrown_up_to));
          CHECK_FALSE(device.has_leaks());
          CHECK(device.faults() == device.faults(fault::freed_in_flight) + device.faults(fault::destroyed_in_use));
          if (device.context_lost()) CHECK(device.faults() == 0);
        }
      }
}

TEST_CASE("a failed call is of the type that the device's runtime throws, and has done nothing", "[adapt][cuda][sim]") {
  bench at{{.device_bytes = 1'000, .device = 3}};
  at.device.fail_at(sim::call::device_alloc, 2);
  auto* const memory = at.device.device_alloc(8);
  try {
    at.device.device_alloc(100);
    CHECK(false);
  } catch (cairn::out_of_memory const& refused) {
    CHECK(std::string{refused.what()}.find("bytes asked = 100, bytes free = 960, device = 3") != std::string::npos);
  }
  CHECK(at.device.counted().allocations == 2);
  CHECK_THROWS_AS(at.device.device_alloc(961), cairn::out_of_memory);  // more than there is
  at.device.fail_at(sim::call::copy, 1);
  CHECK_THROWS_AS(at.to_host(at.one), cairn::device_error);
  at.to_host(at.one);
  CHECK(at.device.counted().copies[1] == 1);
  at.device.fail_at(sim::call::sync, 2);
  at.device.sync(at.one);
  CHECK_THROWS_AS(at.device.sync(at.one), cairn::device_error);
  CHECK(at.device.context_lost());
  CHECK_THROWS_AS(at.write(at.one), cairn::device_error);  // and so does everything from here on
  CHECK_THROWS_AS(at.device.done(at.edge), cairn::device_error);
  CHECK_THROWS_AS(at.device.device_alloc(8), cairn::device_error);
  at.device.device_free(memory);
  at.device.destroy(at.edge);
  CHECK(at.device.faults() == 0);
}

TEST_CASE("the simulator does what every device's runtime must", "[adapt][cuda][sim]") {
  for (order const when : orders)
    for (std::uint64_t seed = 0; seed < (when == order::random ? 50u : 1u); ++seed) {
      sim_runtime device{{.when = when, .seed = seed, .device_bytes = 1'000'000, .pinned_bytes = 1'000'000}};
      device_conformance::copies_follow_events(device, 1);
      device_conformance::copies_follow_events(device, 1'000);
      device_conformance::edges_hold(device);
      device_conformance::memory_runs_out(device);
      CAPTURE(int(when), seed, device.first_fault());
      CHECK(device.faults() == 0);
      CHECK_FALSE(device.has_leaks());
    }
}
