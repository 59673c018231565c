// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the device is, and what nothing on it can beat: copies, pinning, launches, events.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include "deadline.hpp"
#include "row.hpp"
#include "settings.hpp"
#include "times.hpp"

namespace gpu {

/// Seconds of the host.
template <class F>
[[nodiscard]] double host_seconds(F f) {
  auto const before = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}
inline constexpr repeats of_facts{2, 7};

/// \returns seconds that it took to pin a byte
template <class Machine>
double measure_copies(Machine& machine, results& out, deadline const& time, settings const& size) {
  using runtime = typename Machine::runtime;
  auto& device = machine.device();
  auto const c = machine.compute(), other = device.make_stream();
  std::size_t const bytes = size.copied;
  auto const assumed = assumed_times(Machine::name(), bytes, Machine::slower);
  cairn::device_buffer<runtime> a{device, bytes}, b{device, bytes};
  double const before = machine.now();
  cairn::pinned_buffer<runtime> down{device, bytes}, up{device, bytes};
  double const pinning = (machine.now() - before) / double(2 * bytes);
  std::memset(up.data(), 1, bytes);
  machine.poison(static_cast<float*>(a.data()), bytes / sizeof(float), c);
  auto const add = [&](char const* bench, std::size_t copied, double predicted, auto put) {
    row r{.bench = bench,
          .params = support::json_object{}.add("bytes", copied),
          .samples = time.samples(of_facts, [&] { return machine.timed(put); })};
    if (predicted > 0) r.predicted = predicted;
    r.found.add("GB_per_s", 1e-9 * double(copied) / r.median());
    out.add(r);
    return r.median();
  };
  add("copy within", bytes, assumed.within,
      [&] { device.copy(b.data(), a.data(), bytes, cairn::copy_kind::device_to_device, c); });
  double const one = add("copy down", bytes, assumed.down,
                         [&] { device.copy(down.data(), a.data(), bytes, cairn::copy_kind::device_to_host, c); });
  double const two = add("copy up", bytes, assumed.up,
                         [&] { device.copy(b.data(), up.data(), bytes, cairn::copy_kind::host_to_device, c); });
  auto const fork = device.make_event(), join = device.make_event();
  add("copy both ways", bytes, machine.copy_engines() > 1 ? std::max(one, two) : one + two, [&] {
    device.record(fork, c);
    device.wait(other, fork);
    device.copy(down.data(), a.data(), bytes, cairn::copy_kind::device_to_host, c);
    device.copy(b.data(), up.data(), bytes, cairn::copy_kind::host_to_device, other);
    device.record(join, other);
    device.wait(c, join);
  });
  std::vector<char> pageable(size.copied_pageable, 1);
  add("copy down, not pinned", pageable.size(), 0,
      [&] { device.copy(pageable.data(), a.data(), pageable.size(), cairn::copy_kind::device_to_host, c); });
  device.sync(c);
  device.destroy(fork);
  device.destroy(join);
  device.destroy(other);
  return pinning;
}

/// Seconds to pin memory as the slots of tables are pinned: once, because it takes seconds.
template <class Machine>
void measure_pinning(Machine& machine, results& out, deadline const& time, settings const& size,
                     double seconds_a_byte) {
  row r{.bench = "pin",
        .params = support::json_object{}.add("bytes", size.pinned).add("threads", machine.pinning_threads())};
  if (double(size.pinned) > size.host_share * double(machine.host_bytes()))
    r.note = "skipped: the host has not so much";
  else if (double const seconds = seconds_a_byte * double(size.pinned); seconds > time.left())
    r.note = time.skipped(seconds);
  else try {
      r.samples = {machine.seconds_to_pin(size.pinned, machine.pinning_threads())};
      r.found.add("GB_per_s", 1e-9 * double(size.pinned) / r.median());
    } catch (std::exception const& refused) {
      r.note = std::string{"refused: "} + refused.what();
    }
  out.add(r);
}

/// Seconds of one call each: of the host to launch a kernel and to order two streams, and of the device from kernel to
/// kernel in a graph.
template <class Machine>
void measure_calls(Machine& machine, results& out, deadline const& time, settings const& size) {
  auto& device = machine.device();
  auto const c = machine.compute(), other = device.make_stream();
  auto const event = device.make_event();
  auto const add = [&](char const* bench, auto seconds) {
    out.add({.bench = bench,
             .params = support::json_object{}.add("calls", size.calls),
             .samples = time.samples(of_facts, [&] { return seconds() / size.calls; })});
  };
  auto const launches = [&] {
    for (int k = 0; k < size.calls; ++k) machine.empty(c);
  };
  add("launch, host", [&] {
    device.sync(c);
    return host_seconds(launches);
  });
  add("launch, device", [&] { return machine.timed(launches); });
  add("record and wait, host", [&] {
    return host_seconds([&] {
      for (int k = 0; k < size.calls; ++k) {
        device.record(event, c);
        device.wait(other, event);
      }
    });
  });
  auto graph = machine.captured(launches);
  add("launch in a graph, device", [&] { return machine.timed([&] { graph(); }); });
  device.sync(c);
  device.sync(other);
  device.destroy(event);
  device.destroy(other);
}

template <class Machine>
void measure_facts(Machine& machine, results& out, deadline const& time, settings const& size) {
  auto const assumed = assumed_times(Machine::name(), size.copied, Machine::slower);
  double const copies = of_facts.runs() * (assumed.within + 4 * assumed.down);
  std::printf("facts: about %s s\n", deadline::rounded(copies + 10).c_str());
  row about{.bench = "device"};
  about.found.add("copy_engines", machine.copy_engines())
      .add("free_bytes", machine.device().free_bytes())
      .add("host_bytes", machine.host_bytes());
  out.add(about);
  // What is left out where the time is up: whole groups, by name.
  auto const fits = [&](char const* name, double seconds) {
    bool const does = seconds <= time.left();
    if (!does) out.add({.bench = name, .note = time.skipped(seconds)});
    return does;
  };
  if (fits("launch", 1)) measure_calls(machine, out, time, size);
  double pinning = 0.4 / double(GiB);  // until it is known
  if (fits("copy", copies)) pinning = measure_copies(machine, out, time, size);
  measure_pinning(machine, out, time, size, pinning);
}

}  // namespace gpu
