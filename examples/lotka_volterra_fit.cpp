// SPDX-License-Identifier: Apache-2.0
// The rates of predator and prey, fitted to observations.
//
// First the gradient of a case whose numbers were found by other programs: the classic Runge-Kutta method, 10,000
// steps, one objective at the end. Then a fit: twenty observations on the way, and rates that are wrong by a tenth to
// begin with. The observations are synthetic: made by this model with rates that the fit does not know, and without
// errors, so that it can be seen to find them.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>

using cairn::step_index;
using animals = std::array<double, 2>;  // prey and predators
using rates = std::array<double, 4>;    // birth of prey, its being eaten, death of predators, their living on it

constexpr double dt = 1e-3;
constexpr step_index n = 10'000, observed_every = 500;

/// a + s b
animals plus(animals const& a, double s, animals const& b) { return {a[0] + s * b[0], a[1] + s * b[1]}; }

animals change(rates const& p, animals const& u) {
  return {p[0] * u[0] - p[1] * u[0] * u[1], -p[2] * u[1] + p[3] * u[0] * u[1]};
}

animals change_adjoint(rates const& p, animals const& u, animals const& bar, rates& p_bar) {
  p_bar[0] += u[0] * bar[0];
  p_bar[1] -= u[0] * u[1] * bar[0];
  p_bar[2] -= u[1] * bar[1];
  p_bar[3] += u[0] * u[1] * bar[1];
  return {(p[0] - p[1] * u[1]) * bar[0] + p[3] * u[1] * bar[1], -p[1] * u[0] * bar[0] + (p[3] * u[0] - p[2]) * bar[1]};
}

void step(rates const& p, animals& u) {
  animals const k1 = change(p, u), k2 = change(p, plus(u, dt / 2, k1)), k3 = change(p, plus(u, dt / 2, k2)),
                k4 = change(p, plus(u, dt, k3));
  for (std::size_t c = 0; c < 2; ++c) u[c] += dt / 6 * (k1[c] + 2 * k2[c] + 2 * k3[c] + k4[c]);
}

void step_adjoint(rates const& p, animals const& u, animals& bar, rates& p_bar) {
  animals const u2 = plus(u, dt / 2, change(p, u)), u3 = plus(u, dt / 2, change(p, u2)),
                u4 = plus(u, dt, change(p, u3)), none{};
  animals const a4 = change_adjoint(p, u4, plus(none, dt / 6, bar), p_bar);
  animals const a3 = change_adjoint(p, u3, plus(plus(none, dt / 3, bar), dt, a4), p_bar);
  animals const a2 = change_adjoint(p, u2, plus(plus(none, dt / 3, bar), dt / 2, a3), p_bar);
  animals const a1 = change_adjoint(p, u, plus(plus(none, dt / 6, bar), dt / 2, a2), p_bar);
  for (std::size_t c = 0; c < 2; ++c) bar[c] += a1[c] + a2[c] + a3[c] + a4[c];
}

struct hunt {
  void step(animals& u, rates const& p) const { ::step(p, u); }
  void adjoint(animals const& u, animals& bar, rates const& p, rates& p_bar) const { step_adjoint(p, u, bar, p_bar); }
};

/// Half the square of the distance to what was seen, every 500 steps or at one state.
struct distance {
  std::vector<animals> seen;

  [[nodiscard]] animals off(animals const& u, step_index i) const {
    return plus(u, -1, seen[seen.size() > 1 ? std::size_t(i / observed_every) : 0]);
  }
  [[nodiscard]] double value(animals const& u, rates const&, step_index i) const {
    animals const by = off(u, i);
    return (by[0] * by[0] + by[1] * by[1]) / 2;
  }
  void add_gradient(animals const& u, animals& bar, rates const&, rates&, step_index i) const {
    bar = plus(bar, 1, off(u, i));
  }
};

double dot(rates const& a, rates const& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]; }

/// An estimate of the inverse of the second derivative, bettered by each move and what it does to the gradient
/// (Broyden, Fletcher, Goldfarb and Shanno 1970).
struct bfgs {
  std::array<rates, 4> inverse{};

