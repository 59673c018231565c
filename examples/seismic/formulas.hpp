// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file formulas.hpp  What is computed for one cell, written once for rows on the host (wave.hpp) and for kernels on a
/// device (cells.hpp).

namespace seismic {

/// L of a cell, from its four neighbours and itself.
template <class Real>
[[nodiscard]] constexpr Real laplacian(Real left, Real right, Real above, Real below, Real here) {
  return left + right + (above + below) - 4 * here;
}
/// w = g (2 u + m L u - g p).
template <class Real>
[[nodiscard]] constexpr Real leap_of(Real g, Real m, Real laplacian_of_u, Real u, Real p) {
  return g * (2 * u + m * laplacian_of_u - g * p);
}

}  // namespace seismic
