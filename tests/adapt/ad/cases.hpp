// SPDX-License-Identifier: Apache-2.0
#pragma once
// Three loops whose values are known from programs without cairn (a hand-written adjoint, and five AD tools), through
// any tape.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>
#include <cairn/adapt/ad.hpp>
#include <cairn/cairn.hpp>
#include "support/catch.hpp"

namespace ad_test {

using cairn::step_index;

/// x_(i+1) = x_i + 0.01 cos(0.1 i) x_i^2: a step that reads its index.
struct trap_model {
  template <class T>
  void operator()(std::vector<T>& x, step_index i) const {
    for (auto& v : x) v = v + 0.01 * std::cos(0.1 * double(i)) * v * v;
  }
};

template <class T>
struct burgers_state {
  std::array<T, 100> u{};
  T sum{};
  double dx = 0.01;
  int cells = 100;
};
template <class T>
struct viscosity {
  T nu{};
};
/// Viscous Burgers on 100 periodic cells with a forcing by the index; `sum` gathers the objective.
struct burgers_model {
  template <class T>
  void operator()(burgers_state<T>& x, viscosity<T> const& p, step_index i) const {
    constexpr double dt = 1e-3;
    std::size_t const n = std::size_t(x.cells);
    std::array<T, 100> v{};
    auto const& u = x.u;
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t const left = (k + n - 1) % n, right = (k + 1) % n;
      v[k] = u[k] - (dt / (4 * x.dx)) * (u[right] * u[right] - u[left] * u[left]) +
             (p.nu * (dt / (x.dx * x.dx))) * (u[right] - 2.0 * u[k] + u[left]);
    }
    v[0] += dt * 0.5 * std::sin(0.01 * double(i));
    x.sum += dt * v[n / 2] * v[n / 2];
    x.u = v;
  }
};
inline burgers_state<double> burgers_start() {
  burgers_state<double> x;
  for (std::size_t k = 0; k < 100; ++k)
    x.u[k] = 1 + 0.5 * std::sin(2 * 3.14159265358979323846 * (double(k) + 0.5) / 100);
  return x;
}

template <class T>
using populations = std::array<T, 2>;
template <class T>
using rates = std::array<T, 4>;
/// Lotka-Volterra by classic Runge-Kutta steps of 1e-3.
struct lotka_volterra {
  template <class T>
  void operator()(populations<T>& u, rates<T> const& p, step_index) const {
    constexpr double h = 1e-3;
    auto const f = [&p](populations<T> const& at) {
      return populations<T>{p[0] * at[0] - p[1] * at[0] * at[1], p[3] * at[0] * at[1] - p[2] * at[1]};
    };
    auto const ahead = [&u](double s, populations<T> const& k) {
      return populations<T>{u[0] + s * k[0], u[1] + s * k[1]};
    };
    populations<T> const k1 = f(u), k2 = f(ahead(h / 2, k1)), k3 = f(ahead(h / 2, k2)), k4 = f(ahead(h, k3));
    for (std::size_t j = 0; j < 2; ++j) u[j] += h / 6 * (k1[j] + 2.0 * k2[j] + 2.0 * k3[j] + k4[j]);
  }
};

inline bool near_to(double found, double known, double relative = 1e-12) {
  return std::abs(found - known) <= relative * std::abs(known);
}
template <class A>
bool same_bits(A const& a, A const& b) {
  bool same = true;
  std::vector<double> first, second;
  auto const of_first = [&first](double const* x, std::size_t n) { first.insert(first.end(), x, x + n); };
  auto const of_second = [&second](double const* x, std::size_t n) { second.insert(second.end(), x, x + n); };
  cairn::visit_numbers(a, of_first);
  cairn::visit_numbers(b, of_second);
  same = first.size() == second.size() && std::memcmp(first.data(), second.data(), first.size() * sizeof(double)) == 0;
  return same;
}
inline auto in_leaves(step_index steps, step_index leaf, cairn::slot_index slots) {
  return cairn::leaves(steps, leaf, cairn::revolve{(steps + leaf - 1) / leaf, slots});
}