  [[nodiscard]] rates times(rates const& v) const {
    return {dot(inverse[0], v), dot(inverse[1], v), dot(inverse[2], v), dot(inverse[3], v)};
  }
  void learn(rates const& move, rates const& turn) {
    double const along = dot(move, turn);
    if (along <= 0) return;
    rates const turned = times(turn);
    double const twice = (1 + dot(turn, turned) / along) / along;
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = 0; b < 4; ++b)
        inverse[a][b] += twice * move[a] * move[b] - (turned[a] * move[b] + move[a] * turned[b]) / along;
  }
};

int main() {
  animals const start{1, 1};
  rates const p{1.5, 1, 3, 1};
  cairn::any_schedule const plan = cairn::revolve{n, 20};

  rates ignored{};
  auto const step_report =
      cairn::check_adjoint([&](animals& u) { step(p, u); },
                           [&](animals const& u, animals& bar) { step_adjoint(p, u, bar, ignored); }, start, n);

  auto const at_the_end = cairn::at_end(distance{{{1, 1}}});
  auto const got = cairn::differentiate(hunt{}, start, p, plan, at_the_end);
  auto const all = cairn::differentiate(hunt{}, start, p, cairn::store_all(n), at_the_end);
  bool const same = got.value == all.value && got.state == all.state && got.params == all.params;
  animals const known_by_start{2.995995082875237e-01, -1.415181634440453e-02};
  rates const known_by_rates{6.219615855195461e-01, 6.800140414788151e-02, 1.691764639860737e-01,
                             2.725606939379357e-01};
  auto const close = [](double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); };
  bool known = true;
  for (std::size_t c = 0; c < 2; ++c) known = known && close(got.state[c], known_by_start[c]);
  for (std::size_t c = 0; c < 4; ++c) known = known && close(got.params[c], known_by_rates[c]);
  std::printf("by the start %.15e %.15e\nby the rates %.15e %.15e %.15e %.15e\n", got.state[0], got.state[1],
              got.params[0], got.params[1], got.params[2], got.params[3]);
  std::printf("as other programs found them: %s; same bits as with every state kept: %s\n", known ? "yes" : "no",
              same ? "yes" : "no");

  std::vector<animals> observations;
  animals u = start;
  for (step_index i = 0; i <= n; ++i) {
    if (i % observed_every == 0) observations.push_back(u);
    step(p, u);
  }
  std::vector<step_index> when;
  for (step_index i = 0; i <= n; i += observed_every) when.push_back(i);
  cairn::value_and_gradient misfit{hunt{}, plan, cairn::at_states(when, distance{observations})};

  rates fit{1.65, 0.9, 2.7, 1.1};
  auto now = misfit(start, fit);
  auto const fit_report =
      cairn::check_gradient([&](rates const& at) { return misfit(start, at).value; }, fit, now.params);
  std::printf("%s\n%s\nmisfit %.3e at first\n", step_report.text().c_str(), fit_report.text().c_str(), now.value);

  double const first = now.value;
  bool falling = true;
  bfgs estimate;
  for (std::size_t a = 0; a < 4; ++a) estimate.inverse[a][a] = 0.05 / std::sqrt(dot(now.params, now.params));
  for (int iteration = 1; iteration <= 100 && now.value > 1e-20; ++iteration) {
    rates const downhill = estimate.times(now.params);
    rates move{}, turn{};
    auto next = now;
    double length = 2;
    do {
      length /= 2;
      for (std::size_t a = 0; a < 4; ++a) move[a] = -length * downhill[a];
      next = misfit(start, rates{fit[0] + move[0], fit[1] + move[1], fit[2] + move[2], fit[3] + move[3]});
    } while (!(next.value < now.value) && length > 1e-9);
    falling = falling && next.value < now.value;
    for (std::size_t a = 0; a < 4; ++a) fit[a] += move[a], turn[a] = next.params[a] - now.params[a];
    estimate.learn(move, turn);
    now = next;
    if (iteration % 5 == 0) std::printf("misfit %.3e after %d iterations\n", now.value, iteration);
  }
  std::printf("rates %.9f %.9f %.9f %.9f, misfit %.3e\n", fit[0], fit[1], fit[2], fit[3], now.value);

  bool found = true;
  for (std::size_t a = 0; a < 4; ++a) found = found && std::abs(fit[a] - p[a]) < 1e-6;
  return step_report.passed() && same && known && fit_report.passed() && falling && now.value < 1e-12 * first && found
             ? 0
             : 1;
}
