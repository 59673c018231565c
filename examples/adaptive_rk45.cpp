// SPDX-License-Identifier: Apache-2.0
// Steps that choose their own size, in a loop whose length is not known before it has run.
//
// A small body about the earth and the moon, on the closed orbit that Arenstorf found (1963): close to the moon its
// steps are a thousand times shorter than far from it. The method of Dormand and Prince (1980), of order 5, with an
// error estimate of order 4, tries step sizes until one is accepted; that size is recorded, and everything that runs
// later repeats it. So the gradient is that of the steps that were taken: no attempt is differentiated, and the step
// sizes count as constants.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>

#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include <cairn/run/while.hpp>
#include <cairn/run/with/adaptive.hpp>
#include <cairn/schedule/online.hpp>

using cairn::step_index;
using numbers = std::array<double, 4>;  // place x, y and speed x, y, in a frame that turns with the moon

struct body {
  numbers u;
  double t;
  bool operator==(body const&) const = default;
};
/// What an accepted step leaves behind.
struct chosen {
  double h;
  double t1;
};

constexpr double moon = 0.012277471, earth = 1 - moon, period = 17.0652165601579625588917206249;
constexpr body start{{0.994, 0, 0, -2.00158510637908252240537862224}, 0};

numbers rate(numbers const& u) {
  double const e = u[0] + moon, m = u[0] - earth, yy = u[1] * u[1];
  double const by_earth = earth / std::pow(e * e + yy, 1.5), by_moon = moon / std::pow(m * m + yy, 1.5);
  return {u[2], u[3], u[0] + 2 * u[3] - by_earth * e - by_moon * m, u[1] - 2 * u[2] - (by_earth + by_moon) * u[1]};
}
/// The derivative of `rate` at u, transposed, times bar.
numbers rate_adjoint(numbers const& u, numbers const& bar) {
  double xx = 1, xy = 0, yy = 1;
  auto const pull = [&](double mass, double x, double y) {
    double const r2 = x * x + y * y, cubed = mass / (r2 * std::sqrt(r2));
    xx += cubed * (3 * x * x / r2 - 1);
    xy += cubed * 3 * x * y / r2;
    yy += cubed * (3 * y * y / r2 - 1);
  };
  pull(earth, u[0] + moon, u[1]);
  pull(moon, u[0] - earth, u[1]);
  return {xx * bar[2] + xy * bar[3], xy * bar[2] + yy * bar[3], bar[0] - 2 * bar[3], bar[1] + 2 * bar[2]};
}

