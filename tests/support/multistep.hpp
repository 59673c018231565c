// SPDX-License-Identifier: Apache-2.0
// Multi-step methods over rings of states, with the adjoint of each, and the same written without cairn and rings: all
// states in one list, and the bar of each.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/ring.hpp>

namespace multistep {

using cairn::ring;
using cairn::step_index;
using field = std::vector<double>;

constexpr double h = 0.05;

// Out of line, so that everybody runs the same instructions and may compare bits.

/// out = f(u): a loop of coupled numbers that turn and are damped.
[[gnu::noinline]] inline void rate(field const& u, field& out) {
  for (std::size_t k = 0; k < u.size(); ++k) out[k] = u[k + 1 < u.size() ? k + 1 : 0] - 0.5 * u[k] * u[k];
}
/// out += c * transposed derivative of f at u, times v
[[gnu::noinline]] inline void add_rate_back(field const& u, double c, field const& v, field& out) {
  for (std::size_t k = 0; k < u.size(); ++k) out[k] += c * (v[k > 0 ? k - 1 : u.size() - 1] - u[k] * v[k]);
}
/// out += c * v
[[gnu::noinline]] inline void add(double c, field const& v, field& out) {
  for (std::size_t k = 0; k < v.size(); ++k) out[k] += c * v[k];
}
[[gnu::noinline]] inline void scale(double c, field& out) {
  for (double& u : out) u *= c;
}

inline field start(std::size_t size) {
  field u(size);
  for (std::size_t k = 0; k < size; ++k) u[k] = 0.3 + 0.1 * double(k % 3);
  return u;
}
/// The derivative of half the sum of squares.
inline field seed(field const& u) { return u; }
inline double objective(field const& u) {
  double sum = 0;
  for (double const v : u) sum += v * v / 2;
  return sum;
}

/// y1 = y_-1 + 2 h f(y): Leapfrog. All memory is in the states.
struct leapfrog {
  using state = ring<field, 2>;
  static state start(std::size_t size) { return state{multistep::start(size), multistep::start(size)}; }
  static void advance(field const& y, field& oldest_to_next, field& rates) {
    rate(y, rates);
    add(2 * h, rates, oldest_to_next);
  }
  field rates;
  void operator()(state& x, step_index) {
    rates.resize(x[0].size());
    x.rotate();
    advance(x[1], x[0], rates);
  }
  /// As the step, from its end: what the last line adds to x[0] goes to the bar of x[1], and then the rotation.
  static void adjoint(state const& x, state& bar, step_index) {
    add_rate_back(x[0], 2 * h, bar[0], bar[1]);
    bar.rotate_back();
  }
  static state seed(state const& x) { return state{multistep::seed(x[0]), field(x[0].size())}; }

