// The gradient of a time loop whose state is a thrust::device_vector and whose step is a Thrust algorithm.
//
// A population spreads along a ring and grows where there is room: u' = D u_xx + r u (1 - u). From how it is spread at the end, what was
// it like at the start? The misfit's gradient by the initial state takes a sweep back through 2,000 steps, of which at most 12 are kept.
// The same loop on std::vector says whether the gradient is right, bit for bit where the compiler rounds both loops alike.
//
// Thrust runs this on a GPU with nvcc, else on the cores of the host: -DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_OMP, _TBB or _CPP.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform.h>

#include <cairn/adapt/thrust.hpp>
#include <cairn/cairn.hpp>

using cell_index = std::ptrdiff_t;

constexpr double spread = 0.2, growth = 0.01;

/// Cell j after a step. Written once, for host and device.
struct advance {
  double const* u;
  cell_index cells;
  constexpr double operator()(cell_index j) const {
    double const left = u[j == 0 ? cells - 1 : j - 1], here = u[j], right = u[j + 1 == cells ? 0 : j + 1];
    return here + spread * (left - 2 * here + right) + growth * here * (1 - here);
  }
};
/// The derivative by cell j before a step: the transpose of the above. `bar` is that by the cells after it.
struct advance_adjoint {
  double const* u;
  double const* bar;
  cell_index cells;
  constexpr double operator()(cell_index j) const {
    double const left = bar[j == 0 ? cells - 1 : j - 1], here = bar[j], right = bar[j + 1 == cells ? 0 : j + 1];
    return here * (1 + growth * (1 - 2 * u[j])) + spread * (left - 2 * here + right);
  }
};
/// The derivative of half the squared misfit.
struct misfit {
  double const* u;
  double const* data;
  constexpr double operator()(cell_index j) const { return u[j] - data[j]; }
};

using field = thrust::device_vector<double>;

#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA
bool has_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}
/// A stream of our own, on which no algorithm waits for the host.
auto const policy = [] {
  cudaStream_t stream = nullptr;
  if (has_device() && cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) stream = nullptr;
  return thrust::cuda::par_nosync.on(stream);
}();
void finish() { (void)cudaDeviceSynchronize(); }
#else
bool has_device() { return true; }
auto const policy = thrust::device;
void finish() {}
#endif

template <class F>
void fill_by(field& into, F f) {
  thrust::counting_iterator<cell_index> const first{0};
  thrust::transform(policy, first, first + cell_index(into.size()), into.begin(), f);
}
template <class F>
void fill_by(std::vector<double>& into, F f) {
  for (std::size_t j = 0; j < into.size(); ++j) into[j] = f(cell_index(j));
}
double const* cells_of(field const& u) { return u.data().get(); }
double const* cells_of(std::vector<double> const& u) { return u.data(); }

/// The same text for both kinds of field.
template <class Field, class Plan>
Field gradient_on(std::vector<double> const& start, std::vector<double> const& data, Plan const& plan) {
  Field const u0(start.begin(), start.end()), observed(data.begin(), data.end());
  Field spare(start.size());
  cell_index const cells = cell_index(start.size());
  auto const step = [=](Field const& u, Field& next, cairn::step_index) { fill_by(next, advance{cells_of(u), cells}); };
  auto const seed = [&](Field const& last) {
    Field bar(last.size());
    fill_by(bar, misfit{cells_of(last), cells_of(observed)});
    return bar;
  };
  auto const adjoint = [&](Field const& u, Field& bar, cairn::step_index) {
    fill_by(spare, advance_adjoint{cells_of(u), cells_of(bar), cells});
    bar.swap(spare);
  };
  auto bar = cairn::gradient(step, u0, plan, seed, adjoint);
  finish();
  return bar;
}

int main() {
  if (!has_device()) {
    std::printf("no GPU, nothing is run\n");
    return 0;
  }
  cairn::step_index const n = 2'000;
  std::size_t const cells = 1'000;
  std::vector<double> start(cells), data(cells, 0.5);
  for (std::size_t j = 0; j < cells; ++j) start[j] = j / 100 % 3 == 0 ? 0.75 : 0.125;

  cairn::on_stream const here{policy};  // the one line that says where copies of states belong; without it each would wait for the device
  cairn::revolve const plan{n, 12};
  auto const found = gradient_on<field>(start, data, plan);
  std::vector<double> bar(cells);
  thrust::copy(found.begin(), found.end(), bar.begin());

  auto const want = gradient_on<std::vector<double>>(start, data, cairn::store_all(n));
  double off = 0, size = 0;
  for (std::size_t j = 0; j < cells; ++j) {
    off = std::fmax(off, std::fabs(bar[j] - want[j]));
    size = std::fmax(size, std::fabs(want[j]));
  }
  std::printf("by the first cell %.17g, on the host with every state kept %.17g, %s\n", bar[0], want[0],
              bar == want ? "the same bits" : "rounded differently");
  double const runs = double(cairn::estimate(plan).step_calls) / double(n);
  std::printf("%d states kept instead of %d, for %.2f runs of the loop\n", int(plan.slots()), int(n), runs);
  return off <= 1e-12 * size ? 0 : 1;
}
