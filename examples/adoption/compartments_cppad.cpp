// SPDX-License-Identifier: Apache-2.0
// A drug in two compartments: it leaves the gut for the blood at one rate, and the blood at another. Both rates are
// found from five samples of the blood, by the classic Runge-Kutta method over 20,000 steps and gradients from CppAD,
// whose tape of the whole loop is the way without checkpoints.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <cairn/adapt/ad.hpp>
#include <cairn/adapt/cppad.hpp>
#include <cairn/schedule/leaves.hpp>

#include "../support/child.hpp"
#include "usage.hpp"

namespace {

constexpr int n = 20'000, sampled_every = 4'000;
constexpr double dt = 2.5 / n, dose = 1;

template <class T> using amounts = std::array<T, 2>;  // in the gut, in the blood
template <class T> using rates = std::array<T, 2>;    // of absorption, of clearance

/// The model, as the program has it.
struct runge_kutta {
  template <class T>
  static amounts<T> change(amounts<T> const& y, rates<T> const& p) {
    return {-p[0] * y[0], p[0] * y[0] - p[1] * y[1]};
  }
  template <class T>
  static amounts<T> plus(amounts<T> const& y, double s, amounts<T> const& k) {
    return {y[0] + s * k[0], y[1] + s * k[1]};
  }
  template <class T>
  void operator()(amounts<T>& y, rates<T> const& p) const {
    auto const k1 = change(y, p), k2 = change(plus(y, dt / 2, k1), p);
    auto const k3 = change(plus(y, dt / 2, k2), p), k4 = change(plus(y, dt, k3), p);
    for (std::size_t c = 0; c < 2; ++c) y[c] += dt / 6 * (k1[c] + 2.0 * k2[c] + 2.0 * k3[c] + k4[c]);
  }
};

/// What is in the blood at a time, for rates that differ.
double in_blood(rates<double> const& p, double time) {
  return dose * p[0] / (p[1] - p[0]) * (std::exp(-p[0] * time) - std::exp(-p[1] * time));
}
constexpr rates<double> truth{1.5, 0.4}, guess{1.2, 0.6};

/// How far the blood is from the sample after step i - 1.
struct misfit {
  template <class T>
  T operator()(amounts<T> const& y, rates<T> const&, cairn::step_index i) const {
    T const off = y[1] - in_blood(truth, dt * double(i));
    return off * off;
  }
};

struct answer {
  double value = 0;
  rates<double> by_rates{};
};

/// One tape of CppAD over the whole loop.
answer by_whole_tape(rates<double> const& p) {
  using number = CppAD::AD<double>;
  std::vector<number> in{p[0], p[1]}, out(1);
  CppAD::Independent(in);
  amounts<number> y{dose, 0};
  for (int i = 0; i < n; ++i) {
    runge_kutta{}(y, rates<number>{in[0], in[1]});
    if ((i + 1) % sampled_every == 0) out[0] += misfit{}(y, rates<number>{in[0], in[1]}, i + 1);
  }
  double const value = CppAD::Value(CppAD::Var2Par(out[0]));
  CppAD::ADFun<double> loop(in, out);
  auto const gradient = loop.Reverse(1, std::vector<double>{1});
  return {value, {gradient[0], gradient[1]}};
}

/// The same, a few steps at a time: an object, whose memory stays from gradient to gradient.
class by_cairn {
 public:
  explicit by_cairn(cairn::any_schedule plan) : plan_{std::move(plan)} {}
  answer operator()(rates<double> const& p) {
    loop.params() = p;
    auto const [value, by_start, by_rates] = cairn::differentiate(loop, amounts<double>{dose, 0}, plan_);
    return {value, by_rates};
  }

 private:
  cairn::taped<cairn::cppad_tape, runge_kutta, rates<double>, cairn::at_every<misfit>> loop{
      cairn::cppad_tape{}, runge_kutta{}, guess, cairn::at_every{sampled_every, misfit{}}};
  cairn::any_schedule plan_;
};

/// Steps against the gradient, as long as the last two gradients say (Barzilai and Borwein 1988).
template <class Gradient>
rates<double> fit(Gradient gradient) {
  rates<double> p = guess, last_p{}, last_g{};
  for (int round = 0; round < 60; ++round) {
    auto const g = gradient(p).by_rates;
    double length = 0.5, along = 0, across = 0;
    for (std::size_t k = 0; k < 2; ++k) {
      along += (p[k] - last_p[k]) * (p[k] - last_p[k]);
      across += (p[k] - last_p[k]) * (g[k] - last_g[k]);
    }
    if (along == 0) break;
    if (round > 0 && across > 0) length = along / across;
    last_p = p, last_g = g;
    for (std::size_t k = 0; k < 2; ++k) p[k] -= length * g[k];
  }
  return p;
}

/// Works in a child process, which leaves no tape behind.
template <class Work>
answer alone(char const* what, Work work) {
  auto const bytes = support::run_in_child([&] {
    auto const [found, took] = measured(work);
    std::printf("%-22s by absorption %.12g, by clearance %.12g: %.3f s, %.1f MB\n", what, found.by_rates[0],
                found.by_rates[1], took.seconds, took.megabytes);
    std::fflush(stdout);
    auto const* const from = reinterpret_cast<std::byte const*>(&found);
    return std::vector<std::byte>(from, from + sizeof found);
  });
  answer found{};
  if (bytes) std::copy(bytes->begin(), bytes->end(), reinterpret_cast<std::byte*>(&found));
  return found;
}

}  // namespace

int main() {
  auto const whole = alone("one tape of CppAD", [] { return by_whole_tape(guess); });
  bool good = whole.value > 0;
  answer first{};
  for (cairn::slot_index const slots : {5, 20, 200}) {
    auto const plan = cairn::leaves(n, 16, cairn::revolve{n / 16, slots});
    auto const found = alone((std::to_string(slots) + " checkpoints").c_str(), [&] { return by_cairn{plan}(guess); });
    if (slots == 5) first = found;
    good = good && found.by_rates == first.by_rates && std::abs(found.value - whole.value) < 1e-14;
    for (std::size_t k = 0; k < 2; ++k)
      good = good && std::abs(found.by_rates[k] - whole.by_rates[k]) < 1e-12 * std::abs(whole.by_rates[k]);
  }
  auto const found = fit(by_cairn{cairn::leaves(n, 16, cairn::revolve{n / 16, 200})});
  std::printf("the rates are %.6f and %.6f\n", found[0], found[1]);
  for (std::size_t k = 0; k < 2; ++k) good = good && std::abs(found[k] - truth[k]) < 1e-6;
  std::printf("same bits for every number of checkpoints, and the gradient of one tape to 1e-12: %s\n",
              good ? "yes" : "no");
  return good ? 0 : 1;
}
