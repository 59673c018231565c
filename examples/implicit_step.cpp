// SPDX-License-Identifier: Apache-2.0
// An implicit step, whose adjoint needs the state after the step.
//
// A front moves along a line: u_t = D u_xx - c u_x + r u (1 - u), by the trapezoidal rule. Each step solves
//     F(x, x1) = x1 - x - dt/2 (f(x) + f(x1)) = 0
// for x1 by Newton's method. No iteration of it is differentiated: F = 0 says that (1 - dt/2 f'(x1)) dx1 = (1 + dt/2
// f'(x)) dx, so the adjoint solves one system with the transposed matrix at x1. `adjoint(x, x1, bar, i)` is given x1;
// Newton's method does not run again for it.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>

#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>

using cairn::step_index;
constexpr std::size_t cells = 60;
constexpr double dt = 0.05, dx = 1.0 / 6;
using field = std::array<double, cells>;

/// A tridiagonal matrix; row k is lower[k], diagonal[k], upper[k].
struct tridiagonal {
  field lower{}, diagonal{}, upper{};

  [[nodiscard]] field times(field const& v) const {
    field out;
    for (std::size_t k = 0; k < cells; ++k)
      out[k] = diagonal[k] * v[k] + (k > 0 ? lower[k] * v[k - 1] : 0) + (k + 1 < cells ? upper[k] * v[k + 1] : 0);
    return out;
  }
  [[nodiscard]] tridiagonal transposed() const {
    tridiagonal out{{}, diagonal, {}};
    for (std::size_t k = 0; k + 1 < cells; ++k) out.lower[k + 1] = upper[k], out.upper[k] = lower[k + 1];
    return out;
  }
  /// Gaussian elimination; there is no need for pivots where the diagonal dominates.
  [[nodiscard]] field solve(field v) const {
    field pivot = diagonal;
    for (std::size_t k = 1; k < cells; ++k) {
      double const factor = lower[k] / pivot[k - 1];
      pivot[k] -= factor * upper[k - 1];
      v[k] -= factor * v[k - 1];
    }
    for (std::size_t k = cells; k-- > 0;) v[k] = (v[k] - (k + 1 < cells ? upper[k] * v[k + 1] : 0)) / pivot[k];
    return v;
  }
};

struct front {
  double diffusion = 0.3, speed = 0.4, growth = 1.0;

  /// f(u) at time t: what flows in at the left end changes in time, and nothing comes from the right.
  [[nodiscard]] field rate(field const& u, double t) const {
    field f;
    for (std::size_t k = 0; k < cells; ++k) {
      double const left = k > 0 ? u[k - 1] : 0.5 + 0.3 * std::sin(t), right = k + 1 < cells ? u[k + 1] : u[k];
      f[k] =
          diffusion * (left - 2 * u[k] + right) / (dx * dx) - speed * (u[k] - left) / dx + growth * u[k] * (1 - u[k]);
    }
    return f;
  }
  /// 1 + a f'(u)
  [[nodiscard]] tridiagonal one_plus(double a, field const& u) const {
    double const spread = diffusion / (dx * dx), carried = speed / dx;
    tridiagonal m;
    for (std::size_t k = 0; k < cells; ++k) {
      m.lower[k] = a * (spread + carried);
      m.upper[k] = a * spread;
      m.diagonal[k] = 1 + a * (-(k + 1 < cells ? 2 : 1) * spread - carried + growth * (1 - 2 * u[k]));
    }
    return m;
  }

  void step(field& x, step_index i) const {
    double const t = dt * double(i);
    field const known = rate(x, t);
    field x1 = x;
    double size = 1;
    for (int newton = 0; newton < 50 && size > 1e-13; ++newton) {
      field const unknown = rate(x1, t + dt);
      field residual;
      for (std::size_t k = 0; k < cells; ++k) residual[k] = x1[k] - x[k] - dt / 2 * (known[k] + unknown[k]);
      field const change = one_plus(-dt / 2, x1).solve(residual);
      size = 0;
      for (std::size_t k = 0; k < cells; ++k) {
        x1[k] -= change[k];
        size = std::max(size, std::abs(change[k]));
      }
    }
    x = x1;
  }

  void adjoint(field const& x, field const& x1, field& bar, double& growth_bar) const {
    field const multiplier = one_plus(-dt / 2, x1).transposed().solve(bar);
    bar = one_plus(dt / 2, x).transposed().times(multiplier);
    for (std::size_t k = 0; k < cells; ++k)
      growth_bar += dt / 2 * (x[k] * (1 - x[k]) + x1[k] * (1 - x1[k])) * multiplier[k];
  }
};

/// The step and its adjoint with the front's numbers as parameters; only the growth is differentiated.
struct trapezoidal_rule {
  void step(field& x, front const& p, step_index i) const { p.step(x, i); }
  void adjoint(field const& x, field const& x1, field& bar, front const& p, front& by_p, step_index) const {
    p.adjoint(x, x1, bar, by_p.growth);
  }
};

/// Half the square of a state.
struct half_square {
  double value(field const& u) const {
    double sum = 0;
    for (double v : u) sum += v * v / 2;
    return sum;
  }
  void add_gradient(field const& u, field& bar) const {
    for (std::size_t k = 0; k < cells; ++k) bar[k] += u[k];
  }
};

auto evaluate(front const& model, field const& x0, cairn::any_schedule const& plan) {
  return cairn::differentiate(trapezoidal_rule{}, x0, model, plan, cairn::at_end(half_square{}));
}

int main() {
  step_index const n = 100;
  front const model;
  field x0{};
  for (std::size_t k = 0; k < cells / 6; ++k) x0[k] = 1 - 0.08 * double(k);
  cairn::any_schedule const plan = cairn::revolve{n, 6};

  double ignored = 0;
  auto const step = [&](field& x, step_index i) { model.step(x, i); };
  auto const adjoint = [&](field const& x, field const& x1, field& bar, step_index) {
    model.adjoint(x, x1, bar, ignored);
  };
  auto const report = cairn::check_adjoint(step, adjoint, x0, n);
  std::printf("%s\n", report.text().c_str());

  auto const got = evaluate(model, x0, plan);
  auto const all = evaluate(model, x0, cairn::store_all(n));
  bool const same = got.value == all.value && got.state == all.state && got.params.growth == all.params.growth;
  std::printf("half the square of the final state %.12f, d/d growth %.12f\n", got.value, got.params.growth);
  std::printf("same bits as with every state kept: %s\n", same ? "yes" : "no");

  // Central differences, for the growth and for some numbers of the initial state.
  bool close = true;
  auto const compare = [&](char const* what, double up, double down, double h, double exact) {
    double const difference = (up - down) / (2 * h);
    std::printf("by %s: adjoint %.10f, differences %.10f\n", what, exact, difference);
    close = close && std::abs(difference - exact) < 1e-7 * (1 + std::abs(exact));
  };
  double const h = 1e-5;
  auto const with_growth = [&](double growth) { return evaluate({.growth = growth}, x0, plan).value; };
  compare("the growth", with_growth(model.growth + h), with_growth(model.growth - h), h, got.params.growth);
  for (std::size_t const k : {std::size_t{0}, std::size_t{7}, cells / 2}) {
    auto const with = [&](double by) {
      field moved = x0;
      moved[k] += by;
      return evaluate(model, moved, plan).value;
    };
    compare("one initial number", with(h), with(-h), h, got.state[k]);
  }
  return report.passed() && same && close ? 0 : 1;
}
