// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file cells.hpp  One step and its adjoint cell by cell, for kernels on a device. What wave.hpp does row by row, with
/// the same formulas and, where the compilers round alike, the same bits. No cell is written by two calls, so they may
/// run in any order and at the same time.

#include <cstddef>

#include "formulas.hpp"

namespace seismic {

/// Where a medium lies: addresses, for functions that run on a device.
template <class Real>
struct medium_view {
  std::size_t nx = 0, nz = 0;
  Real const *courant2 = nullptr, *damping_x = nullptr, *damping_z = nullptr;

  [[nodiscard]] constexpr std::size_t cells() const { return nx * nz; }
  [[nodiscard]] constexpr bool on_rim(std::size_t k) const {
    auto const x = k % nx, z = k / nx;
    return x == 0 || x + 1 == nx || z == 0 || z + 1 == nz;
  }
  [[nodiscard]] constexpr Real damping(std::size_t k) const { return damping_z[k / nx] * damping_x[k % nx]; }
};

/// Of a field at a cell that is not on the rim.
template <class Real>
[[nodiscard]] constexpr Real laplacian_at(Real const* u, std::size_t k, std::size_t nx) {
  return laplacian(u[k - 1], u[k + 1], u[k - nx], u[k + nx], u[k]);
}

/// The pressure after `now`, with the source. `after` may be `before`: then the step is in place.
template <class Real>
struct leap_cell {
  medium_view<Real> ground;
  Real const *before, *now;
  Real* after;
  std::size_t source;
  Real push;  ///< what the source adds

  constexpr void operator()(std::size_t k) const {
    after[k] = ground.on_rim(k)
                   ? Real(0)
                   : leap_of(ground.damping(k), ground.courant2[k], laplacian_at(now, k, ground.nx), now[k], before[k]);
    if (k == source) after[k] += push;
  }
};

/// Pulls the adjoint of (u, w) back to that of (u, p). The other cells read all of `by_w`, which must not be written
/// meanwhile.
template <class Real>
struct back_cell {
  medium_view<Real> ground;
  Real const* u;      ///< the state's pressure
  Real const* by_w;   ///< the adjoint of w
  Real* by_u;         ///< the adjoint of u; is added to
  Real* by_p;         ///< becomes the adjoint of p
  Real* sensitivity;  ///< the gradient with respect to m; is added to

  constexpr void operator()(std::size_t k) const {
    auto const nx = ground.nx, x = k % nx, z = k / nx;
    bool const rim = ground.on_rim(k);
    Real const q = damped(k);
    Real const left = x > 0 ? scaled(k - 1) : Real(0), right = x + 1 < nx ? scaled(k + 1) : Real(0);
    Real const above = z > 0 ? scaled(k - nx) : Real(0), below = z + 1 < ground.nz ? scaled(k + nx) : Real(0);
    by_u[k] += 2 * q + laplacian(left, right, above, below, scaled(k));
    by_p[k] = rim ? Real(0) : -ground.damping(k) * q;
    if (!rim) sensitivity[k] += q * laplacian_at(u, k, nx);
  }

 private:
  /// The rim of w is 0 for any state.
  [[nodiscard]] constexpr Real damped(std::size_t k) const {
    return ground.on_rim(k) ? Real(0) : ground.damping(k) * by_w[k];
  }
  [[nodiscard]] constexpr Real scaled(std::size_t k) const {
    return ground.on_rim(k) ? Real(0) : ground.courant2[k] * damped(k);
  }
};

/// What receiver r hears of a state: half the squared residuals are the misfit, whose derivative joins the adjoint
/// there. No two receivers share a cell.
template <class Real>
struct listen_cell {
  std::size_t const* receivers;
  Real const *u, *recorded;  ///< the state's pressure, and what was recorded of it
  Real *residual, *by_u;

  constexpr void operator()(std::size_t r) const {
    auto const k = receivers[r];
    residual[r] = u[k] - recorded[r];
    by_u[k] += residual[r];
  }
};

}  // namespace seismic
