// SPDX-License-Identifier: Apache-2.0
// Where bodies that attract each other must start so that one of them ends where it should: the leapfrog method, whose
// steps run backwards.
//
// A leapfrog step is its own inverse with the time turned round, up to rounding. So the gradient of 20,000 steps needs no
// checkpoint and runs no step again: it goes back from the final state, and compares what it arrives at with the first.
// Bodies that come close to each other are chaotic, and rounding grows; `check_reversible` says how far a segment may go.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>

#include <cairn/cairn.hpp>
#include <cairn/run/check/check_reversible.hpp>
#include <cairn/run/with/reversible.hpp>
#include <cairn/schedule/segments.hpp>

using cairn::step_index;

constexpr std::size_t bodies = 5;
constexpr double h = 1e-3;
constexpr step_index n = 20'000;
using vectors = std::array<double, 2 * bodies>;
using masses = std::array<double, bodies>;
struct cluster {
  vectors place, speed;
};

/// Calls f(a, b, dx, dy, r2): the distance from body a to body b, softened.
template <class F>
void each_pair(vectors const& q, F f) {
  for (std::size_t a = 0; a < bodies; ++a)
    for (std::size_t b = a + 1; b < bodies; ++b) {
      double const dx = q[2 * b] - q[2 * a], dy = q[2 * b + 1] - q[2 * a + 1];
      f(a, b, dx, dy, dx * dx + dy * dy + 0.01);
    }
}
void kick(cluster& x, masses const& m, double by) {
  each_pair(x.place, [&](std::size_t a, std::size_t b, double dx, double dy, double r2) {
    double const pull = by / (r2 * std::sqrt(r2));
    x.speed[2 * a] += m[b] * pull * dx, x.speed[2 * a + 1] += m[b] * pull * dy;
    x.speed[2 * b] -= m[a] * pull * dx, x.speed[2 * b + 1] -= m[a] * pull * dy;
  });
}
void drift(cluster& x, double by) {
  for (std::size_t k = 0; k < 2 * bodies; ++k) x.place[k] += by * x.speed[k];
}
void step(cluster& x, masses const& m, step_index) { kick(x, m, h), drift(x, h); }
void back(cluster& x, masses const& m, step_index) { drift(x, -h), kick(x, m, -h); }
void adjoint(cluster const& x, cluster& bar, masses const& m, masses& dm, step_index) {
  for (std::size_t k = 0; k < 2 * bodies; ++k) bar.speed[k] += h * bar.place[k];
  each_pair(x.place, [&](std::size_t a, std::size_t b, double dx, double dy, double r2) {
    double const u = bar.speed[2 * a], v = bar.speed[2 * a + 1], s = bar.speed[2 * b], t = bar.speed[2 * b + 1];
    double const cube = h / (r2 * std::sqrt(r2));
    double const by_x = m[b] * u - m[a] * s, by_y = m[b] * v - m[a] * t, along = 3 * (by_x * dx + by_y * dy) / r2;
    dm[b] += cube * (u * dx + v * dy), dm[a] -= cube * (s * dx + t * dy);
    double const gx = cube * (by_x - along * dx), gy = cube * (by_y - along * dy);
    bar.place[2 * a] -= gx, bar.place[2 * a + 1] -= gy;
    bar.place[2 * b] += gx, bar.place[2 * b + 1] += gy;
  });
}

int main() {
  masses const m{1, 0.02, 0.03, 0.01, 0.02};
  cluster x0{};
  for (std::size_t b = 1; b < bodies; ++b) {  // rings around the first
    double const r = 0.8 + 0.7 * double(b), angle = 1.3 * double(b), v = std::sqrt(1 / r);
    x0.place[2 * b] = r * std::cos(angle), x0.place[2 * b + 1] = r * std::sin(angle);
    x0.speed[2 * b] = -v * std::sin(angle), x0.speed[2 * b + 1] = v * std::cos(angle);
  }
  auto const miss = cairn::at_end(
      [](cluster const& x, masses const&) {
        double const dx = x.place[8] - 3, dy = x.place[9] - 1;
        return 0.5 * (dx * dx + dy * dy);
      },
      [](cluster const& x, cluster& bar, masses const&, masses&) {
        bar.place[8] += x.place[8] - 3, bar.place[9] += x.place[9] - 1;
      });

  auto const found = cairn::check_reversible(&step, cairn::keep_nothing, &back, x0, m, 2'000);
  std::printf("%s\n", found.text());

  cairn::reversal_report report;
  cairn::model const backwards{cairn::reversible{&step, &back, {.drift = 1e-9, .report = &report}}, &adjoint};
  auto const by = cairn::differentiate(backwards, x0, m, cairn::segments{n}, miss);
  auto const stored = cairn::differentiate(cairn::model{&step, &adjoint}, x0, m, cairn::store_all(n), miss);
  double error = 0, size = 0;
  for (std::size_t k = 0; k < 2 * bodies; ++k) {
    error = std::fmax(error, std::fabs(by.state.speed[k] - stored.state.speed[k]));
    size = std::fmax(size, std::fabs(stored.state.speed[k]));
  }
  std::printf("%lld steps: %lld back, %lld again; drift within 1e-9: %s; gradient within 1e-8 of storing %lld kB: %s\n",
              (long long)n, (long long)report.steps_back, (long long)report.steps_again, report.drift < 1e-9 ? "yes" : "no",
              (long long)(n * sizeof(cluster) / 1000), error <= 1e-8 * size ? "yes" : "no");
  return found.passed() && by.value == stored.value && error <= 1e-8 * size ? 0 : 1;
}
