// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

#include <cmath>
#include <cstdio>

int main() {
  auto const step = [](double& x, cairn::step_index) { x *= 0.999; };
  auto const adjoint = [](double const&, double& bar, cairn::step_index) { bar *= 0.999; };
  auto const seed = [](double const&) { return 1.0; };
  double const gradient = cairn::gradient(step, 1.0, cairn::revolve{1000, 8}, seed, adjoint);
  std::printf("gradient %.17g\n", gradient);
  return std::abs(gradient - std::pow(0.999, 1000)) < 1e-12 ? 0 : 1;
}
