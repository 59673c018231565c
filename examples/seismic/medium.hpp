// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file medium.hpp  A grid with a velocity in every cell, and the layers at its rim that swallow waves.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace seismic {

/// Square cells; x runs along a row of memory, z is the depth.
struct grid {
  std::size_t nx = 256, nz = 128;
  double cell = 10;     ///< metres
  double dt = 1e-3;     ///< seconds
  std::size_t rim = 20; ///< cells of damping at each side

  [[nodiscard]] std::size_t cells() const noexcept { return nx * nz; }
  [[nodiscard]] std::size_t at(std::size_t x, std::size_t z) const noexcept { return z * nx + x; }
  /// The velocity in m/s below which the leapfrog scheme is stable: dt v / cell < 1 / sqrt 2, less one part in twenty.
  [[nodiscard]] double fastest() const noexcept { return 0.95 * std::sqrt(0.5) * cell / dt; }
};

/// What a step needs to know of the ground.
template <class Real>
struct medium {
  seismic::grid grid;
  std::vector<Real> courant2;                ///< (v dt / cell)^2 of each cell
  std::vector<Real> damping_x, damping_z;    ///< a wave is multiplied by their product at every step; 1 inside

  medium(seismic::grid const& g, std::vector<double> const& velocity)
      : grid{g}, courant2(g.cells()), damping_x(damping(g.nx, g.rim)), damping_z(damping(g.nz, g.rim)) {
    set(velocity);
  }
  /// \param velocity  of each cell in m/s
  void set(std::vector<double> const& velocity) {
    for (std::size_t k = 0; k < velocity.size(); ++k) {
      double const number = velocity[k] * grid.dt / grid.cell;
      courant2[k] = Real(number * number);
    }
  }
  /// d courant2 / d velocity.
  [[nodiscard]] double slope(double velocity) const noexcept {
    return 2 * velocity * (grid.dt / grid.cell) * (grid.dt / grid.cell);
  }

 private:
  /// exp(-(a k)^2), k cells into the rim (Cerjan, Kosloff, Kosloff & Reshef 1985: a = 0.015 for 20 cells).
  [[nodiscard]] static std::vector<Real> damping(std::size_t count, std::size_t rim) {
    std::vector<Real> factor(count, Real(1));
    for (std::size_t k = 0; k < rim; ++k) {
      double const depth = 0.015 * 20 / double(rim) * double(rim - k);
      factor[k] = factor[count - 1 - k] = Real(std::exp(-depth * depth));
    }
    return factor;
  }
};

}  // namespace seismic
