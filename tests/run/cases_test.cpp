// SPDX-License-Identifier: Apache-2.0
// Four problems whose gradients were found by other programs. Each schedule must give these numbers, and all of them
// the same bits.
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <cairn/run/gradient.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/uniform.hpp>
#include "support/catch.hpp"
#include "support/printed.hpp"

using cairn::step_index;

// The steps are kept out of line: an adjoint that runs one again must round as the sweep did, and a compiler that fuses
// products and sums may do so differently wherever it inlines.

namespace {

/// Calls run(plan) for every kind of plan over n steps, from all states kept to few.
template <class Run>
void on_plans(step_index n, Run run) {
  run(cairn::store_all(n));
  run(cairn::uniform{n});
  run(cairn::uniform{n, {.block = 7}});
  run(cairn::uniform{n, {.checkpoints = 3}});
  for (cairn::slot_index slots : {3, 10, 100}) run(cairn::revolve{n, slots});
  run(cairn::revolve{n, 8, {.free_initial = true}});
  run(cairn::any_schedule{cairn::revolve{n, 20}});
}

/// The first value seen is the one that all later ones must repeat.
template <class T>
struct always_the_same {
  std::optional<T> first;
  bool operator()(T const& value) {
    if (!first) first = value;
    return value == *first;
  }
};

using pair = std::array<double, 2>;

/// a + s b
pair plus(pair const& a, double s, pair const& b) { return {a[0] + s * b[0], a[1] + s * b[1]}; }

/// Predator and prey by the classic Runge-Kutta method; the gradient with respect to the rates gathers here.
struct lotka_volterra {
  static constexpr double h = 1e-3;
  std::array<double, 4> p = {1.5, 1, 3, 1};
  std::array<double, 4> p_bar = {};

  pair rate(pair const& u) const { return {p[0] * u[0] - p[1] * u[0] * u[1], -p[2] * u[1] + p[3] * u[0] * u[1]}; }

  [[gnu::noinline]] void step(pair& u) const {
    pair const k1 = rate(u), k2 = rate(plus(u, h / 2, k1)), k3 = rate(plus(u, h / 2, k2)), k4 = rate(plus(u, h, k3));
    for (std::size_t c = 0; c < 2; ++c) u[c] += h / 6 * (k1[c] + 2 * k2[c] + 2 * k3[c] + k4[c]);
  }

  pair rate_adjoint(pair const& u, pair const& v) {
    p_bar[0] += u[0] * v[0];
    p_bar[1] += -u[0] * u[1] * v[0];
    p_bar[2] += -u[1] * v[1];
    p_bar[3] += u[0] * u[1] * v[1];
    return {(p[0] - p[1] * u[1]) * v[0] + p[3] * u[1] * v[1], -p[1] * u[0] * v[0] + (-p[2] + p[3] * u[0]) * v[1]};
  }

  void adjoint(pair const& u, pair& bar) {
    pair const k1 = rate(u), u2 = plus(u, h / 2, k1);
    pair const k2 = rate(u2), u3 = plus(u, h / 2, k2);
    pair const k3 = rate(u3), u4 = plus(u, h, k3);
    pair const l = bar;
    pair const w4 = rate_adjoint(u4, {h / 6 * l[0], h / 6 * l[1]});
    pair const w3 = rate_adjoint(u3, {h / 3 * l[0] + h * w4[0], h / 3 * l[1] + h * w4[1]});
    pair const w2 = rate_adjoint(u2, {h / 3 * l[0] + h / 2 * w3[0], h / 3 * l[1] + h / 2 * w3[1]});
    pair const w1 = rate_adjoint(u, {h / 6 * l[0] + h / 2 * w2[0], h / 6 * l[1] + h / 2 * w2[1]});
    for (std::size_t c = 0; c < 2; ++c) bar[c] += w1[c] + w2[c] + w3[c] + w4[c];
  }
};

/// d/du of |1 - u|^2 / 2
pair distance_seed(pair const& u) { return {u[0] - 1, u[1] - 1}; }

struct lotka_volterra_result {
  pair u0_bar;
  std::array<double, 4> p_bar;
  bool operator==(lotka_volterra_result const&) const = default;
};

void check_lotka_volterra(lotka_volterra_result const& g) {
  CHECK_THAT(g.u0_bar[0], printed("2.995995082875237e-01"));
  CHECK_THAT(g.u0_bar[1], printed("-1.415181634440453e-02"));
  CHECK_THAT(g.p_bar[0], printed("6.219615855195461e-01"));
  CHECK_THAT(g.p_bar[1], printed("6.800140414788151e-02"));
  CHECK_THAT(g.p_bar[2], printed("1.691764639860737e-01"));
  CHECK_THAT(g.p_bar[3], printed("2.725606939379357e-01"));
}

/// Viscous Burgers' equation on a ring, forced by the step's number, with an objective that is summed up along the
/// loop.
constexpr std::size_t cells = 100;
constexpr double dt = 1e-3, dx = 1.0 / cells;

struct flow {
  std::array<double, cells> u = {};
  double J = 0;
  bool operator==(flow const&) const = default;
};

struct burgers {
  double nu = 0.01;
  double nu_bar = 0;

