// SPDX-License-Identifier: Apache-2.0
// A method of two steps, BDF2, over a ring of the last two states.
//
// Heat spreads along a rod and is lost, u_t = D u_xx - u^4. BDF2 solves for x1, given the last two states y and z,
//     a x1 - dt f(x1) = b y + c z,    a = 3/2, b = 2, c = -1/2; its first step is implicit Euler's, a = b = 1, c = 0
// by Newton's method. The adjoint solves one system with the transposed matrix, which is symmetric here, at x1: it is
// given the ring after the step, and Newton's method is not differentiated. x.rotate() of the step is bar.rotate_back()
// in the adjoint; neither copies a state.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/core/ring.hpp>
#include <cairn/run/check/check_adjoint.hpp>

using cairn::step_index;
using field = std::vector<double>;
using history = cairn::ring<field, 2>;

constexpr std::size_t cells = 50;
constexpr double dt = 0.02, dx = 0.1;

struct weights {
  double a, b, c;
};
constexpr weights at(step_index i) { return i == 0 ? weights{1, 1, 0} : weights{1.5, 2, -0.5}; }

struct rod {
  double spread = 0.05;

  [[nodiscard]] double laplace(field const& u, std::size_t k) const {
    return ((k > 0 ? u[k - 1] : u[k]) - 2 * u[k] + (k + 1 < cells ? u[k + 1] : u[k])) / (dx * dx);
  }
  /// v becomes the solution of (a - dt f'(u)) w = v, a symmetric tridiagonal system.
  void solve(double a, field const& u, field& v) const {
    double const beside = -dt * spread / (dx * dx);
    field pivot(cells);
    for (std::size_t k = 0; k < cells; ++k) {
      pivot[k] = a + 4 * dt * u[k] * u[k] * u[k] - beside * (k == 0 || k + 1 == cells ? 1 : 2);
      if (k == 0) continue;
      v[k] -= beside / pivot[k - 1] * v[k - 1];
      pivot[k] -= beside / pivot[k - 1] * beside;
    }
    for (std::size_t k = cells; k-- > 0;) v[k] = (v[k] - (k + 1 < cells ? beside * v[k + 1] : 0)) / pivot[k];
  }

  void step(history& x, step_index i) const {
    auto const [a, b, c] = at(i);
    field& next = x.rotate();  // its old content is the older of the last two states
    field known(cells), change(cells);
    for (std::size_t k = 0; k < cells; ++k) known[k] = b * x[1][k] + c * next[k];
    next = x[1];
    for (int newton = 0; newton < 8; ++newton) {
      for (std::size_t k = 0; k < cells; ++k)
        change[k] = a * next[k] - dt * (spread * laplace(next, k) - std::pow(next[k], 4)) - known[k];
      solve(a, next, change);
      for (std::size_t k = 0; k < cells; ++k) next[k] -= change[k];
    }
  }
  void adjoint(history const& x1, history& bar, step_index i, double& spread_bar) const {
    auto const [a, b, c] = at(i);
    field& lambda = bar.rotate_back();  // the bar of the new state; bar[0] is that of the state before it
    solve(a, x1[0], lambda);
    for (std::size_t k = 0; k < cells; ++k) {
      spread_bar += dt * laplace(x1[0], k) * lambda[k];
      bar[0][k] += b * lambda[k];
      lambda[k] *= c;  // the place of the oldest
    }
  }
};

/// The method with the rod's spread as its parameter.
struct backward_differences {
  void step(history& x, rod const& p, step_index i) const { p.step(x, i); }
  void adjoint(history const&, history const& x1, history& bar, rod const& p, rod& by_p, step_index i) const {
    p.adjoint(x1, bar, i, by_p.spread);
  }
};

/// Half the square of the temperature.
struct half_square {
  double value(history const& x) const {
    double sum = 0;
    for (double u : x[0]) sum += u * u / 2;
    return sum;
  }
  void add_gradient(history const& x, history& bar) const {
    for (std::size_t k = 0; k < cells; ++k) bar[0][k] += x[0][k];
  }
};

auto evaluate(rod const& model, history const& x0, cairn::any_schedule const& plan) {
  return cairn::differentiate(backward_differences{}, x0, model, plan, cairn::at_end(half_square{}));
}

int main() {
  step_index const n = 200;
  rod const model;
  field u0(cells);
  for (std::size_t k = 0; k < cells; ++k) u0[k] = k < cells / 3 ? 1 : 0.2;
  history const x0{u0, field(cells)};  // the first step does not read the older one

  auto const plan = cairn::revolve{n, 6};
  auto const cost = cairn::estimate(plan);
  auto const got = evaluate(model, x0, plan);
  auto const all = evaluate(model, x0, cairn::store_all(n));
  bool const same = got.value == all.value && got.state == all.state && got.params.spread == all.params.spread;
  std::printf("half the square of the final temperature %.12f, d/d spread %.12f\n", got.value, got.params.spread);
  std::printf("%lld rings of two states in memory; same bits as with every ring kept: %s\n",
              (long long)cost.peak_states, same ? "yes" : "no");

  double ignored = 0;
  auto const report = cairn::check_adjoint(
      [&](history& x, step_index i) { model.step(x, i); },
      [&](history const&, history const& x1, history& bar, step_index i) { model.adjoint(x1, bar, i, ignored); }, x0,
      40);
  std::printf("%s\n", report.text().c_str());
  double const by = 1e-6;
  double const difference =
      (evaluate({model.spread + by}, x0, plan).value - evaluate({model.spread - by}, x0, plan).value) /
      (2 * by);
  std::printf("d/d spread: adjoint %.9f, differences %.9f\n", got.params.spread, difference);
  return same && report.passed() && std::abs(difference - got.params.spread) < 1e-7 ? 0 : 1;
}
