// SPDX-License-Identifier: Apache-2.0
// A program in C++14 that does not compile as C++20, and has its gradient all the same: heat in a rod, and how the heat
// at its end depends on how well it conducts. The other half is one_unit.cpp.
#include "one_unit.h"

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

char const* const title = u8"heat in a rod";  // C++20 would have char8_t const*

constexpr long steps = 2000;

struct rod {
  double conductivity;
  double conductivity_bar;  // sums up over all steps

  static double laplacian(double const* u, std::size_t k) {
    return (k > 0 ? u[k - 1] : 0) - 2 * u[k] + (k + 1 < cells ? u[k + 1] : 0);
  }
  void step(double* u) const {
    std::vector<double> const old(u, u + cells);
    for (std::size_t k = 0; k < cells; ++k)
      u[k] += conductivity * laplacian(old.data(), k) - 1e-3 * std::pow(old[k], 4);
    u[0] += 0.01;
  }
  void adjoint(double const* u, double* bar) {
    std::vector<double> const after(bar, bar + cells);
    for (std::size_t k = 0; k < cells; ++k) {
      conductivity_bar += after[k] * laplacian(u, k);
      bar[k] += conductivity * laplacian(after.data(), k) - 4e-3 * std::pow(u[k], 3) * after[k];
    }
  }
  static constexpr std::size_t cells = 32;
};

void step(double* u, long, void* user) { static_cast<rod const*>(user)->step(u); }
void adjoint(double const* u, double* bar, long, void* user) { static_cast<rod*>(user)->adjoint(u, bar); }

/// Half the square of the final state.
double objective(std::vector<double> u, double conductivity) {
  rod const r{conductivity, 0};
  for (long i = 0; i < steps; ++i) r.step(u.data());
  double sum = 0;
  for (double const v : u) sum += v * v / 2;
  return sum;
}

}  // namespace

int main() {
  rod r{0.2, 0};
  std::vector<double> const u0(rod::cells, 1.0);
  std::vector<double> bar = u0;
  for (long i = 0; i < steps; ++i) r.step(bar.data());  // its own adjoint is that of half its square
  char why[400] = "";
  if (reverse_loop(steps, rod::cells, u0.data(), bar.data(), step, adjoint, &r, "8kB", why) != 0) {
    std::printf("%s\n", why);
    return 1;
  }
  double const h = 1e-6, difference = (objective(u0, 0.2 + h) - objective(u0, 0.2 - h)) / (2 * h);
  std::printf("%s: by conductivity %.6f, by differences %.6f\n", title, r.conductivity_bar, difference);
  bool const refused = reverse_loop(steps, rod::cells, u0.data(), bar.data(), step, adjoint, &r, "1kB", why) == 1;
  std::printf("within 1kB: %s\n", why);
  return refused && std::abs(r.conductivity_bar - difference) < 1e-6 * std::abs(difference) ? 0 : 1;
}
