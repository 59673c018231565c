// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file wave.hpp  One leapfrog step of the acoustic wave equation and the adjoint of that very step, written by hand.
///
/// With L the five-point Laplacian, m = (v dt / cell)^2, g the damping and s the source, a step is
///     w = g (2 u + m L u - g p) + s,     (p, u) -> (u, w).
/// It is affine in (p, u), so its adjoint needs of the state only u, and that only for the gradient with respect to m.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "formulas.hpp"
#include "medium.hpp"

namespace seismic {

/// Pressure at two times: what one step passes to the next. An adjoint of it has the same shape.
template <class Real>
struct wave {
  std::vector<Real> before, now;
};
template <class Real>
[[nodiscard]] wave<Real> silence(std::size_t cells) {
  return {std::vector<Real>(cells), std::vector<Real>(cells)};
}

/// The pressure after `now`, without the source. The one forward kernel: sweep, leaf and baseline call it, so all have
/// the same bits. Whole rows are computed, in which vectors of any width fit; their outermost cells, which mean nothing
/// then, are set to 0 as the rim is. \param before  may be `after`: then the step is in place
template <class Real>
[[gnu::noinline]] void leapfrog(medium<Real> const& ground, Real const* before, Real const* now, Real* after) {
  auto const nx = ground.grid.nx, nz = ground.grid.nz;
  Real const* const gx = ground.damping_x.data();
  std::fill_n(after, nx, Real(0));
  for (std::size_t z = 1; z + 1 < nz; ++z) {
    Real const gz = ground.damping_z[z];
    Real const* const m = ground.courant2.data() + z * nx;
    Real const* const p = before + z * nx;
    Real const* const u = now + z * nx;
    Real const *const left = u - 1, *const right = u + 1, *const above = u - nx, *const below = u + nx;
    Real* const w = after + z * nx;
    // A cell of p is read before the same cell of w is written, and no other, so the loop is parallel.
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#elif defined(__GNUC__)
#pragma GCC ivdep
#endif
    for (std::size_t x = 0; x < nx; ++x) {
      Real const g = gz * gx[x];
      w[x] = leap_of(g, m[x], laplacian(left[x], right[x], above[x], below[x], u[x]), u[x], p[x]);
    }
    w[0] = w[nx - 1] = 0;
  }
  std::fill_n(after + (nz - 1) * nx, nx, Real(0));
}

/// Memory of `leapfrog_adjoint`: three rows of m g (adjoint of w), from which L takes, with a zero at each end.
template <class Real>
class adjoint_rows {
 public:
  explicit adjoint_rows(std::size_t nx) : stride_{nx + 2}, all_(3 * stride_) {}
  [[nodiscard]] Real* operator[](std::size_t z) noexcept { return all_.data() + z % 3 * stride_ + 1; }

 private:
  std::size_t stride_;
  std::vector<Real> all_;
};

namespace detail {

/// `to` = m q of a row, where q = g bar; adds q L u to the gradient with respect to m.
template <class Real>
void scale_row(std::size_t nx, Real gz, Real const* __restrict gx, Real const* __restrict m, Real const* __restrict bar,
               Real const* __restrict u, Real const* __restrict above, Real const* __restrict below,
               Real* __restrict gain, Real* __restrict to) {
  for (std::size_t x = 0; x < nx; ++x) {
    Real const q = gz * gx[x] * bar[x];
    gain[x] += q * laplacian((u - 1)[x], (u + 1)[x], above[x], below[x], u[x]);
    to[x] = m[x] * q;
  }
}
/// first += 2 q + L (m q), second = -g q.
template <class Real>
void pull_row(std::size_t nx, Real gz, Real const* __restrict gx, Real const* __restrict above,
              Real const* __restrict here, Real const* __restrict below, Real* __restrict first,
              Real* __restrict second) {
  for (std::size_t x = 0; x < nx; ++x) {
    Real const g = gz * gx[x], q = g * second[x];
    first[x] += 2 * q + laplacian((here - 1)[x], (here + 1)[x], above[x], below[x], here[x]);
    second[x] = -g * q;
  }
}

}  // namespace detail

/// Pulls (before, now), the adjoint of (u, w), back to the adjoint of (u, p): `before` becomes that of u, `now` that of
/// p. \param u  the state's pressure   \param sensitivity  the gradient with respect to m is added to it
template <class Real>
[[gnu::noinline]] void leapfrog_adjoint(medium<Real> const& ground, Real const* u, Real* before, Real* now,
                                        Real* sensitivity, adjoint_rows<Real>& rows) {
  auto const nx = ground.grid.nx, nz = ground.grid.nz;
  Real const* const gx = ground.damping_x.data();
  auto const scale = [&](std::size_t z) {
    auto const k = z * nx;
    now[k] = now[k + nx - 1] = 0;  // the rim of w is 0 for any state
    detail::scale_row(nx, ground.damping_z[z], gx, &ground.courant2[k], now + k, u + k, u + k - nx, u + k + nx,
                      sensitivity + k, rows[z]);
  };
  auto const add_to_rim = [&](std::size_t z, Real const* next) {  // L reads the rim, and nothing else does
    for (std::size_t x = 0; x < nx; ++x) before[z * nx + x] += next[x];
    std::fill_n(now + z * nx, nx, Real(0));
  };
  std::fill_n(rows[0], nx, Real(0));
  scale(1);
  add_to_rim(0, rows[1]);
  for (std::size_t z = 1; z + 1 < nz; ++z) {
    if (z + 2 < nz) scale(z + 1);
    else std::fill_n(rows[z + 1], nx, Real(0));
    detail::pull_row(nx, ground.damping_z[z], gx, rows[z - 1], rows[z], rows[z + 1], before + z * nx, now + z * nx);
  }
  add_to_rim(nz - 1, rows[nz - 2]);
}

}  // namespace seismic
