// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file ring.hpp  A population that spreads along a ring and grows where there is room, u' = D u_xx + r u (1 - u): one
/// step and its adjoint, each written once for host and device.

#include <cstddef>
#include <vector>

namespace ring {

using cell_index = std::ptrdiff_t;

constexpr double spread = 0.2, growth = 0.01;

/// Cell j after a step.
struct advance {
  double const* u;
  cell_index cells;
  constexpr double operator()(cell_index j) const {
    double const left = u[j == 0 ? cells - 1 : j - 1], here = u[j], right = u[j + 1 == cells ? 0 : j + 1];
    return here + spread * (left - 2 * here + right) + growth * here * (1 - here);
  }
};
/// The derivative in cell j before a step: the transpose of the above. `bar` is that in the cells after it.
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

/// Some crowds, and few people between them.
[[nodiscard]] inline std::vector<double> first_state(std::size_t cells) {
  std::vector<double> u(cells);
  for (std::size_t j = 0; j < cells; ++j) u[j] = j / 100 % 3 == 0 ? 0.75 : 0.125;
  return u;
}

}  // namespace ring
