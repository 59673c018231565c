// SPDX-License-Identifier: Apache-2.0
// Products of the Hessian from a model, without an adjoint: a tool differentiates the derivative along a direction,
// which the model computes over a scalar with a slope. And rings as states of a model.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>
#include <cairn/adapt/ad.hpp>
#include <cairn/cairn.hpp>
#include <cairn/core/ring.hpp>
#include <cairn/run/with/jumps.hpp>
#include "support/catch.hpp"

namespace ad_test {

using cairn::step_index;
using std::sin;

/// A number and its derivative along one direction, over the scalar of any tool.
template <class T>
struct dual {
  T value{}, slope{};
};
template <class T>
dual<T> operator+(dual<T> const& a, dual<T> const& b) {
  return {a.value + b.value, a.slope + b.slope};
}
template <class T>
dual<T> operator-(dual<T> const& a, dual<T> const& b) {
  return {a.value - b.value, a.slope - b.slope};
}
template <class T>
dual<T> operator*(dual<T> const& a, dual<T> const& b) {
  return {a.value * b.value, a.slope * b.value + a.value * b.slope};
}
template <class T> dual<T> operator*(double a, dual<T> const& b) { return {a * b.value, a * b.slope}; }
template <class T> dual<T> sin(dual<T> const& a) {
  using std::cos;
  return {sin(a.value), cos(a.value) * a.slope};
}


// Sacado's numbers are assigned from what is not const, so that a struct of them cannot be assigned.
template <class T> void set(T& x, std::type_identity_t<T> y) { x = y; }
template <class T> void set(dual<T>& x, dual<T> y) { x.value = y.value, x.slope = y.slope; }

struct swings {
  template <class T, class P>
  void operator()(std::vector<T>& x, P const& p, step_index i) const {
    for (std::size_t k = 0; k + 1 < x.size(); ++k) {
      set(x[k], x[k] + (0.1 + 0.001 * double(i % 3)) * (p[0] * sin(x[k + 1])));
      set(x[k + 1], x[k + 1] - 0.1 * (x[k] * x[k + 1]));
    }
  }
};
inline constexpr auto squares = []<class T>(std::vector<T> const& x) {
  T sum = 0.5 * (x[0] * x[0]);
  for (std::size_t k = 1; k < x.size(); ++k) set(sum, sum + 0.5 * (x[k] * x[k]));
  return sum;
};
inline constexpr auto slope_of_squares = []<class T>(std::vector<dual<T>> const& x) -> T { return squares(x).slope; };

struct leapfrog {
  template <class T>
  void operator()(cairn::ring<std::vector<T>, 2>& x, step_index) const {
    x.rotate();
    for (std::size_t k = 0; k < x[0].size(); ++k) x[0][k] = x[0][k] + 0.1 * sin(x[1][k]);
  }
};

template <class Tape>
void hessian_products() {
  using state = std::vector<double>;
  step_index const n = 30;
  state const u{0.3, -0.2, 0.5, 0.9}, v{1, -0.5, 0.25, 2};
  std::array<double, 1> const p{0.8};
  auto const gradient = [&](double by) {
    state x = u;
    for (std::size_t k = 0; k < x.size(); ++k) x[k] += by * v[k];
    return cairn::differentiate(Tape{}, swings{}, x, std::array{p[0] - by}, cairn::leaves{n, 4, cairn::revolve{8, 3}},
                                squares);
  };
  std::vector<dual<double>> x;
  for (std::size_t k = 0; k < u.size(); ++k) x.push_back({u[k], v[k]});
  std::array const directed{dual<double>{p[0], -1}};
  auto const along = [&](auto const& plan) {
    return cairn::differentiate(Tape{}, swings{}, x, directed, plan, slope_of_squares);
  };
  auto const got = along(cairn::leaves{n, 4, cairn::revolve{8, 3}});
  auto const here = gradient(0), up = gradient(1e-5), down = gradient(-1e-5);
  for (std::size_t k = 0; k < u.size(); ++k) {
    CHECK(got.state[k].value == Approx((up.state[k] - down.state[k]) / 2e-5).epsilon(1e-7));
    CHECK(got.state[k].slope == Approx(here.state[k]).epsilon(1e-13));
  }
  CHECK(got.params[0].value == Approx((up.params[0] - down.params[0]) / 2e-5).epsilon(1e-7));
  CHECK(got.params[0].slope == Approx(here.params[0]).epsilon(1e-13));
  auto const all = along(cairn::store_all(n));
  for (std::size_t k = 0; k < u.size(); ++k) CHECK(got.state[k].value == Approx(all.state[k].value).epsilon(1e-13));
}

template <class Tape>
void rings() {
  using state = cairn::ring<std::vector<double>, 2>;
  state const x0{std::vector{0.3, 0.5}, std::vector{0.29, 0.48}};
  auto const by_hand = [](state const& x, state& bar) {
    for (std::size_t k = 0; k < 2; ++k) bar[1][k] += 0.1 * std::cos(x[0][k]) * bar[0][k];
    bar.rotate_back();
  };
  state const seed{std::vector{1.0, 2.0}, std::vector{0.0, 0.0}};
  auto const expected = cairn::gradient(leapfrog{}, x0, cairn::store_all(40), seed, by_hand);
  cairn::taped t{Tape{}, leapfrog{}};
  for (step_index const leaf : {1, 3, 40}) {
    auto const bar =
        cairn::gradient(t.step, x0, cairn::leaves{40, leaf, cairn::revolve{(39 + leaf) / leaf, 3}}, seed, t.adjoint);
    for (std::size_t age = 0; age < 2; ++age)
      for (std::size_t k = 0; k < 2; ++k) CHECK(bar[age][k] == Approx(expected[age][k]).epsilon(1e-13));
  }
}

/// Jumps between the steps of a model: the tool records each run of steps between two of them.
template <class Tape>
void jumps() {
  using state = cairn::ring<std::vector<double>, 2>;
  state const x0{std::vector{0.3, 0.5}, std::vector{0.29, 0.48}}, seed{std::vector{1.0, 2.0}, std::vector{0.0, 0.0}};
  auto const square = [](state& x) { x[0][0] *= x[0][0]; };
  auto const square_back = [](state const& x, state& bar) { bar[0][0] *= 2 * x[0][0]; };
  auto const by_hand = [](state const& x, state& bar, step_index) {
    for (std::size_t k = 0; k < 2; ++k) bar[1][k] += 0.1 * std::cos(x[0][k]) * bar[0][k];
    bar.rotate_back();
  };
  auto const kick = cairn::jump_at(7, square, square_back);
  auto const last = cairn::jump_after(39, square, square_back);
  cairn::with_jumps const expected_loop{leapfrog{}, by_hand, kick, last};
  auto const expected = cairn::gradient(expected_loop.step, x0, cairn::store_all(40), seed, expected_loop.adjoint);
  cairn::taped t{Tape{}, leapfrog{}};
  cairn::with_jumps const loop{t.step, t.adjoint, kick, last};
  for (step_index const leaf : {1, 3, 40}) {
    auto const bar = cairn::gradient(loop.step, x0, cairn::leaves{40, leaf, cairn::revolve{(39 + leaf) / leaf, 3}},
                                     seed, loop.adjoint);
    for (std::size_t age = 0; age < 2; ++age)
      for (std::size_t k = 0; k < 2; ++k) CHECK(bar[age][k] == Approx(expected[age][k]).epsilon(1e-13));
  }
}

}  // namespace ad_test