  static flow initial() {
    flow x;
    for (std::size_t k = 0; k < cells; ++k)
      x.u[k] = 1.0 + 0.5 * std::sin(2 * std::numbers::pi * (double(k) + 0.5) / double(cells));
    return x;
  }
  static std::size_t left(std::size_t k) { return k > 0 ? k - 1 : cells - 1; }
  static std::size_t right(std::size_t k) { return k + 1 < cells ? k + 1 : 0; }

  [[gnu::noinline]] void step(flow& x, step_index i) const {
    auto const u = x.u;
    for (std::size_t k = 0; k < cells; ++k) {
      std::size_t const l = left(k), r = right(k);
      x.u[k] =
          u[k] - (dt / (4 * dx)) * (u[r] * u[r] - u[l] * u[l]) + (nu * (dt / (dx * dx))) * (u[r] - 2.0 * u[k] + u[l]);
    }
    x.u[0] += dt * (0.5 * std::sin(0.01 * double(i)));
    x.J += dt * x.u[cells / 2] * x.u[cells / 2];
  }
  void adjoint(flow const& x, flow const& x1, flow& bar) {
    constexpr double a = dt / (4 * dx), d = dt / (dx * dx);
    auto const& u = x.u;
    auto lambda = bar.u;
    lambda[cells / 2] += bar.J * 2 * dt * x1.u[cells / 2];
    bar.u = {};
    for (std::size_t k = 0; k < cells; ++k) {
      std::size_t const l = left(k), r = right(k);
      bar.u[k] += lambda[k] * (1 - 2 * nu * d);
      bar.u[r] += lambda[k] * (-a * 2 * u[r] + nu * d);
      bar.u[l] += lambda[k] * (a * 2 * u[l] + nu * d);
      nu_bar += lambda[k] * d * (u[r] - 2 * u[k] + u[l]);
    }
  }
};

struct burgers_result {
  double J;
  flow bar0;
  double nu_bar;
  bool operator==(burgers_result const&) const = default;
};

void check_burgers(burgers_result const& g) {
  CHECK_THAT(g.J, printed("1.026556564798817e+01"));
  CHECK_THAT(g.bar0.u[0], printed("2.002589387316e-01"));
  CHECK_THAT(g.nu_bar, printed("-3.809702311369"));
}

/// What a scalar loop gives: its final state and the derivative of that.
struct scalar_result {
  double f = 0, df = 0;
  bool operator==(scalar_result const&) const = default;
};

}  // namespace

TEST_CASE("Lotka-Volterra has the reference gradient for states and rates, with every schedule") {
  always_the_same<lotka_volterra_result> same;
  on_plans(10'000, [&](auto const& plan) {
    CAPTURE(plan.slots());
    lotka_volterra model;
    auto const u0_bar = cairn::gradient([&](pair& u) { model.step(u); }, pair{1, 1}, plan, distance_seed,
                                        [&](pair const& u, pair& bar) { model.adjoint(u, bar); });
    lotka_volterra_result const g{u0_bar, model.p_bar};
    check_lotka_volterra(g);
    CHECK(same(g));
  });
}

