// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a step, an adjoint and the copies of a state take by themselves: what sweeps are compared with, and what
// forecasts are made from.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/workload.hpp>
#include "field.hpp"

namespace gpu {

/// Seconds for one state of `bytes`.
struct state_times {
  std::size_t bytes = 0;
  double step = 0, adjoint = 0, down = 0, up = 0, within = 0;
  double pin = 0;  ///< to pin its bytes

  /// The initial state is written, and the seed is a copy of the last one: three passes, where a step has two.
  [[nodiscard]] double ends() const { return 1.5 * step; }
  /// A loop and its adjoint where nothing is done again or waited for.
  [[nodiscard]] double floor(cairn::step_index steps) const { return double(steps) * (step + adjoint) + ends(); }
  [[nodiscard]] cairn::workload workload_of(cairn::step_index steps, cairn::wide host_slots,
                                            cairn::step_form form = cairn::step_form::out_of_place) const {
    cairn::workload work{.steps = steps,
                         .state_bytes = bytes,
                         .adjoint_bytes = bytes,
                         .step_seconds = step,
                         .adjoint_seconds = adjoint,
                         .form = {.step = form}};
    work.tiers.host = {down, up, host_slots * bytes};
    work.tiers.device.write_seconds = within;
    return work;
  }
};

/// What was assumed before anything was measured: memory at 3.0 or, of an H200, 4.3 TB/s, and 55 GB/s to the host and
/// back.   \param slower  how many times, on purpose
[[nodiscard]] inline state_times assumed_times(std::string const& device, std::size_t bytes, double slower) {
  double const memory = device.find("H200") != std::string::npos ? 4.3e12 : 3.0e12, link = 55e9,
               size = slower * double(bytes);
  return {bytes, 2 * size / memory, 3 * size / memory, size / link, size / link, 2 * size / memory};
}

namespace detail {

/// Seconds of one of `count` calls put(k), by `repeats` runs of all.
template <class Machine, class Put>
[[nodiscard]] std::vector<double> each_of(Machine& machine, int count, int samples, Put put) {
  std::vector<double> seconds;
  for (int sample = -2; sample < samples; ++sample) {
    double const all = machine.timed_alone([&] {
      for (int k = 0; k < count; ++k) put(k);
    });
    if (sample >= 0) seconds.push_back(all / count);
  }
  return seconds;
}
[[nodiscard]] inline double middle(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace detail

/// The same samples from which `state_times` are the medians.
struct time_samples {
  std::vector<double> step, adjoint, down, up, within, pin;
};

/// Measures, five times each after two runs to warm up.   \param steps  in a row, even   \pre four states fit the
/// device
template <class Machine>
[[nodiscard]] time_samples measure_times(Machine& machine, std::size_t bytes, int steps) {
  auto& runtime = machine.device();
  auto const c = machine.compute();
  std::size_t const count = bytes / sizeof(float);
  using state = field<typename Machine::runtime>;
  state x[] = {poisoned(machine, runtime, count), poisoned(machine, runtime, count)};
  state bar = poisoned(machine, runtime, count);
  runtime.drop_unused();  // so that this is pinned anew
  double const before = machine.now();
  cairn::pinned_buffer<typename Machine::runtime> pinned{runtime, bytes};
  time_samples all;
  all.pin = {machine.now() - before};
  machine.fill(x[0].numbers(), count, c);
  all.step = detail::each_of(machine, steps, 5,
                             [&](int k) { machine.step(x[k % 2].numbers(), x[(k + 1) % 2].numbers(), count, k, c); });
  machine.seed(x[0].numbers(), bar.numbers(), count, c);
  all.adjoint =
      detail::each_of(machine, steps, 5, [&](int k) { machine.adjoint(x[0].numbers(), bar.numbers(), count, k, c); });
  auto const copy = [&](void* to, void const* from, cairn::copy_kind kind) {
    return detail::each_of(machine, 3, 5, [&](int) { runtime.copy(to, from, bytes, kind, c); });
  };
  all.down = copy(pinned.data(), x[0].numbers(), cairn::copy_kind::device_to_host);
  all.up = copy(x[1].numbers(), pinned.data(), cairn::copy_kind::host_to_device);
  all.within = copy(x[1].numbers(), x[0].numbers(), cairn::copy_kind::device_to_device);
  machine.device().sync(c);
  return all;
}
[[nodiscard]] inline state_times medians_of(time_samples const& all, std::size_t bytes) {
  return {bytes,
          detail::middle(all.step),
          detail::middle(all.adjoint),
          detail::middle(all.down),
          detail::middle(all.up),
          detail::middle(all.within),
          detail::middle(all.pin)};
}

}  // namespace gpu
