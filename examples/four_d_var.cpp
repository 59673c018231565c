// SPDX-License-Identifier: Apache-2.0
// 4D-Var: from which initial state, and under which forcing at each step, did a model make what was observed?
//
// The model is Lorenz's of 1996: 40 numbers on a ring, chaotic. Half of them are observed every fifth step, with
// errors. The observations are synthetic: they come from a run of the same model. The controls are the initial state
// and one forcing a step. An observation in the middle of the loop adds to the adjoint when the sweep passes it, which
// is what `cairn::hooked` is for.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>

using cairn::step_index;
constexpr std::size_t cells = 40;
constexpr step_index n = 100, observed_every = 5;
constexpr double dt = 0.01;
constexpr double usual_forcing = 8;
constexpr double observation_error = 0.2, background_error = 0.5, forcing_error = 1;

using field = std::array<double, cells>;

field plus(field a, double s, field const& b) {
  for (std::size_t k = 0; k < cells; ++k) a[k] += s * b[k];
  return a;
}

field rate(field const& x, double forcing) {
  field r;
  for (std::size_t k = 0; k < cells; ++k) {
    std::size_t const next = (k + 1) % cells, before = (k + cells - 1) % cells, second = (k + cells - 2) % cells;
    r[k] = (x[next] - x[second]) * x[before] - x[k] + forcing;
  }
  return r;
}

field rate_adjoint(field const& x, field const& bar, double& forcing_bar) {
  field x_bar{};
  for (std::size_t k = 0; k < cells; ++k) {
    std::size_t const next = (k + 1) % cells, before = (k + cells - 1) % cells, second = (k + cells - 2) % cells;
    x_bar[next] += x[before] * bar[k];
    x_bar[second] -= x[before] * bar[k];
    x_bar[before] += (x[next] - x[second]) * bar[k];
    x_bar[k] -= bar[k];
    forcing_bar += bar[k];
  }
  return x_bar;
}

/// The classic Runge-Kutta method.
void step(field& x, double forcing) {
  field const k1 = rate(x, forcing), k2 = rate(plus(x, dt / 2, k1), forcing);
  field const k3 = rate(plus(x, dt / 2, k2), forcing), k4 = rate(plus(x, dt, k3), forcing);
  for (std::size_t k = 0; k < cells; ++k) x[k] += dt / 6 * (k1[k] + 2 * k2[k] + 2 * k3[k] + k4[k]);
}

void step_adjoint(field const& x, field& bar, double forcing, double& forcing_bar) {
  field const x2 = plus(x, dt / 2, rate(x, forcing)), x3 = plus(x, dt / 2, rate(x2, forcing)),
              x4 = plus(x, dt, rate(x3, forcing));
  field const none{};
  field const a4 = rate_adjoint(x4, plus(none, dt / 6, bar), forcing_bar);
  field const a3 = rate_adjoint(x3, plus(plus(none, dt / 3, bar), dt, a4), forcing_bar);
  field const a2 = rate_adjoint(x2, plus(plus(none, dt / 3, bar), dt / 2, a3), forcing_bar);
  field const a1 = rate_adjoint(x, plus(plus(none, dt / 6, bar), dt / 2, a2), forcing_bar);
  for (std::size_t k = 0; k < cells; ++k) bar[k] += a1[k] + a2[k] + a3[k] + a4[k];
}

/// What 4D-Var may change; its gradient has the same shape.
struct control {
  field x0{};
  std::vector<double> forcing = std::vector<double>(std::size_t(n));
  bool operator==(control const&) const = default;
};

control moved(control c, double by, control const& direction) {
  c.x0 = plus(c.x0, by, direction.x0);
  for (std::size_t i = 0; i < c.forcing.size(); ++i) c.forcing[i] += by * direction.forcing[i];
  return c;
}

double dot(control const& a, control const& b) {
  double sum = 0;
  for (std::size_t k = 0; k < cells; ++k) sum += a.x0[k] * b.x0[k];
  for (std::size_t i = 0; i < a.forcing.size(); ++i) sum += a.forcing[i] * b.forcing[i];
  return sum;
}

/// The forcing of each step is a parameter.
struct forced_loop {
  void step(field& x, std::vector<double> const& forcing, step_index i) const { ::step(x, forcing[std::size_t(i)]); }
  void adjoint(field const& x, field& bar, std::vector<double> const& forcing, std::vector<double>& by_forcing,
               step_index i) const {
    step_adjoint(x, bar, forcing[std::size_t(i)], by_forcing[std::size_t(i)]);
  }
};

struct four_d_var {
  std::vector<field> observations;  // one for every fifth step; of each, every other number counts
  control background;

  /// The misfit of a state to what was observed.
  struct misfit {
    std::vector<field> const& observations;

