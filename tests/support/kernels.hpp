// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <vector>
#include <cairn/core/action.hpp>

/// A cheap nonlinear loop over two numbers that reads the step's number, its adjoint, and both by hand without
/// checkpoints. Out of line, so that every test runs the same instructions and may compare bits.
namespace kernels {

using vec2 = std::array<double, 2>;

inline constexpr vec2 start = {0.7, -0.3};

/// x <- x + h (b - c a^2, c a b - a) with x = (a, b)
[[gnu::noinline]] inline void step(double* x, cairn::step_index i) {
  double const h = 0.125, c = 1.0 / double(2 + i % 7), a = x[0], b = x[1];
  x[0] = a + h * (b - c * a * a);
  x[1] = b + h * (c * a * b - a);
}

/// bar <- transpose of the step's Jacobian at x, times bar
[[gnu::noinline]] inline void adjoint(double const* x, double* bar, cairn::step_index i) {
  double const h = 0.125, c = 1.0 / double(2 + i % 7), a = x[0], b = x[1], p = bar[0], q = bar[1];
  bar[0] = p * (1 - 2 * h * c * a) + q * h * (c * b - 1);
  bar[1] = p * h + q * (1 + h * c * a);
}

[[nodiscard]] inline vec2 seed(double const* last) { return {last[0] - 1, 2 * last[1]}; }

/// States 0 .. n.
[[nodiscard]] inline std::vector<vec2> states(cairn::step_index n) {
  std::vector<vec2> all{start};
  for (cairn::step_index i = 0; i < n; ++i) {
    vec2 x = all.back();
    step(x.data(), i);
    all.push_back(x);
  }
  return all;
}

/// The adjoint of the initial state.
[[nodiscard]] inline vec2 gradient(cairn::step_index n) {
  auto const all = states(n);
  vec2 bar = seed(all.back().data());
  for (cairn::step_index i = n; i-- > 0;) adjoint(all[std::size_t(i)].data(), bar.data(), i);
  return bar;
}

}  // namespace kernels
