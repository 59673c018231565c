// SPDX-License-Identifier: Apache-2.0
// The gradient of a wave's misfit with respect to the ground, with the steps of a loop written in Thrust.
//
// The program of seismic/ on one shot, with its vectors replaced by thrust::device_vector and its loops over cells by
// algorithms. The state is the pressure at two times, and a step overwrites the older one, so that cairn copies a state
// that it keeps, on the stream of the steps. The gradient must have the bits of the same sweep with every state kept,
// and the numbers of the host's program.
//
// Thrust runs this on a GPU with nvcc, else on the cores of the host: -DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_OMP,
// _TBB or _CPP.

#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/fill.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>

#include <cairn/adapt/thrust.hpp>
#include <cairn/cairn.hpp>

#include "seismic/cells.hpp"
#include "seismic/device_case.hpp"
#include "support/thrust_policy.hpp"

using field = thrust::device_vector<double>;
using numbers = std::vector<double>;

/// The state, and its adjoint: pressure at two times.
struct pressures {
  field before, now;
};

/// f(0), ... f(count - 1), in no order.
template <class F>
void for_cells(std::size_t count, F f) {
  thrust::for_each_n(support::policy, thrust::counting_iterator<std::size_t>{0}, count, f);
}
template <class T>
T* at(thrust::device_vector<T>& u) { return u.data().get(); }
template <class T>
T const* at(thrust::device_vector<T> const& u) { return u.data().get(); }

numbers on_host(field const& u) {
  numbers read(u.size());
  thrust::copy(u.begin(), u.end(), read.begin());
  return read;
}

template <class Plan>
seismic::shot_gradient gradient_on_device(seismic::device_case const& shot, Plan const& plan) {
  auto const cells = shot.cells();
  field const courant2 = shot.ground().courant2, damping_x = shot.ground().damping_x,
              damping_z = shot.ground().damping_z, recorded = shot.recorded();
  thrust::device_vector<std::size_t> const receivers = shot.plan().receivers;
  seismic::medium_view<double> const ground{damping_x.size(), damping_z.size(), at(courant2), at(damping_x),
                                            at(damping_z)};
  field sensitivity(cells), residuals(recorded.size()), spare(cells);
  pressures const silence{field(cells), field(cells)};

  auto const step = [&](pressures& x, cairn::step_index i) {
    double* const older = at(x.before);
    for_cells(cells, seismic::leap_cell<double>{ground, older, at(x.now), older, shot.source(),
                                                shot.plan().wavelet[std::size_t(i)]});
    x.before.swap(x.now);
  };
  // Every state passes here once, where the steps run several times: this is where the traces are compared.
  auto const listen = [&](pressures const& x, pressures& bar, cairn::step_index i) {
    auto const row = std::size_t(i - 1) * receivers.size();
    for_cells(receivers.size(), seismic::listen_cell<double>{at(receivers), at(x.now), at(recorded) + row,
                                                             at(residuals) + row, at(bar.now)});
  };
  auto const seed = [&](pressures const& last) {
    pressures bar = silence;
    listen(last, bar, shot.steps());
    return bar;
  };
  auto const adjoint = [&](pressures const& x, pressures& bar, cairn::step_index i) {
    for_cells(cells,
              seismic::back_cell<double>{ground, at(x.now), at(bar.now), at(bar.before), at(spare), at(sensitivity)});
    bar.now.swap(spare);  // now holds the adjoint of x.before, and before that of x.now
    bar.before.swap(bar.now);
    if (i > 0) listen(x, bar, i);  // state 0 is silence
  };
  cairn::gradient(step, silence, plan, seed, adjoint);
  support::finish();
  return shot.with_misfit(on_host(sensitivity), on_host(residuals));
}

int main() {
  if (!support::has_device()) {
    std::printf("no GPU, nothing is run\n");
    return 0;
  }
  seismic::device_case const shot{96, 72, 600};

  cairn::on_stream const here{support::policy};  // the one line that says where copies of states belong; without it
                                                 // each would wait for the device
  cairn::revolve const plan{shot.steps(), 12};
  auto const found = gradient_on_device(shot, plan);
  auto const stored = gradient_on_device(shot, cairn::store_all(shot.steps()));
  bool const same_bits = found.sensitivity == stored.sensitivity && found.misfit == stored.misfit;
  std::printf("misfit %.17g; with every state kept on the device %s\n", found.misfit,
              same_bits ? "the same bits" : "OTHER BITS");
  bool const same_on_host = shot.same_on_host(found);
  double const runs = double(cairn::estimate(plan).step_calls) / double(shot.steps());
  std::printf("%d states kept instead of %d, for %.2f runs of the loop\n", int(plan.slots()), int(shot.steps()), runs);
  return same_bits && same_on_host ? 0 : 1;
}
