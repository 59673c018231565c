// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>

#include <cmath>
#include <cstdio>

#ifndef CAIRN_SEPARATE_COMPILATION
#error "cairn::compiled does not say that headers only declare"
#endif

int main() {
  cairn::advice const found =
      cairn::advise(cairn::byte_size{1000}, {.steps = 1000, .state_bytes = 8, .adjoint_bytes = 8});
  auto const step = [](double& x, cairn::step_index) { x *= 0.999; };
  auto const adjoint = [](double const&, double& bar, cairn::step_index) { bar *= 0.999; };
  double const gradient = cairn::gradient(step, 1.0, found.best.schedule, 1.0, adjoint);
  std::printf("gradient %.17g, %lld slots\n", gradient, (long long)found.best.schedule.slots());
  return std::abs(gradient - std::pow(0.999, 1000)) < 1e-12 && found.best.cost.memory_bytes <= 1000 ? 0 : 1;
}
