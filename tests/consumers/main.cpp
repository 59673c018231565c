// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

#include <cmath>
#include <cstdio>

// Names that templates of the library have too; g++ compares them with -Wshadow.
constexpr double a = 0.999, f = 1, i = 0, k = 0, n = 0, p = 0, s = 0, x = 1;

int main() {
  auto const step = [](double& u, cairn::step_index) { u *= a; };
  auto const adjoint = [](double const&, double& bar, cairn::step_index) { bar *= a; };
  auto const seed = [](double const&) { return f; };
  double const gradient = cairn::gradient(step, x, cairn::revolve{1000, 8}, seed, adjoint);
  static_assert(i + k + n + p + s == 0);
  std::printf("gradient %.17g\n", gradient);
  return std::abs(gradient - std::pow(0.999, 1000)) < 1e-12 ? 0 : 1;
}