    template <class Each>
    void each_number(step_index i, field const& x, Each each) const {
      field const& seen = observations[std::size_t(i / observed_every)];
      for (std::size_t k = 0; k < cells; k += 2) each(k, (x[k] - seen[k]) / observation_error);
    }
    [[nodiscard]] double value(field const& x, std::vector<double> const&, step_index i) const {
      double sum = 0;
      each_number(i, x, [&](std::size_t, double scaled) { sum += scaled * scaled / 2; });
      return sum;
    }
    void add_gradient(field const& x, field& bar, std::vector<double> const&, std::vector<double>&,
                      step_index i) const {
      each_number(i, x, [&](std::size_t k, double scaled) { bar[k] += scaled / observation_error; });
    }
  };

  struct result {
    double cost = 0;
    control gradient;
  };
  [[nodiscard]] result evaluate(control const& c, cairn::any_schedule const& plan) const {
    auto const [cost, by_x0, by_forcing] = cairn::differentiate(
        forced_loop{}, c.x0, c.forcing, plan, cairn::at_every(observed_every, misfit{observations}));
    result r{cost, {by_x0, by_forcing}};

    control const off =
        moved(c, -1, background);  // the controls cost something, too: they should stay where they are thought to be
    for (std::size_t k = 0; k < cells; ++k) {
      r.cost += off.x0[k] * off.x0[k] / (2 * background_error * background_error);
      r.gradient.x0[k] += off.x0[k] / (background_error * background_error);
    }
    for (std::size_t i = 0; i < off.forcing.size(); ++i) {
      r.cost += off.forcing[i] * off.forcing[i] / (2 * forcing_error * forcing_error);
      r.gradient.forcing[i] += off.forcing[i] / (forcing_error * forcing_error);
    }
    return r;
  }
};

/// A number between -1 and 1, the same on every machine.
double scatter(std::size_t k) { return std::sin(12.9898 * double(k) + 1.7 * double(k * k % 101)); }

int main() {
  cairn::any_schedule const plan = cairn::revolve{n, 6};

  // The truth is run once to be observed; where 4D-Var begins, it knows the initial state badly and the forcing not at
  // all.
  four_d_var problem;
  field x{};
  for (std::size_t k = 0; k < cells; ++k) x[k] = usual_forcing + scatter(k);
  for (int spin_up = 0; spin_up < 1'000; ++spin_up) step(x, usual_forcing);
  field const truth = x;
  for (std::size_t k = 0; k < cells; ++k) problem.background.x0[k] = x[k] + background_error * scatter(k + 500);
  problem.background.forcing.assign(std::size_t(n), usual_forcing);
  for (step_index i = 0; i <= n; ++i) {
    if (i % observed_every == 0) {
      problem.observations.push_back(x);
      for (std::size_t k = 0; k < cells; ++k)
        problem.observations.back()[k] += observation_error * scatter(std::size_t(i) + k + 1'000);
    }
    step(x, usual_forcing + 2 * std::sin(0.03 * double(i)));
  }

  // Is the adjoint of the step right, the gradient with respect to all controls, and its every bit?
  double ignored = 0;
  auto const step_report = cairn::check_adjoint(
      [](field& at) { step(at, usual_forcing); },
      [&](field const& at, field& bar) { step_adjoint(at, bar, usual_forcing, ignored); }, truth, n);
  auto now = problem.evaluate(problem.background, plan);
  auto const gradient_report = cairn::check_gradient([&](control const& c) { return problem.evaluate(c, plan).cost; },
                                                     problem.background, now.gradient);
  auto const kept = problem.evaluate(problem.background, cairn::store_all(n));
  bool const same = now.gradient == kept.gradient && now.cost == kept.cost;
  std::printf("%s\n%s\nsame bits as with every state kept: %s\n", step_report.text().c_str(), gradient_report.text().c_str(),
              same ? "yes" : "no");

  // Steepest descent, each control in units of its own error. The next length is where the slope along the last
  // direction would have been zero (Barzilai and Borwein 1988); a step that leads up by much is halved.
  control c = problem.background;
  double const first = now.cost;
  std::printf("cost %8.1f at first\n", first);
  double length = 1e-4;
  for (int iteration = 1; iteration <= 60; ++iteration) {
    control downhill = now.gradient;
    for (double& v : downhill.x0) v *= -background_error * background_error;
    for (double& v : downhill.forcing) v *= -forcing_error * forcing_error;
    auto next = problem.evaluate(moved(c, length, downhill), plan);
    while (!(next.cost < 2 * now.cost)) next = problem.evaluate(moved(c, length /= 2, downhill), plan);
    c = moved(c, length, downhill);
    double const flatter = 1 - dot(next.gradient, downhill) / dot(now.gradient, downhill);
    length = flatter > 0 ? length / flatter : 2 * length;
    now = next;
    if (iteration % 15 == 0) std::printf("cost %8.1f after %d iterations\n", now.cost, iteration);
  }

  auto const error_of = [&](field const& x0) {
    field const off = plus(x0, -1, truth);
    double sum = 0;
    for (double v : off) sum += v * v;
    return std::sqrt(sum / cells);
  };
  double const before = error_of(problem.background.x0), after = error_of(c.x0);
  std::printf("initial state wrong by %.3f before, by %.3f after\n", before, after);

  return step_report.passed() && gradient_report.passed() && same && now.cost < first / 10 && after < before ? 0 : 1;
}
