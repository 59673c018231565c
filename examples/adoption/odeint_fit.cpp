// SPDX-License-Identifier: Apache-2.0
// Hares and lynxes: which rates of growth explain what was counted? Boost.odeint integrates with steps that choose
// their own size, and lands on the times of the counts. Its stepper is a template over the state, so the same stepper
// over the number of ADOL-C gives the adjoint of a step: nothing is derived by hand. The loop keeps twelve checkpoints
// whatever its length, and the sizes that were chosen once are used again.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <boost/numeric/odeint.hpp>

#include <cairn/adapt/ad.hpp>
#include <cairn/adapt/adolc.hpp>
#include <cairn/cairn.hpp>
#include <cairn/run/while.hpp>
#include <cairn/run/with/adaptive.hpp>
#include <cairn/schedule/online.hpp>

namespace {

namespace odeint = boost::numeric::odeint;
template <class T> using animals = std::array<T, 2>;
template <class T> using rates = std::array<T, 4>;
template <class T> using cash_karp = odeint::runge_kutta_cash_karp54<animals<T>, double, animals<T>, double>;

constexpr int counts = 20;
constexpr double between = 0.5, last_time = counts * between, tolerance = 1e-9;

template <class T>
struct habitat {
  animals<T> u{};
  double t = 0;
};
using gradients = cairn::state_and_params<habitat<double>, rates<double>>;
/// What an accepted step leaves behind.
struct chosen {
  double h = 0, t1 = 0;
};

/// The equations, over any number.
template <class T>
struct equations {
  rates<T> const& p;
  void operator()(animals<T> const& u, animals<T>& du, double) const {
    du[0] = p[0] * u[0] - p[1] * u[0] * u[1];
    du[1] = p[2] * u[0] * u[1] - p[3] * u[1];
  }
};
/// One step of the size that `now` says.
struct one_step {
  chosen const* now;
  template <class T>
  void operator()(habitat<T>& x, rates<T> const& p, cairn::step_index) const {
    cash_karp<T>{}.do_step(equations<T>{p}, x.u, x.t, now->h);
    x.t = now->t1;
  }
};

/// The integration as the program has it without an adjoint: odeint tries sizes until one is good enough.
struct integration {
  rates<double> p;
  odeint::result_of::make_controlled<cash_karp<double>>::type control =
      odeint::make_controlled(tolerance, tolerance, cash_karp<double>{});
  double next = 0.01;

  chosen step(habitat<double>& x) {
    auto const to_count = between * (std::floor(x.t / between + 1e-9) + 1) - x.t;
    bool const lands = to_count <= next;
    auto h = lands ? to_count : next, tried = h;
    while (control.try_step(equations<double>{p}, x.u, x.t, h) == odeint::fail) tried = h;
    if (!lands || tried < to_count) next = h;
    else x.t = between * std::round(x.t / between);
    return {tried, x.t};  // not the difference of the times, which is rounded
  }
};

/// Which count state x belongs to, or none.
int count_at(double t) {
  auto const k = t / between;
  return k > 0.5 && std::abs(k - std::round(k)) < 1e-9 ? int(std::round(k)) : 0;
}

struct field_work {
  std::vector<animals<double>> counted;  // [1..counts]
  habitat<double> start{{2, 1}, 0};

  double miss(habitat<double> const& x) const {
    auto const k = count_at(x.t);
    if (k == 0) return 0;
    auto const &c = counted[std::size_t(k)], &u = x.u;
    return ((u[0] - c[0]) * (u[0] - c[0]) + (u[1] - c[1]) * (u[1] - c[1])) / 2;
  }
  void add_derivative(habitat<double> const& x, habitat<double>& bar) const {
    auto const k = count_at(x.t);
    if (k == 0) return;
    for (std::size_t j = 0; j < 2; ++j) bar.u[j] += x.u[j] - counted[std::size_t(k)][j];
  }

