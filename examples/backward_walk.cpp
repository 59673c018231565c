// SPDX-License-Identifier: Apache-2.0
// The smallest edit for a program that keeps all states of a loop in a std::vector and then walks them backwards.
//
// A spring is observed at every step; which start fits the observations best? The gradient of the misfit needs
// the states from the last to the first. Only two lines differ between `with_vector` and `with_cairn`.

#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>

using spring = std::array<double, 2>;  // position and speed

constexpr double dt = 0.01;
constexpr cairn::step_index n = 5'000;

void step(spring& x) {
  x[1] -= dt * (x[0] + x[0] * x[0] * x[0]);
  x[0] += dt * x[1];
}

/// Adds the derivative of (position - observation)^2 / 2 by state i.
void add_misfit(spring const& x, cairn::step_index i, spring& bar) { bar[0] += x[0] - std::cos(1.1 * dt * double(i)); }

void step_adjoint(spring const& x, spring& bar) {
  bar[1] += dt * bar[0];
  bar[0] -= dt * (1 + 3 * x[0] * x[0]) * bar[1];
}

spring with_vector(spring const& x0) {
  std::vector<spring> states{x0};
  for (cairn::step_index i = 0; i < n; ++i) {
    states.push_back(states.back());
    step(states.back());
  }
  spring bar{};
  for (auto i = n; i >= 0; --i) {
    auto const& x = states[std::size_t(i)];
    if (i < n) step_adjoint(x, bar);
    add_misfit(x, i, bar);
  }
  return bar;
}

spring with_cairn(spring const& x0) {
  auto run = cairn::checkpointed_loop(step, x0, cairn::revolve{n, 12});
  spring bar{};
  for (auto [i, x] : run.backward()) {  // i = n, n-1, ... 0; x is good until the next round
    if (i < n) step_adjoint(x, bar);
    add_misfit(x, i, bar);
  }
  return bar;
}

int main() {
  spring const x0{0.8, 0.1};
  auto const report = cairn::check_adjoint(step, step_adjoint, x0, n);
  std::printf("%s\n", report.text().c_str());

  auto const bar = with_cairn(x0), want = with_vector(x0);
  std::printf("misfit by position %.12f, by speed %.12f\n", bar[0], bar[1]);
  // Not ==: a compiler may round the two copies of `step` differently (fused multiply-add).
  auto const close = [](double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); };
  return report.passed() && close(bar[0], want[0]) && close(bar[1], want[1]) ? 0 : 1;
}
