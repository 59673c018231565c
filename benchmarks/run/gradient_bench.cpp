// SPDX-License-Identifier: Apache-2.0
// Whole gradients: the overhead, on a scalar loop, and diffusion of 4,096 floats.
#include <array>
#include <vector>
#include "../suite.hpp"

namespace {

using cairn::step_index;

template <class Plan>
void scalar(benchmark::State& run, Plan const& plan) {
  suite::gradient(
      run, plan, 1.0, [](double& x, step_index i) { x += 1e-6 * (x * -0.5 + 1e-7 * double(i)); },
      [](double, double& bar, step_index) { bar *= 1 - 0.5e-6; });
}

using field = std::vector<float>;
constexpr std::size_t cells = 4096;

/// x <- x + 0.2 laplace(x), the ends fixed; it is its own adjoint but for the ends, which hold nothing here.
[[gnu::noinline]] void diffuse(field& x) {
  float left = x[0];
  for (std::size_t k = 1; k + 1 < cells; ++k) {
    float const here = x[k];
    x[k] = here + 0.2f * (left - 2 * here + x[k + 1]);
    left = here;
  }
}
template <class Plan>
void diffusion(benchmark::State& run, Plan const& plan) {
  field x0(cells);
  for (std::size_t k = 1; k + 1 < cells; ++k) x0[k] = float(k % 64);
  suite::gradient(
      run, plan, x0, [](field& x, step_index) { diffuse(x); },
      [](field const&, field& bar, step_index) { diffuse(bar); });
}

template <class Plan>
void add(std::string const& name, Plan const& plan) {
  suite::add("gradient/scalar/" + name, [plan](benchmark::State& run) {
    scalar(run, plan);
  })->Unit(benchmark::kMicrosecond);
  suite::add("gradient/diffusion/" + name, [plan](benchmark::State& run) {
    diffusion(run, plan);
  })->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  add("store_all:1000", cairn::store_all(1000));
  add("uniform:1000", cairn::uniform{1000});
  add("revolve:1000,slots:10", cairn::revolve{1000, 10});
  add("revolve:1000,slots:100", cairn::revolve{1000, 100});
  add("any_revolve:1000,slots:10", cairn::any_schedule{cairn::revolve{1000, 10}});
  return suite::run(argc, argv);
}
