// SPDX-License-Identifier: Apache-2.0
// States in the memory of a simulated device, a loop over them whose kernels say what they read and write, and the same
// loop by hand.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/device_memory.hpp>
#include "support/sim_runtime.hpp"

namespace sim {

/// How many numbers each buffer of a state holds. There may be none, and a buffer may be empty.
using shape = std::vector<std::size_t>;

/// Buffers on the device, and a number that the host keeps beside them.
template <class R>
class state {
 public:
  static constexpr bool in_device_memory = true;

  state(R& device, shape const& sizes) {
    for (std::size_t const size : sizes) buffers_.emplace_back(device, size * sizeof(double));
  }
  template <class F>
  void visit_buffers(F&& f) {
    for (auto& buffer : buffers_) f(cairn::device_pointer<void>{buffer.data()}, buffer.size());
    f(static_cast<void*>(&time), sizeof time);
  }
  template <class F>
  void visit_buffers(F&& f) const {
    for (auto const& buffer : buffers_) f(cairn::device_pointer<void const>{buffer.data()}, buffer.size());
    f(static_cast<void const*>(&time), sizeof time);
  }
  [[nodiscard]] std::size_t count() const { return buffers_.size(); }
  [[nodiscard]] std::size_t size(std::size_t k) const { return buffers_[k].size() / sizeof(double); }
  [[nodiscard]] double* numbers(std::size_t k) const { return static_cast<double*>(buffers_[k].data()); }
  [[nodiscard]] std::vector<access> all(bool write) const {
    std::vector<access> list;
    for (auto const& buffer : buffers_) list.push_back({buffer.data(), buffer.size(), write});
    return list;
  }

  double time = -1;

 private:
  std::vector<cairn::device_buffer<R>> buffers_;
};

/// What a kernel does to one number; never inlined, so that all sweeps run the same instructions.
[[gnu::noinline]] inline double stepped(double x, double time, cairn::step_index i) {
  return x + 0.125 * (std::sin(time) - x * x / double(2 + i % 7));
}
[[gnu::noinline]] inline double pulled_back(double x, double bar, double time, cairn::step_index i) {
  return bar * (1 - 0.25 * x / double(2 + i % 7)) + 1e-3 * time * x;
}
inline double first_number(std::size_t buffer, std::size_t k) {
  return 0.5 + 0.25 * double(buffer) - 0.0625 * double(k % 17);
}
inline constexpr double first_time = 0.25, time_step = 0.375;

/// The adjoint of the initial state, with all states kept in a list.   \param more  is added to every number of the
/// initial state
inline std::vector<std::vector<double>> gradient_by_hand(shape const& sizes, cairn::step_index n, double more = 0) {
  std::vector<std::vector<double>> bars;
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    std::vector<double> bar(sizes[b]);
    for (std::size_t k = 0; k < sizes[b]; ++k) {
      std::vector<double> x{first_number(b, k) + more};
      std::vector<double> time{first_time};
      for (cairn::step_index i = 0; i < n; ++i) {
        x.push_back(stepped(x.back(), time.back(), i));
        time.push_back(time.back() + time_step);
      }
      bar[k] = x.back() - 1 + time.back();
      for (cairn::step_index i = n; i-- > 0;) bar[k] = pulled_back(x[std::size_t(i)], bar[k], time[std::size_t(i)], i);
    }
    bars.push_back(std::move(bar));
  }
  return bars;
}

/// The loop on the simulated device, in the forms that a sweep takes. `Device` is the simulator or what wraps it;
/// `kernels` is the simulator.
template <class R>
class loop {
 public:
  using stream = runtime::stream;
  loop(runtime& kernels, double step_time = 1, double adjoint_time = 1)
      : kernels_{&kernels}, step_time_{step_time}, adjoint_time_{adjoint_time} {}

  auto start() {
    return [this](state<R>& x, stream in) {
      x.time = first_time;
      auto const put = [numbers = pointers(x)] {
        for (std::size_t b = 0; b < numbers.size(); ++b)
          for (std::size_t k = 0; k < numbers[b].second; ++k) numbers[b].first[k] = first_number(b, k);
      };
      kernels_->launch(in, x.all(true), put, 0);
    };
  }
  auto step() {
    return [this](state<R> const& x, state<R>& x1, cairn::step_index i, stream in) {
      ++steps;
      x1.time = x.time + time_step;
      auto accesses = x.all(false);
      auto const writes = x1.all(true);
      accesses.insert(accesses.end(), writes.begin(), writes.end());
      run(in, accesses, pointers(x), pointers(x1), x.time, i);
    };
  }
  auto step_in_place() {
    return [this](state<R>& x, cairn::step_index i, stream in) {
      ++steps;
      run(in, x.all(true), pointers(x), pointers(x), x.time, i);
      x.time += time_step;
    };
  }
  auto seed() {
    return [this](state<R> const& x, state<R>& bar, stream in) {
      auto accesses = x.all(false);
      auto const writes = bar.all(true);
      accesses.insert(accesses.end(), writes.begin(), writes.end());
      auto const work = [from = pointers(x), to = pointers(bar), time = x.time] {
        for (std::size_t b = 0; b < from.size(); ++b)
          for (std::size_t k = 0; k < from[b].second; ++k) to[b].first[k] = from[b].first[k] - 1 + time;
      };
      kernels_->launch(in, accesses, work, 0);
    };
  }
  auto adjoint() {
    return [this](state<R> const& x, state<R>& bar, cairn::step_index i, stream in) {
      ++adjoints;
      auto accesses = x.all(false);
      auto const writes = bar.all(true);
      accesses.insert(accesses.end(), writes.begin(), writes.end());
      auto const work = [from = pointers(x), to = pointers(bar), time = x.time, i] {
        for (std::size_t b = 0; b < from.size(); ++b)
          for (std::size_t k = 0; k < from[b].second; ++k)
            to[b].first[k] = pulled_back(from[b].first[k], to[b].first[k], time, i);
      };
      kernels_->launch(in, accesses, work, adjoint_time_);
    };
  }

  std::size_t steps = 0, adjoints = 0;

 private:
  using number_list = std::vector<std::pair<double*, std::size_t>>;
  static number_list pointers(state<R> const& x) {
    number_list list;
    for (std::size_t b = 0; b < x.count(); ++b) list.emplace_back(x.numbers(b), x.size(b));
    return list;
  }
  void run(stream in, std::vector<access> const& accesses, number_list from, number_list to, double time,
           cairn::step_index i) {
    auto const work = [from = std::move(from), to = std::move(to), time, i] {
      for (std::size_t b = 0; b < from.size(); ++b)
        for (std::size_t k = 0; k < from[b].second; ++k) to[b].first[k] = stepped(from[b].first[k], time, i);
    };
    kernels_->launch(in, accesses, work, step_time_);
  }

  runtime* kernels_;
  double step_time_, adjoint_time_;
};

/// The numbers of a state; the host has waited for them.
template <class R>
std::vector<std::vector<double>> numbers_of(runtime& device, state<R> const& x) {
  std::vector<std::vector<double>> list;
  for (std::size_t b = 0; b < x.count(); ++b) {
    device.host_reads(x.numbers(b), x.size(b) * sizeof(double));
    list.emplace_back(x.numbers(b), x.numbers(b) + x.size(b));
  }
  return list;
}

}  // namespace sim
