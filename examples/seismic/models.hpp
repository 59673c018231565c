// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file models.hpp  The ground that made the synthetic traces, and what is known of it at the start.

#include <cmath>
#include <cstddef>
#include <vector>

#include "medium.hpp"

namespace seismic {

/// Faster with depth, and nothing else: 2000 m/s at the top, 2600 at the bottom.
[[nodiscard]] inline std::vector<double> start_model(grid const& g) {
  std::vector<double> velocity(g.cells());
  for (std::size_t z = 0; z < g.nz; ++z)
    for (std::size_t x = 0; x < g.nx; ++x) velocity[g.at(x, z)] = 2000 + 600 * double(z) / double(g.nz - 1);
  return velocity;
}

/// The same with a slow lens, a fast one and a step between two layers that a fault has shifted.
[[nodiscard]] inline std::vector<double> true_model(grid const& g) {
  auto velocity = start_model(g);
  auto const lens = [&](double x, double z, double across, double down, double change) {
    for (std::size_t k = 0; k < velocity.size(); ++k) {
      double const dx = (double(k % g.nx) / double(g.nx) - x) / across,
                   dz = (double(k / g.nx) / double(g.nz) - z) / down;
      velocity[k] += change * std::exp(-(dx * dx + dz * dz) * (dx * dx + dz * dz));
    }
  };
  lens(0.35, 0.42, 0.09, 0.12, -180);
  lens(0.64, 0.50, 0.08, 0.14, 200);
  for (std::size_t k = 0; k < velocity.size(); ++k) {
    double const x = double(k % g.nx) / double(g.nx), z = double(k / g.nx) / double(g.nz);
    velocity[k] += 60 * (1 + std::tanh(40 * (z - (x < 0.5 ? 0.66 : 0.72))));
  }
  return velocity;
}

}  // namespace seismic