template <class Tape>
void time_dependent_trap() {
  Tape tape;
  auto const last = [](auto const& x) { return x[0]; };
  auto const found = cairn::differentiate(tape, trap_model{}, std::vector<double>{0.7}, cairn::no_params{}, 100, last);
  CHECK(near_to(found.value, 0.676844113411678));
  CHECK(near_to(found.state[0], 0.932477277969971));
  for (cairn::slot_index const slots : {1, 2, 5, 100}) {
    auto const again = cairn::differentiate(tape, trap_model{}, std::vector<double>{0.7}, cairn::no_params{},
                                            cairn::revolve{100, slots}, last);
    CHECK(again.value == found.value);
    CHECK(same_bits(again.state, found.state));
    for (step_index const leaf : {2, 7, 100}) {
      auto const longer = cairn::differentiate(tape, trap_model{}, std::vector<double>{0.7}, cairn::no_params{},
                                               in_leaves(100, leaf, slots), last);
      CHECK(same_bits(longer.state, found.state));
    }
  }
}

template <class Tape>
void burgers() {
  cairn::taped loop{Tape{}, burgers_model{}, viscosity<double>{0.01},
                    cairn::at_end{[](auto const& x) { return x.sum; }}};
  auto const found = cairn::differentiate(loop, burgers_start(), in_leaves(10'000, 4, 22));
  CHECK(near_to(found.value, 1.026556564798817e+01));
  CHECK(near_to(found.state.u[0], 2.002589387316e-01));
  CHECK(near_to(found.params.nu, -3.809702311369));
  CHECK(found.state.sum == 1);
  CHECK((found.state.dx == 0.01 && found.state.cells == 100));
  CHECK(loop.tape_bytes() > 0);

  // the same objective as a running one, over a shorter loop, whatever the plan
  auto const running =
      cairn::at_every{1, []<class T>(burgers_state<T> const& x) -> T { return 1e-3 * x.u[50] * x.u[50]; }};
  cairn::taped two{Tape{}, burgers_model{}, viscosity<double>{0.01}, running};
  auto const whole = cairn::differentiate(loop, burgers_start(), 300);
  auto const sums = cairn::differentiate(two, burgers_start(), 300);
  CHECK(near_to(sums.value, whole.value));
  CHECK(near_to(sums.params.nu, whole.params.nu, 1e-11));
  CHECK(near_to(sums.state.u[7], whole.state.u[7], 1e-11));
  for (step_index const leaf : {1, 3, 64, 300})
    for (cairn::slot_index const slots : {1, 4}) {
      auto const again = cairn::differentiate(two, burgers_start(), in_leaves(300, leaf, slots));
      CHECK(again.value == sums.value);
      CHECK(same_bits(again.state, sums.state));
      CHECK(same_bits(again.params, sums.params));
    }
}

template <class Tape>
void lotka_volterra_case() {
  Tape tape;
  auto const miss = []<class T>(populations<T> const& u) -> T {
    return 0.5 * ((1.0 - u[0]) * (1.0 - u[0]) + (1.0 - u[1]) * (1.0 - u[1]));
  };
  populations<double> const x0{1, 1};
  rates<double> const p{1.5, 1, 3, 1};
  auto const found = cairn::differentiate(tape, lotka_volterra{}, x0, p, in_leaves(10'000, 10, 30), miss);
  CHECK(near_to(found.state[0], 2.995995082875237e-01, 1e-11));
  CHECK(near_to(found.state[1], -1.415181634440453e-02, 1e-11));
  rates<double> const known{6.219615855195461e-01, 6.800140414788151e-02, 1.691764639860737e-01, 2.725606939379357e-01};
  for (std::size_t k = 0; k < 4; ++k) CHECK(near_to(found.params[k], known[k], 1e-11));
}

}  // namespace ad_test
