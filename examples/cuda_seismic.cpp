// SPDX-License-Identifier: Apache-2.0
// The gradient of a wave's misfit with respect to the ground, on a GPU, with kernels of our own.
//
// A source shakes the ground, receivers record it. How should the velocity of every cell change for the records to be
// met? The program of seismic/ on one shot: the state is the pressure at two times, the gradient is added up over the
// steps on their way back, and what the receivers missed joins the adjoint where they stand. It must have the bits of
// the same sweep with every state kept on the GPU, and the numbers of the host's program.
//
// On a GPU: nvcc -std=c++20 -arch=native --expt-relaxed-constexpr -fmad=false -I../include cuda_seismic.cu, where
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
#include "seismic/cells.hpp"
#include "seismic/device_case.hpp"

using support::gpu;
using stream_handle = gpu::stream;
using field = support::device_array<double>;
using numbers = std::vector<double>;

/// The state: pressure at two times. Its parts lie on the device, so cairn knows that it does.
struct pressures {
  field before, now;
};
/// The adjoint of a state, and where one half of the next is written.
struct pulled {
  field before, now, spare;
};

/// Kernels: see seismic/cells.hpp for the physics. A step writes a new state and leaves the old one as it is, so that
/// cairn can keep that one without a copy.
struct step_cell {
  double* kept;  ///< what is now is before then
  seismic::leap_cell<double> leap;
  constexpr void operator()(std::size_t k) const {
    kept[k] = leap.now[k];
    leap(k);
  }
};
struct silent_cell {
  double *before, *now;
  constexpr void operator()(std::size_t k) const { before[k] = now[k] = 0; }
};

/// The ground and the records, on the device.
struct device_shot {
  field courant2, damping_x, damping_z, recorded;
  support::device_array<std::size_t> receivers;

  device_shot(gpu& device, stream_handle in, seismic::device_case const& shot)
      : courant2{device, in, shot.ground().courant2},
        damping_x{device, in, shot.ground().damping_x},
        damping_z{device, in, shot.ground().damping_z},
        recorded{device, in, shot.recorded()},
        receivers{device, in, shot.plan().receivers} {}
  [[nodiscard]] seismic::medium_view<double> ground() const noexcept {
    return {damping_x.size(), damping_z.size(), courant2.get(), damping_x.get(), damping_z.get()};
  }
};

template <class Plan>
seismic::shot_gradient gradient_on_device(gpu& device, seismic::device_case const& shot, Plan const& plan,
                                          cairn::device_capacity capacity) {
  cairn::owned_stream<gpu> const here{device};
  device_shot const data{device, here.get(), shot};
  auto const cells = shot.cells(), receivers = data.receivers.size();
  auto const empty = [&] { return field{device, cells}; };
  field sensitivity{device, here.get(), numbers(cells)}, residuals{device, data.recorded.size()};

  auto const start = [=](pressures& x, stream_handle in) {
    support::launch(in, cells, silent_cell{x.before.get(), x.now.get()});
  };
  auto const step = [&](pressures const& x, pressures& x1, cairn::step_index i, stream_handle in) {
    support::launch(in, cells,
                    step_cell{x1.before.get(),
                              {data.ground(), x.before.get(), x.now.get(), x1.now.get(), shot.source(),
                               shot.plan().wavelet[std::size_t(i)]}});
  };
  // Every state passes here once, where the steps run several times: this is where the traces are compared.
  auto const listen = [&](pressures const& x, pulled& bar, cairn::step_index i, stream_handle in) {
    auto const row = std::size_t(i - 1) * receivers;
    support::launch(in, receivers,
                    seismic::listen_cell<double>{data.receivers.get(), x.now.get(), data.recorded.get() + row,
                                                 residuals.get() + row, bar.now.get()});
  };
  auto const seed = [&](pressures const& last, pulled& bar, stream_handle in) {
    support::launch(in, cells, silent_cell{bar.before.get(), bar.now.get()});
    listen(last, bar, shot.steps(), in);
  };
  auto const adjoint = [&](pressures const& x, pulled& bar, cairn::step_index i, stream_handle in) {
    support::launch(in, cells,
                    seismic::back_cell<double>{data.ground(), x.now.get(), bar.now.get(), bar.before.get(),
                                               bar.spare.get(), sensitivity.get()});
    std::swap(bar.now, bar.spare);  // now holds the adjoint of x.before, and before that of x.now
    std::swap(bar.before, bar.now);
    if (i > 0) listen(x, bar, i, in);  // state 0 is silence
  };

  pulled bar{empty(), empty(), empty()};
  cairn::device_sweep<gpu, pressures> sweep{device, here.get(), capacity, [&] { return pressures{empty(), empty()}; }};
  sweep.gradient(step, start, plan, seed, adjoint, bar);
  return shot.with_misfit(sensitivity.values(device, here.get()), residuals.values(device, here.get()));
}

int main() {
  if (!support::has_device()) {
    std::printf("no GPU, nothing is run\n");
    return 0;
  }
  seismic::device_case const shot{96, 72, 600};

  cairn::workload work;
  work.steps = shot.steps();
  work.state_bytes = 2 * cairn::wide(shot.cells()) * sizeof(double);
  work.adjoint_bytes = 3 * cairn::wide(shot.cells()) * sizeof(double);
  work.step_seconds =
      4e-6;  // about what kernels on so few cells take, and copies below: cairn::device_probe measures yours
  work.adjoint_seconds = 8e-6;
  work.tiers.host = {.write_seconds = 12e-6, .read_seconds = 12e-6, .bytes = 100 * work.state_bytes};
  auto const budget =
      cairn::byte_size{std::size_t(12 * work.state_bytes)};  // in earnest: cairn::device_budget{"80%"}.of(device)
  auto const chosen = cairn::plan_for_device(budget, work, cairn::device_forecast{});

  gpu device;
  auto const found = gradient_on_device(device, shot, chosen.plan, chosen.capacity);
  auto const all = cairn::store_all(shot.steps());
  auto const stored = gradient_on_device(device, shot, all, cairn::device_capacity_for(all));
  bool const same_bits = found.sensitivity == stored.sensitivity && found.misfit == stored.misfit;
  std::printf("misfit %.17g; with every state kept on the device %s\n", found.misfit,
              same_bits ? "the same bits" : "OTHER BITS");
  bool const same_on_host = shot.same_on_host(found);
  double const runs = double(cairn::estimate(chosen.plan).step_calls) / double(shot.steps());
  std::printf(
      "%d states on the device and %d in pinned memory instead of %d, for %.2f runs of the loop; its plan foresaw %.1f "
      "ms\n",
      int(chosen.capacity.frames), int(chosen.capacity.host_slots), int(shot.steps()), runs, 1e3 * chosen.seconds);
  return same_bits && same_on_host ? 0 : 1;
}
