// SPDX-License-Identifier: Apache-2.0
// Second derivatives: a step and an adjoint that are templates of their scalar, over a scalar that carries a derivative
// along one direction.
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/core/ring.hpp>
#include <cairn/run/with/each_bar.hpp>
#include <cairn/run/with/jumps.hpp>
#include "support/catch.hpp"
#include "support/dual.hpp"
#include "support/plans.hpp"

using cairn::any_schedule;
using cairn::step_index;
namespace {

using std::cos;
using std::sin;

/// Coupled swings whose strength p is a parameter; J is half the sum of squares of the last state, and p times each sum
/// along the loop.
template <class T>
struct swings {
  using state = std::vector<T>;
  struct bar_type {
    state x;
    T p{};
  };
  T p{};

  void operator()(state& x, step_index i) const {
    for (std::size_t k = 0; k + 1 < x.size(); ++k) {
      x[k] += T(0.1) * p * sin(x[k + 1]) + T(0.01 * double(i % 3));
      x[k + 1] -= T(0.1) * x[k] * x[k + 1];
    }
  }
  auto adjoint() const {
    return [p = p](state const& before, bar_type& bar, step_index i) {
      state x = before;
      std::vector<std::array<T, 2>> passed;  // of each pair, what the first line reads and makes
      for (std::size_t k = 0; k + 1 < x.size(); ++k) {
        T const right = x[k + 1];
        x[k] += T(0.1) * p * sin(right) + T(0.01 * double(i % 3));
        x[k + 1] -= T(0.1) * x[k] * right;
        passed.push_back({right, x[k]});
      }
      for (std::size_t k = x.size() - 1; k-- > 0;) {
        auto const& [right, left] = passed[k];
        bar.x[k] -= T(0.1) * right * bar.x[k + 1];
        bar.x[k + 1] -= T(0.1) * left * bar.x[k + 1];
        bar.x[k + 1] += T(0.1) * p * cos(right) * bar.x[k];
        bar.p += T(0.1) * sin(right) * bar.x[k];
      }
      for (std::size_t k = 0; k < x.size(); ++k) {  // the objective along the loop
        bar.x[k] += p;
        bar.p += before[k];
      }
    };
  }
  static bar_type seed(state const& x) { return {x, T(0)}; }
};

using plain = swings<double>;
using directed = swings<dual::number>;
constexpr std::size_t size = 4;

/// The state and p, and a direction in both.
struct at {
  std::array<double, size + 1> u{0.3, -0.2, 0.5, 0.9, 0.8};
};
using direction = std::array<double, size + 1>;

auto gradient(at const& where, any_schedule const& plan) {
  plain const model{where.u[size]};
  auto const bar =
      cairn::gradient(model, plain::state(where.u.begin(), where.u.end() - 1), plan, plain::seed, model.adjoint());
  direction all{};
  for (std::size_t k = 0; k < size; ++k) all[k] = bar.x[k];
  all[size] = bar.p;
  return all;
}
/// The gradient, and its derivative along v.
auto gradient_along(at const& where, direction const& v, any_schedule const& plan) {
  directed const model{{where.u[size], v[size]}};
  directed::state x0;
  for (std::size_t k = 0; k < size; ++k) x0.emplace_back(where.u[k], v[k]);
  auto const bar = cairn::gradient(model, x0, plan, directed::seed, model.adjoint());
  std::array<dual::number, size + 1> all;
  for (std::size_t k = 0; k < size; ++k) all[k] = bar.x[k];
  all[size] = bar.p;
  return all;
}

constexpr direction v{1, -0.5, 0.25, 2, -1}, w{0.5, 1, -1, 0.1, 3};

}  // namespace

TEST_CASE(
    "a sweep over numbers with a slope gives the gradient, to the bit, and a product of the Hessian with a direction") {
  step_index const n = 30;
  at const where;
  auto const both = gradient_along(where, v, cairn::store_all(n));
  auto const values = gradient(where, cairn::store_all(n));
  for (std::size_t k = 0; k <= size; ++k) CHECK(both[k].value == values[k]);

  double const by = 1e-5;
  at up = where, down = where;
  for (std::size_t k = 0; k <= size; ++k) up.u[k] += by * v[k], down.u[k] -= by * v[k];
  auto const above = gradient(up, cairn::uniform{n}), below = gradient(down, cairn::uniform{n});
  for (std::size_t k = 0; k <= size; ++k)
    CHECK(both[k].slope == Approx((above[k] - below[k]) / (2 * by)).epsilon(1e-7));

  auto const other = gradient_along(where, w, cairn::store_all(n));  // the Hessian is symmetric
  double vw = 0, wv = 0;
  for (std::size_t k = 0; k <= size; ++k) vw += w[k] * both[k].slope, wv += v[k] * other[k].slope;
  CHECK(vw == Approx(wv).epsilon(1e-12));
}

TEST_CASE("products of the Hessian have the bits of storing everything for every plan") {
  std::size_t checked = 0;
  for (step_index const n : {0, 1, 2, 7, 20}) {
    auto const all = gradient_along({}, v, cairn::store_all(n));
    each_in_memory(n, [&](std::string const& name, auto const& typed) {
      INFO(name);
      any_schedule const plan{typed};
      if (plan.leaf() > 1 || tapes_of(plan) > 0 || tapes_restart(plan)) return;
      if (gradient_along({}, v, plan) != all) FAIL("another product");
      ++checked;
    });
  }
  CHECK(checked > 150);
}

TEST_CASE("the second derivative of a loop of one number is that of its recurrence") {
  auto const step = [](dual::number& x) { x = sin(x); };
  auto const adjoint = [](dual::number const& x, dual::number& bar) { bar *= cos(x); };
  auto const got = cairn::gradient(step, dual::number{2.1, 1}, cairn::revolve{20, 4}, dual::number{1}, adjoint);
  double x = 2.1, first = 1, second = 0;  // of x_i by x_0
  for (int i = 0; i < 20; ++i) {
    second = std::cos(x) * second - std::sin(x) * first * first;
    first *= std::cos(x);
    x = std::sin(x);
  }
  CHECK(got.value == Approx(first).epsilon(1e-14));
  CHECK(got.slope == Approx(second).epsilon(1e-12));
}

TEST_CASE("second derivatives go through rings, jumps and several bars") {
  auto const slopes = [](double by, double along) {
    using ring = cairn::ring<dual::number, 2>;
    auto const step = [](ring& x, step_index) { x.rotate() += 0.1 * sin(x[1]); };
    auto const adjoint = [](ring const& x, ring& bar, step_index) {
      bar[1] += 0.1 * cos(x[0]) * bar[0];
      bar.rotate_back();
    };
    auto const jump = cairn::jump_at(
        11, [](ring& x) { x[0] *= x[0]; }, [](ring const& x, ring& bar) { bar[0] *= 2.0 * x[0]; });
    auto const loop = cairn::with_jumps{step, adjoint, jump};
    ring const x0{dual::number{1 + by, along}, dual::number{0.5, 0}};
    auto const seed = [](ring const& x) { return std::array{ring{x[0], dual::number{}}, ring{dual::number{1}, x[1]}}; };
    return cairn::gradient(loop.step, x0, cairn::revolve{25, 3}, seed, cairn::each_bar(loop.adjoint));
  };
  auto const got = slopes(0, 1), up = slopes(1e-5, 0), down = slopes(-1e-5, 0);
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t age = 0; age < 2; ++age)
      CHECK(got[k][age].slope == Approx((up[k][age].value - down[k][age].value) / 2e-5).epsilon(1e-8));
}
