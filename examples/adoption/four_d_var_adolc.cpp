// SPDX-License-Identifier: Apache-2.0
// 4D-Var without an adjoint model: Lorenz's model of 1996, 40 numbers on a ring, written once for any number. Half of
// the numbers are observed every fifth step. The gradient by the initial state and by the forcing of every step comes
// from ADOL-C, a few steps at a time; it agrees with a tape of the whole loop, whose bytes are shown beside it.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <cairn/adapt/ad.hpp>
#include <cairn/adapt/adolc.hpp>
#include <cairn/cairn.hpp>

#include "../support/child.hpp"

namespace {

using cairn::step_index;
constexpr std::size_t cells = 40;
constexpr step_index n = 2'000, observed_every = 5;
constexpr double dt = 0.005, observation_error = 0.2;

template <class T> using field = std::array<T, cells>;

/// The model, as the program has it: the classic Runge-Kutta method, forced by u.
struct lorenz {
  template <class T>
  static field<T> rate(field<T> const& x, T const& forcing) {
    field<T> r;
    for (std::size_t k = 0; k < cells; ++k)
      r[k] = (x[(k + 1) % cells] - x[(k + cells - 2) % cells]) * x[(k + cells - 1) % cells] - x[k] + forcing;
    return r;
  }
  template <class T>
  static field<T> plus(field<T> const& a, double s, field<T> const& b) {
    field<T> sum;
    for (std::size_t k = 0; k < cells; ++k) sum[k] = a[k] + s * b[k];
    return sum;
  }
  template <class T>
  void operator()(field<T>& x, T const& forcing, step_index) const {
    auto const k1 = rate(x, forcing), k2 = rate(plus(x, dt / 2, k1), forcing);
    auto const k3 = rate(plus(x, dt / 2, k2), forcing), k4 = rate(plus(x, dt, k3), forcing);
    for (std::size_t k = 0; k < cells; ++k) x[k] += dt / 6 * (k1[k] + 2.0 * k2[k] + 2.0 * k3[k] + k4[k]);
  }
};

/// How far state i is from what was seen.
struct misfit {
  std::vector<field<double>> const* seen;  // of each fifth step
  template <class T>
  T operator()(field<T> const& x, cairn::no_params const&, step_index i) const {
    T sum = 0;
    auto const& at = (*seen)[std::size_t(i / observed_every)];
    for (std::size_t k = 0; k < cells; k += 2) {
      T const off = (x[k] - at[k]) / observation_error;
      sum += 0.5 * off * off;
    }
    return sum;
  }
};

/// A number between -1 and 1, the same on every machine.
double scatter(std::size_t k) { return std::sin(12.9898 * double(k) + 1.7 * double(k * k % 101)); }

/// The value and the gradient in one row, and the bytes of the longest tape.
std::vector<double> by_cairn(field<double> const& x0, std::vector<double> const& forcing,
                             std::vector<field<double>> const& seen, cairn::any_schedule const& plan) {
  cairn::taped loop{cairn::adolc_tape{}, lorenz{}, cairn::with_controls{cairn::no_params{}, forcing},
                    cairn::at_every{observed_every, misfit{&seen}}};
  auto const [value, by_state, by_controls] = cairn::differentiate(loop, x0, plan);
  std::vector<double> all{value};
  all.insert(all.end(), by_state.begin(), by_state.end());
  all.insert(all.end(), by_controls.controls.begin(), by_controls.controls.end());
  all.push_back(double(loop.tape_bytes()));
  return all;
}

/// One tape of ADOL-C over the whole loop; its bytes come last.
std::vector<double> by_whole_tape(field<double> const& x0, std::vector<double> const& forcing,
                                  std::vector<field<double>> const& seen) {
  constexpr short tag = 3;
  constexpr unsigned entries = 1u << 26;  // nothing goes to files
  trace_on(tag, 1, entries, entries, entries, entries);
  field<adouble> x;
  std::vector<adouble> controls(forcing.size());
  for (std::size_t k = 0; k < cells; ++k) x[k] <<= x0[k];
  for (std::size_t i = 0; i < forcing.size(); ++i) controls[i] <<= forcing[i];
  adouble sum = 0;
  misfit const miss{&seen};
  for (step_index i = 0; i < n; ++i) {
    lorenz{}(x, controls[std::size_t(i)], i);
    if ((i + 1) % observed_every == 0) sum += miss(x, cairn::no_params{}, i + 1);
  }
  std::vector<double> all(1 + cells + forcing.size());
  sum >>= all[0];
  trace_off();
  double seed = 1;
  fos_reverse(tag, 1, int(all.size()) - 1, &seed, all.data() + 1);
  std::size_t used[STAT_SIZE];
  tapestats(tag, used);
  all.push_back(double(used[NUM_OPERATIONS] + used[NUM_LOCATIONS] * sizeof(locint) +
                       (used[NUM_VALUES] + used[TAY_STACK_SIZE]) * sizeof(double)));
  return all;
}

/// Works in a child process, which leaves no tape behind.
std::vector<double> alone(auto work) {
  auto const bytes = support::run_in_child([&] {
    auto const found = work();
    auto const* const from = reinterpret_cast<std::byte const*>(found.data());
    return std::vector<std::byte>(from, from + found.size() * sizeof(double));
  });
  std::vector<double> found(bytes ? bytes->size() / sizeof(double) : 0);
  if (bytes) std::copy(bytes->begin(), bytes->end(), reinterpret_cast<std::byte*>(found.data()));
  return found;
}

}  // namespace

int main() {
  std::vector<double> forcing(std::size_t(n), 8), true_forcing;
  for (step_index i = 0; i < n; ++i) true_forcing.push_back(8 + 2 * std::sin(0.015 * double(i)));
  field<double> x;
  for (std::size_t k = 0; k < cells; ++k) x[k] = 8 + scatter(k);
  for (int spin_up = 0; spin_up < 2'000; ++spin_up) lorenz{}(x, 8.0, 0);
  auto x0 = x;
  for (std::size_t k = 0; k < cells; ++k) x0[k] += 0.01 * scatter(k + 500);
  std::vector<field<double>> seen;
  for (step_index i = 0; i <= n; ++i) {
    if (i % observed_every == 0) seen.push_back(x);
    if (i < n) lorenz{}(x, true_forcing[std::size_t(i)], i);
  }

  auto const whole = alone([&] { return by_whole_tape(x0, forcing, seen); });
  if (whole.empty()) return 1;
  auto const plan = cairn::leaves(n, 8, cairn::revolve{n / 8, 15});
  auto const found = by_cairn(x0, forcing, seen, plan);
  double worst = 0;
  for (std::size_t k = 0; k + 1 < found.size(); ++k)
    worst = std::max(worst, std::abs(found[k] - whole[k]) / std::max(1.0, std::abs(whole[k])));
  std::printf("misfit %.10g; largest difference from one tape of %d steps (%.0f MB): %.2g\n", found[0], int(n),
              whole.back() / 1e6, worst);
  std::printf("15 checkpoints of %zu bytes, and a tape of 8 steps (%.2f MB with its buffers)\n", sizeof x0,
              found.back() / 1e6);
  bool same = true;
  for (cairn::slot_index const slots : {2, 40}) {
    auto const again = by_cairn(x0, forcing, seen, cairn::leaves(n, 8, cairn::revolve{n / 8, slots}));
    std::printf("%2d checkpoints: %s\n", int(slots), again == found ? "same bits" : "another gradient");
    same = same && again == found;
  }
  return same && worst < 1e-9 ? 0 : 1;
}
