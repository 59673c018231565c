// SPDX-License-Identifier: Apache-2.0
// Sweeps with parameters for callgrind: `params_cost TIMES`. Counted by tests/scripts/no_cost.py.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cairn/run/gradient.hpp>
#include <cairn/schedule/revolve.hpp>

using numbers = std::vector<double>;

int main(int count, char** words) {
  if (count != 2) return 2;
  cairn::revolve const plan{300, 8};
  auto work = cairn::workspace_for<numbers>(plan);
  double p = 0.9, dp = 0;
  numbers const x0(8, 0.3), seed(8, 1.0);
  numbers bar;
#ifdef BY_WRT
  auto const step = [](numbers& x, double q) {
    for (double& v : x) v += 1e-3 * q * v * (1 - v);
  };
  auto const adjoint = [](numbers const& x, numbers& b, double q, double& dq) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      dq += b[k] * 1e-3 * x[k] * (1 - x[k]);
      b[k] *= 1 + 1e-3 * q * (1 - 2 * x[k]);
    }
  };
#else
  auto const step = [&p](numbers& x) {
    double const q = p;
    for (double& v : x) v += 1e-3 * q * v * (1 - v);
  };
  auto const adjoint = [&p, &dp](numbers const& x, numbers& b) {
    double const q = p;
    for (std::size_t k = 0; k < x.size(); ++k) {
      dp += b[k] * 1e-3 * x[k] * (1 - x[k]);
      b[k] *= 1 + 1e-3 * q * (1 - 2 * x[k]);
    }
  };
#endif
  for (long times = std::strtol(words[1], nullptr, 10); times > 0; --times) {
#ifdef BY_WRT
    bar = cairn::gradient(step, x0, plan, seed, adjoint, work, cairn::wrt{p, dp});
#else
    dp = 0;
    bar = cairn::gradient(step, x0, plan, seed, adjoint, work);
#endif
  }
  std::printf("%.17g %.17g\n", bar.empty() ? 0 : bar[0], dp);
}
