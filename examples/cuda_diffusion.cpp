// SPDX-License-Identifier: Apache-2.0
// The gradient of a time loop whose state lies on a GPU and whose steps are CUDA kernels.
//
// A population spreads along a ring and grows where there is room (support/ring.hpp). From how it is spread at the end,
// what was it like at the start? The misfit's gradient by the initial state takes a sweep back through 2,000 steps. The
// GPU holds 15 states at a time, and the host's pinned memory holds 200, whose copies run beside the kernels. The same
// sweep with every state kept on the GPU must give the same bits, and the same loop on std::vector the same numbers.
//
// On a GPU: nvcc -std=c++20 -arch=native --expt-relaxed-constexpr -fmad=false -I../include cuda_diffusion.cu, where
// -fmad=false rounds as a host without fused multiply-add does. Any other compiler makes a program of this file that
// runs on the host, kernels and all.

#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include <cairn/adapt/cuda/device_plan.hpp>
#include <cairn/adapt/cuda/owned_stream.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/cairn.hpp>

#include "cuda/device_array.hpp"
#include "cuda/launch.hpp"
#include "support/difference.hpp"
#include "support/ring.hpp"

using support::gpu;
using stream_handle = gpu::stream;
using field = support::device_array<double>;
using numbers = std::vector<double>;

/// A kernel: cell j of a field becomes f(j).
template <class F>
struct fill {
  double* into;
  F f;
  constexpr void operator()(std::size_t j) const { into[j] = f(ring::cell_index(j)); }
};
template <class F>
void fill_by(field& into, F f, stream_handle in) {
  support::launch(in, into.size(), fill<F>{into.get(), f});
}

/// The adjoint, and where the next one is written: a cell's takes from its neighbours'.
struct adjoint_field {
  field now, next;
};

template <class Plan>
numbers gradient_on_device(gpu& device, numbers const& start, numbers const& data, Plan const& plan,
                           cairn::device_capacity capacity) {
  cairn::owned_stream<gpu> const here{device};
  field const u0{device, here.get(), start}, observed{device, here.get(), data};
  adjoint_field bar{field{device, start.size()}, field{device, start.size()}};
  auto const cells = ring::cell_index(start.size());

  // What a loop with kernels of its own has already: each of these puts a kernel into the stream.
  auto const step = [=](field const& u, field& next, cairn::step_index, stream_handle in) {
    fill_by(next, ring::advance{u.get(), cells}, in);
  };
  auto const seed = [&](field const& last, adjoint_field& b, stream_handle in) {
    fill_by(b.now, ring::misfit{last.get(), observed.get()}, in);
  };
  auto const adjoint = [=](field const& u, adjoint_field& b, cairn::step_index, stream_handle in) {
    fill_by(b.next, ring::advance_adjoint{u.get(), b.now.get(), cells}, in);
    std::swap(b.now, b.next);
  };
  // And what it adds: frames and slots, made once, and one call that puts forward and reverse sweep into the stream.
  cairn::device_sweep<gpu, field> sweep{device, here.get(), capacity, [&] { return field{device, start.size()}; }};
  sweep.gradient(step, u0, plan, seed, adjoint, bar);
  return bar.now.values(device, here.get());
}

numbers gradient_on_host(numbers const& start, numbers const& data, cairn::step_index steps) {
  auto const cells = ring::cell_index(start.size());
  auto const fill_by = [](numbers& into, auto f) {
    for (std::size_t j = 0; j < into.size(); ++j) into[j] = f(ring::cell_index(j));
  };
  numbers spare(start.size());
  auto const step = [&](numbers const& u, numbers& next, cairn::step_index) {
    fill_by(next, ring::advance{u.data(), cells});
  };
  auto const seed = [&](numbers const& last) {
    numbers bar(last.size());
    fill_by(bar, ring::misfit{last.data(), data.data()});
    return bar;
  };
  auto const adjoint = [&](numbers const& u, numbers& bar, cairn::step_index) {
    fill_by(spare, ring::advance_adjoint{u.data(), bar.data(), cells});
    bar.swap(spare);
  };
  return cairn::gradient(step, start, cairn::store_all(steps), seed, adjoint);
}

int main() {
  if (!support::has_device()) {
    std::printf("no GPU, nothing is run\n");
    return 0;
  }
  cairn::step_index const n = 2'000;
  std::size_t const cells = 2'048;
  auto const start = ring::first_state(cells);
  numbers const data(cells, 0.5);

  cairn::workload work;
  work.steps = n;
  work.state_bytes = cairn::wide(cells) * sizeof(double);
  work.adjoint_bytes = 2 * work.state_bytes;
  work.step_seconds = work.adjoint_seconds =
      4e-6;  // about what a kernel on so few cells takes, and a copy below: cairn::device_probe measures yours
  work.tiers.host = {.write_seconds = 12e-6, .read_seconds = 12e-6, .bytes = 200 * work.state_bytes};
  auto const budget =
      cairn::byte_size{std::size_t(17 * work.state_bytes)};  // in earnest: cairn::device_budget{"80%"}.of(device)
  auto const chosen = cairn::plan_for_device(budget, work, cairn::device_forecast{});

  gpu device;
  auto const found = gradient_on_device(device, start, data, chosen.plan, chosen.capacity);
  auto const all = cairn::store_all(n);
  bool const same_bits = found == gradient_on_device(device, start, data, all, cairn::device_capacity_for(all));
  auto const on_host = gradient_on_host(start, data, n);
  double const off = support::relative_difference(found, on_host);

  std::printf("by the first cell %.17g; with every state kept on the device %s\n", found[0],
              same_bits ? "the same bits" : "OTHER BITS");
  std::printf("by the first cell %.17g on the host, %s (largest difference %.1e)\n", on_host[0],
              found == on_host ? "the same bits" : off <= 1e-12 ? "rounded differently" : "OTHER NUMBERS", off);
  double const runs = double(cairn::estimate(chosen.plan).step_calls) / double(n);
  std::printf(
      "%d states on the device and %d in pinned memory instead of %d, for %.2f runs of the loop; its plan foresaw %.1f "
      "ms\n",
      int(chosen.capacity.frames), int(chosen.capacity.host_slots), int(n), runs, 1e3 * chosen.seconds);
  return same_bits && off <= 1e-12 ? 0 : 1;
}