  /// By a list of all states and of all bars; the bar of both initial states.
  static state stored(step_index n, std::size_t size) {
    std::vector<field> y{multistep::start(size), multistep::start(size)};
    field rates(size);
    for (step_index i = 0; i < n; ++i) {
      field next = y[std::size_t(i)];
      advance(y[std::size_t(i) + 1], next, rates);
      y.push_back(next);
    }
    std::vector<field> bars(y.size(), field(size));
    bars.back() = multistep::seed(y.back());
    for (auto i = std::size_t(n); i-- > 0;) {
      add_rate_back(y[i + 1], 2 * h, bars[i + 2], bars[i + 1]);
      add(1, bars[i + 2], bars[i]);
    }
    return state{bars[1], bars[0]};
  }
};

/// Adams-Bashforth of two or three steps, started by Euler's: the state is y and the last rates.
template <std::size_t Order>
struct adams_bashforth {
  struct state {
    field y;
    ring<field, Order> rates;
    bool operator==(state const&) const = default;
  };
  static double weight(step_index i, std::size_t age) {
    static constexpr double euler[3] = {1, 0, 0}, two[3] = {1.5, -0.5, 0}, three[3] = {23.0 / 12, -16.0 / 12, 5.0 / 12};
    return (i == 0 ? euler : i == 1 || Order == 2 ? two : three)[age];
  }
  static state start(std::size_t size) {
    state x{multistep::start(size), {}};
    for (field& f : x.rates) f.resize(size);
    return x;
  }
  void operator()(state& x, step_index i) const {
    rate(x.y, x.rates.rotate());
    for (std::size_t age = 0; age < Order; ++age) add(h * weight(i, age), x.rates[age], x.y);
  }
  static void adjoint(state const& x, state& bar, step_index i) {
    for (std::size_t age = 0; age < Order; ++age) add(h * weight(i, age), bar.y, bar.rates[age]);
    field& newest = bar.rates.rotate_back();
    add_rate_back(x.y, 1, newest, bar.y);
    scale(0, newest);
  }
  static state seed(state const& x) {
    state bar = start(x.y.size());
    bar.y = multistep::seed(x.y);
    return bar;
  }
  /// Of y_0.
  static field stored(step_index n, std::size_t size) {
    std::vector<field> y{multistep::start(size)}, rates;
    for (step_index i = 0; i < n; ++i) {
      rates.emplace_back(size);
      rate(y.back(), rates.back());
      field next = y.back();
      for (std::size_t age = 0; age < Order && age <= std::size_t(i); ++age)
        add(h * weight(i, age), rates[std::size_t(i) - age], next);
      y.push_back(next);
    }
    field bar = multistep::seed(y.back());
    std::vector<field> rate_bars(rates.size(), field(size));
    for (auto i = std::size_t(n); i-- > 0;) {
      for (std::size_t age = 0; age < Order && age <= i; ++age)
        add(h * weight(step_index(i), age), bar, rate_bars[i - age]);
      add_rate_back(y[i], 1, rate_bars[i], bar);
    }
    return bar;
  }
};

/// BDF2 for y' = -y^3 + force, number by number: y1 - 4/3 y + 1/3 y_-1 = 2/3 h f(y1), started by the implicit Euler
/// rule.
struct bdf2 {
  using state = ring<field, 2>;
  static constexpr double two_thirds = 2.0 / 3;
  static state start(std::size_t size) { return state{multistep::start(size), multistep::start(size)}; }
  static double force(step_index i) { return std::sin(0.3 * double(i)); }
  /// Weights of y1's rate, y and y_-1.
  struct weights {
    double rate, now, before;
  };
  static weights at(step_index i) { return i == 0 ? weights{h, 1, 0} : weights{two_thirds * h, 4.0 / 3, -1.0 / 3}; }
  [[gnu::noinline]] static void solve(field const& y, field& before_to_next, step_index i) {
    auto const w = at(i);
    for (std::size_t k = 0; k < y.size(); ++k) {
      double const known = w.now * y[k] + w.before * before_to_next[k] + w.rate * force(i + 1);
      double u = y[k];
      for (int newton = 0; newton < 8; ++newton) u -= (u + w.rate * u * u * u - known) / (1 + 3 * w.rate * u * u);
      before_to_next[k] = u;
    }
  }
  /// lambda = bar / (1 + 3 rate y1^2)
  [[gnu::noinline]] static void multiplier(field const& y1, field& bar, step_index i) {
    for (std::size_t k = 0; k < bar.size(); ++k) bar[k] /= 1 + 3 * at(i).rate * y1[k] * y1[k];
  }
  void operator()(state& x, step_index i) const {
    x.rotate();
    solve(x[1], x[0], i);
  }
  static void adjoint(state const&, state const& x1, state& bar, step_index i) {
    field& lambda = bar.rotate_back();
    multiplier(x1[0], lambda, i);
    add(at(i).now, lambda, bar[0]);
    scale(at(i).before, lambda);
  }
  static state seed(state const& x) { return state{multistep::seed(x[0]), field(x[0].size())}; }
  static state stored(step_index n, std::size_t size) {
    std::vector<field> y{multistep::start(size), multistep::start(size)};
    for (step_index i = 0; i < n; ++i) {
      field next = y[std::size_t(i)];
      solve(y[std::size_t(i) + 1], next, i);
      y.push_back(next);
    }
    std::vector<field> bars(y.size(), field(size));
    bars.back() = multistep::seed(y.back());
    for (auto i = std::size_t(n); i-- > 0;) {
      multiplier(y[i + 2], bars[i + 2], step_index(i));
      add(at(step_index(i)).now, bars[i + 2], bars[i + 1]);
      add(at(step_index(i)).before, bars[i + 2], bars[i]);
    }
    return state{bars[1], bars[0]};
  }
};

}  // namespace multistep