TEST_CASE("Lotka-Volterra has the same bits where one adjoint call reverses many steps") {
  always_the_same<lotka_volterra_result> same;
  for (step_index const leaf : {1, 7, 100, 10'000}) {
    CAPTURE(leaf);
    lotka_volterra model;
    std::array<pair, 10'000> inside;
    auto const reverse_leaf = [&](pair const& u, pair& bar, step_index first, step_index last) {
      auto const length = std::size_t(last - first);
      inside[0] = u;
      for (std::size_t k = 1; k < length; ++k) model.step(inside[k] = inside[k - 1]);
      for (std::size_t k = length; k-- > 0;) model.adjoint(inside[k], bar);
    };
    cairn::leaves const plan{10'000, leaf, cairn::revolve{(10'000 + leaf - 1) / leaf, 12}};
    auto const u0_bar =
        cairn::gradient([&](pair& u) { model.step(u); }, pair{1, 1}, plan, distance_seed, cairn::leaf(reverse_leaf));
    lotka_volterra_result const g{u0_bar, model.p_bar};
    check_lotka_volterra(g);
    CHECK(same(g));
  }
}

TEST_CASE("Burgers has the reference objective and gradient for state and viscosity, with every schedule", "[long]") {
  always_the_same<burgers_result> same;
  on_plans(10'000, [&](auto const& plan) {
    CAPTURE(plan.slots());
    burgers model;
    double J = 0;
    auto const seed = [&](flow const& last) {
      J = last.J;
      return flow{.J = 1};
    };
    auto const bar0 =
        cairn::gradient([&](flow& x, step_index i) { model.step(x, i); }, burgers::initial(), plan, seed,
                        [&](flow const& x, flow const& x1, flow& bar, step_index) { model.adjoint(x, x1, bar); });
    burgers_result const g{J, bar0, model.nu_bar};
    check_burgers(g);
    CHECK(same(g));
  });
}

TEST_CASE("Burgers has the same bits whether its adjoint is given the next state or makes it") {
  auto const plan = cairn::revolve{10'000, 30};
  always_the_same<burgers_result> same;
  for (bool const given : {true, false}) {
    burgers model;
    double J = 0;
    auto const seed = [&](flow const& last) {
      J = last.J;
      return flow{.J = 1};
    };
    auto const step = [&](flow& x, step_index i) { model.step(x, i); };
    auto const takes_it = [&](flow const& x, flow const& x1, flow& bar, step_index) { model.adjoint(x, x1, bar); };
    auto const makes_it = [&](flow const& x, flow& bar, step_index i) {
      flow x1 = x;
      model.step(x1, i);
      model.adjoint(x, x1, bar);
    };
    auto const bar0 = given ? cairn::gradient(step, burgers::initial(), plan, seed, takes_it)
                            : cairn::gradient(step, burgers::initial(), plan, seed, makes_it);
    burgers_result const g{J, bar0, model.nu_bar};
    check_burgers(g);
    CHECK(same(g));
  }
}

TEST_CASE("a loop that reads the step's number is recomputed with the right numbers") {
  auto const rate = [](step_index i) { return std::cos(0.1 * double(i)); };
  always_the_same<scalar_result> same;
  on_plans(100, [&](auto const& plan) {
    CAPTURE(plan.slots());
    scalar_result g;
    auto const seed = [&](double const& last) {
      g.f = last;
      return 1.0;
    };
    g.df = cairn::gradient([&](double& y, step_index i) { y += 0.01 * rate(i) * y * y; }, 0.7, plan, seed,
                           [&](double const& y, double& bar, step_index i) { bar *= 1 + 2 * 0.01 * rate(i) * y; });
    CHECK_THAT(g.f, printed("0.676844113411678"));
    CHECK_THAT(g.df, printed("0.932477277969971"));
    CHECK(same(g));
  });
}

TEST_CASE("twenty times the sine has the reference value and derivative") {
  always_the_same<scalar_result> same;
  on_plans(20, [&](auto const& plan) {
    CAPTURE(plan.slots());
    scalar_result g;
    auto const seed = [&](double const& last) {
      g.f = last;
      return 1.0;
    };
    g.df = cairn::gradient([](double x) { return std::sin(x); }, 2.1, plan, seed,
                           [](double x, double& bar) { bar *= std::cos(x); });
    CHECK_THAT(g.f, printed("0.352416"));
    CHECK_THAT(g.df, printed("-0.0293573"));
    CHECK(same(g));
  });
}