  struct answer {
    double miss = 0;
    rates<double> by_rates{};
    cairn::step_index steps = 0;
    bool operator==(answer const&) const = default;
  };
  template <class Plan>
  [[nodiscard]] answer evaluate(rates<double> const& p, Plan const& plan) const {
    answer found;
    chosen now;
    cairn::taped model{cairn::adolc_tape{}, one_step{&now}, p};
    integration program{p};
    cairn::adaptive loop{[&](habitat<double>& x) {
                           auto const c = program.step(x);
                           found.miss += miss(x);
                           return c;
                         },
                         [&](habitat<double>& x, chosen const& c) {
                           now = c;
                           model.step(x, 0);
                         }};
    auto const adjoint = loop.with_record([&](habitat<double> const& x, gradients& bar, chosen const& c) {
      now = c;
      model.step_adjoint(x, bar, 0);
    });
    auto const goes_on = [](habitat<double> const& x) { return x.t < last_time; };
    auto const seed = [&](habitat<double> const& x) {
      auto bar = model.bar(habitat<double>{});
      add_derivative(x, bar.state);
      return bar;
    };
    auto const counted_on_the_way = [&](habitat<double> const& x, gradients& bar, cairn::step_index) {
      add_derivative(x, bar.state);
    };
    auto run = cairn::checkpointed_while(loop.step(), start, goes_on, plan);
    found.steps = run.steps();
    found.by_rates = run.reverse(seed, cairn::hooked(adjoint, counted_on_the_way)).params;
    return found;
  }
};

}  // namespace

int main() {
  rates<double> const truth{1.5, 1, 1, 3};
  field_work work;
  {
    work.counted.assign(counts + 1, {});
    integration program{truth};
    for (auto x = work.start; x.t < last_time;) {
      program.step(x);
      if (auto const k = count_at(x.t); k > 0) work.counted[std::size_t(k)] = x.u;
    }
  }

  // The gradient, with any number of checkpoints, and against differences.
  rates<double> p{1.4, 1.1, 0.9, 3.2};
  cairn::online const plan{12};
  auto now = work.evaluate(p, plan);
  auto const stored = work.evaluate(p, cairn::online{cairn::slot_index(now.steps) + 1});
  bool const same = now == stored;
  std::printf("%d steps, 12 checkpoints: miss %.10g; same bits with all states kept: %s\n", int(now.steps), now.miss,
              same ? "yes" : "no");
  bool close = true;
  for (std::size_t k = 0; k < 4; ++k) {
    auto up = p, down = p;
    auto const h = 1e-5 * p[k];
    up[k] += h;
    down[k] -= h;
    auto const difference = (work.evaluate(up, plan).miss - work.evaluate(down, plan).miss) / (up[k] - down[k]);
    std::printf("by rate %zu: adjoint %.8f, differences %.8f\n", k, now.by_rates[k], difference);
    close = close && std::abs(difference - now.by_rates[k]) < 1e-4 * std::abs(now.by_rates[k]);
  }

  // Steepest descent with the length of Barzilai and Borwein (1988).
  double length = 1e-4;
  auto const first = now.miss;
  int rounds = 0;
  for (; rounds < 300 && now.miss > 1e-10 * first; ++rounds) {
    rates<double> moved;
    for (std::size_t k = 0; k < 4; ++k) moved[k] = p[k] - length * now.by_rates[k];
    auto const next = work.evaluate(moved, plan);
    if (!(next.miss < 4 * now.miss)) {
      length /= 4;
      continue;
    }
    double squares = 0, product = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      auto const s = moved[k] - p[k], y = next.by_rates[k] - now.by_rates[k];
      squares += s * s;
      product += s * y;
    }
    length = product > 0 ? squares / product : 2 * length;
    p = moved;
    now = next;
  }
  std::printf("miss %.3g after %d rounds, rates %.6f %.6f %.6f %.6f\n", now.miss, rounds, p[0], p[1], p[2], p[3]);
  bool found = true;
  for (std::size_t k = 0; k < 4; ++k) found = found && std::abs(p[k] - truth[k]) < 1e-3;
  return same && close && found ? 0 : 1;
}