constexpr double stage_weight[7][6] = {{},
                                       {1.0 / 5},
                                       {3.0 / 40, 9.0 / 40},
                                       {44.0 / 45, -56.0 / 15, 32.0 / 9},
                                       {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
                                       {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
                                       {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
constexpr double error_weight[7] = {71.0 / 57600,      0,          -71.0 / 16695, 71.0 / 1920,
                                    -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

/// The places where a step evaluates the rate; the last one is where it ends.
struct stages {
  std::array<numbers, 7> at, k;
};
/// One function for every run of a step, and not inlined: first runs and replays must have the same bits.
[[gnu::noinline]] stages attempt(numbers const& u, double h) {
  stages s;
  for (std::size_t i = 0; i < 7; ++i) {
    s.at[i] = u;
    for (std::size_t j = 0; j < i; ++j)
      for (std::size_t c = 0; c < 4; ++c) s.at[i][c] += h * stage_weight[i][j] * s.k[j][c];
    s.k[i] = rate(s.at[i]);
  }
  return s;
}

/// Tries until a step is good enough, and proposes the next one.
struct controller {
  double tolerance = 1e-9, next = 1e-2;
  long rejected = 0;

  chosen step(body& x) {
    for (;;) {
      bool const last = x.t + 1.001 * next >= period;
      double const h = last ? period - x.t : next;
      stages const s = attempt(x.u, h);
      double error = 0;
      for (std::size_t c = 0; c < 4; ++c) {
        double difference = 0;
        for (std::size_t i = 0; i < 7; ++i) difference += h * error_weight[i] * s.k[i][c];
        error = std::max(error, std::abs(difference) / (1 + std::abs(s.at[6][c])));
      }
      next = h * std::clamp(0.95 * std::pow(tolerance / std::max(error, 1e-300), 0.2), 0.2, 5.0);
      if (error <= tolerance) {
        x = {s.at[6], last ? period : x.t + h};
        return {h, x.t};
      }
      ++rejected;
    }
  }
};

void repeat(body& x, chosen const& c) { x = {attempt(x.u, c.h).at[6], c.t1}; }

void step_adjoint(body const& x, body& bar, chosen const& c) {
  stages const s = attempt(x.u, c.h);
  std::array<numbers, 6> k_bar;
  numbers u_bar = bar.u;
  for (std::size_t i = 6; i-- > 0;) {
    for (std::size_t d = 0; d < 4; ++d) k_bar[i][d] = c.h * stage_weight[6][i] * bar.u[d];
    for (std::size_t j = i + 1; j < 6; ++j)
      for (std::size_t d = 0; d < 4; ++d) k_bar[i][d] += c.h * stage_weight[j][i] * k_bar[j][d];
    k_bar[i] = rate_adjoint(s.at[i], k_bar[i]);
    for (std::size_t d = 0; d < 4; ++d) u_bar[d] += k_bar[i][d];
  }
  bar = {u_bar, 0};  // the time after the step is a constant, too
}

int main() {
  controller control;
  cairn::adaptive orbit{[&](body& x) { return control.step(x); }, repeat};
  auto const goes_on = [](body const& x) { return x.t < period; };
  auto const adjoint = orbit.with_record(step_adjoint);
  body const seed{{1, 0, 0, 0}, 0};  // how far right the body is at the end

  cairn::online const plan{12};
  auto run = cairn::checkpointed_while(orbit.step(), start, goes_on, plan);
  step_index const n = run.steps();
  body const last = run.final_state();
  body const got = run.reverse(seed, adjoint);
  auto const records = orbit.records();
  auto const [shortest, longest] =
      std::minmax_element(records.begin(), records.end(), [](chosen const& p, chosen const& q) { return p.h < q.h; });
  std::printf("%lld steps accepted, %ld attempts rejected, sizes from %.1e to %.1e\n", (long long)n, control.rejected,
              shortest->h, longest->h);
  std::printf("%lld slots, %lld extra steps (%.2f a step), %zu bytes of records\n", (long long)plan.slots(),
              (long long)(run.step_calls() - cairn::wide(n)), double(run.step_calls()) / double(n) - 1,
              orbit.record_bytes());
  std::printf("back at (%.6f, %.6f), from (%.6f, %.6f)\n", last.u[0], last.u[1], start.u[0], start.u[1]);
  bool const counted = run.step_calls() == cairn::estimate(plan.stopping_at(n, false)).step_calls;
  bool const closed = std::hypot(last.u[0] - start.u[0], last.u[1] - start.u[1]) < 1e-3;

  control = {};
  body const kept = cairn::gradient(orbit.step(), start, cairn::store_all(n), seed, adjoint);
  bool const same = kept == got;
  std::printf("extra steps as predicted: %s; same bits as with every state kept: %s\n", counted ? "yes" : "no",
              same ? "yes" : "no");

  // The same steps from other initial states: their sizes stay as they are.
  auto const frozen = [&](numbers const& u) {
    body x{u, 0};
    for (chosen const& c : records) repeat(x, c);
    return x.u[0];
  };
  bool close = true;
  for (std::size_t c = 0; c < 4; ++c) {
    double const h = 1e-9;
    numbers up = start.u, down = start.u;
    up[c] += h;
    down[c] -= h;
    double const difference = (frozen(up) - frozen(down)) / (up[c] - down[c]);
    std::printf("by initial number %zu: adjoint %14.6f, differences %14.6f\n", c, got.u[c], difference);
    close = close && std::abs(difference - got.u[c]) < 1e-3 * std::abs(got.u[c]);
  }
  auto const whole = cairn::check_gradient(frozen, start.u, got.u);
  std::printf("%s\n", whole.text().c_str());

  // Step by step, with first and repeated runs compared bit for bit.
  control = {};
  auto const report = cairn::check_adjoint(orbit.step(), adjoint, start, n, {.whole = false});
  std::printf("%s\n", report.text().c_str());
  return counted && closed && same && close && report.passed() ? 0 : 1;
}
