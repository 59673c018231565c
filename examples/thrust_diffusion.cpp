// SPDX-License-Identifier: Apache-2.0
// The gradient of a time loop whose state is a thrust::device_vector and whose step is a Thrust algorithm.
//
// A population spreads along a ring and grows where there is room (support/ring.hpp). From how it is spread at the end,
// what was it like at the start? The misfit's gradient by the initial state takes a sweep back through 2,000 steps, of
// which at most 12 are kept. The same loop on std::vector says whether the gradient is right, bit for bit where the
// compiler rounds both loops alike.
//
// Thrust runs this on a GPU with nvcc, else on the cores of the host: -DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_OMP,
// _TBB or _CPP.

#include <cstddef>
#include <cstdio>
#include <vector>

#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform.h>

#include <cairn/adapt/thrust.hpp>
#include <cairn/cairn.hpp>

#include "support/difference.hpp"
#include "support/ring.hpp"
#include "support/thrust_policy.hpp"

using field = thrust::device_vector<double>;

template <class F>
void fill_by(field& into, F f) {
  thrust::counting_iterator<ring::cell_index> const first{0};
  thrust::transform(support::policy, first, first + ring::cell_index(into.size()), into.begin(), f);
}
template <class F>
void fill_by(std::vector<double>& into, F f) {
  for (std::size_t j = 0; j < into.size(); ++j) into[j] = f(ring::cell_index(j));
}
double const* cells_of(field const& u) { return u.data().get(); }
double const* cells_of(std::vector<double> const& u) { return u.data(); }

/// The same text for both kinds of field.
template <class Field, class Plan>
Field gradient_on(std::vector<double> const& start, std::vector<double> const& data, Plan const& plan) {
  Field const u0(start.begin(), start.end()), observed(data.begin(), data.end());
  Field spare(start.size());
  auto const cells = ring::cell_index(start.size());
  auto const step = [=](Field const& u, Field& next, cairn::step_index) {
    fill_by(next, ring::advance{cells_of(u), cells});
  };
  auto const seed = [&](Field const& last) {
    Field bar(last.size());
    fill_by(bar, ring::misfit{cells_of(last), cells_of(observed)});
    return bar;
  };
  auto const adjoint = [&](Field const& u, Field& bar, cairn::step_index) {
    fill_by(spare, ring::advance_adjoint{cells_of(u), cells_of(bar), cells});
    bar.swap(spare);
  };
  auto bar = cairn::gradient(step, u0, plan, seed, adjoint);
  support::finish();
  return bar;
}

int main() {
  if (!support::has_device()) {
    std::printf("no GPU, nothing is run\n");
    return 0;
  }
  cairn::step_index const n = 2'000;
  std::size_t const cells = 1'000;
  auto const start = ring::first_state(cells);
  std::vector<double> const data(cells, 0.5);

  cairn::on_stream const here{support::policy};  // the one line that says where copies of states belong; without it
                                                 // each would wait for the device
  cairn::revolve const plan{n, 12};
  auto const found = gradient_on<field>(start, data, plan);
  std::vector<double> bar(cells);
  thrust::copy(found.begin(), found.end(), bar.begin());

  auto const want = gradient_on<std::vector<double>>(start, data, cairn::store_all(n));
  std::printf("by the first cell %.17g, on the host with every state kept %.17g, %s\n", bar[0], want[0],
              bar == want ? "the same bits" : "rounded differently");
  double const runs = double(cairn::estimate(plan).step_calls) / double(n);
  std::printf("%d states kept instead of %d, for %.2f runs of the loop\n", int(plan.slots()), int(n), runs);
  return support::relative_difference(bar, want) <= 1e-12 ? 0 : 1;
}
