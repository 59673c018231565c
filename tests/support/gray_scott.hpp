// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gray-Scott on a periodic square: two substances that diffuse and react, three parameters, and the misfit to
// observations of the second substance. The step is written once for any scalar; its adjoint is by hand.
#include <cmath>
#include <cstddef>
#include <vector>
#include <cairn/core/action.hpp>

namespace gray_scott {

template <class T> using field = std::vector<T>;  // u, then v
template <class T> struct rates { T feed, kill, spread; };

inline std::size_t side_of(std::size_t numbers) { return std::size_t(std::lround(std::sqrt(double(numbers) / 2))); }

/// The sum over the four neighbours of cell k, less four times its own value.
template <class T>
T laplace(T const* u, std::size_t k, std::size_t side) {
  std::size_t const c = k % side, row = k - c, cells = side * side;
  return u[(k + side) % cells] + u[(k + cells - side) % cells] + u[row + (c + 1) % side] +
         u[row + (c + side - 1) % side] - 4.0 * u[k];
}

struct step {
  template <class T>
  void operator()(field<T>& x, rates<T> const& p) const {
    std::size_t const side = side_of(x.size()), cells = side * side;
    field<T> const old = x;
    T const *u = old.data(), *v = u + cells;
    for (std::size_t k = 0; k < cells; ++k) {
      T const reacts = u[k] * v[k] * v[k];
      x[k] += p.spread * laplace(u, k, side) - reacts + p.feed * (1.0 - u[k]);
      x[cells + k] += 0.08 * laplace(v, k, side) + reacts - (p.feed + p.kill) * v[k];
    }
  }
};
struct step_back {
  void operator()(field<double> const& x, field<double>& bar, rates<double> const& p, rates<double>& dp) const {
    std::size_t const side = side_of(x.size()), cells = side * side;
    field<double> const old = bar;
    double const *u = x.data(), *v = u + cells, *by_u = old.data(), *by_v = by_u + cells;
    for (std::size_t k = 0; k < cells; ++k) {
      double const reacts = by_v[k] - by_u[k];
      bar[k] += p.spread * laplace(by_u, k, side) + reacts * v[k] * v[k] - p.feed * by_u[k];
      bar[cells + k] += 0.08 * laplace(by_v, k, side) + 2 * reacts * u[k] * v[k] - (p.feed + p.kill) * by_v[k];
      dp.feed += by_u[k] * (1 - u[k]) - by_v[k] * v[k];
      dp.kill -= by_v[k] * v[k];
      dp.spread += by_u[k] * laplace(u, k, side);
    }
  }
};

/// Every seventh cell is observed.
struct misfit {
  static double seen(std::size_t k, cairn::step_index i) {
    return 0.2 + 0.1 * std::sin(0.05 * double(k) + 0.01 * double(i));
  }
  template <class T, class P>
  T value(field<T> const& x, P const&, cairn::step_index i) const {
    std::size_t const cells = x.size() / 2;
    T sum = 0;
    for (std::size_t k = 0; k < cells; k += 7) {
      T const off = x[cells + k] - seen(k, i);
      sum += off * off / 2.0;
    }
    return sum;
  }
  template <class P>
  void add_gradient(field<double> const& x, field<double>& bar, P const&, P&, cairn::step_index i) const {
    std::size_t const cells = x.size() / 2;
    for (std::size_t k = 0; k < cells; k += 7) bar[cells + k] += x[cells + k] - seen(k, i);
  }
};

/// A square of the second substance in the middle.
inline field<double> start(std::size_t side) {
  std::size_t const cells = side * side;
  field<double> x(2 * cells, 0.0);
  for (std::size_t k = 0; k < cells; ++k) {
    std::size_t const r = k / side, c = k % side;
    bool const inside = 8 * r >= 3 * side && 8 * r < 5 * side && 8 * c >= 3 * side && 8 * c < 5 * side;
    x[k] = inside ? 0.5 : 1.0;
    x[cells + k] = inside ? 0.25 + 0.01 * std::sin(double(r * c)) : 0.0;
  }
  return x;
}
inline constexpr rates<double> at{0.04, 0.06, 0.16};

}  // namespace gray_scott
