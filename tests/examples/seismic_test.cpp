// SPDX-License-Identifier: Apache-2.0
// The seismic example's step, adjoint and inversion: dot products, differences, Taylor remainders, bits, absorption and
// reciprocity.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include "../../examples/seismic/baseline.hpp"
#include "../../examples/seismic/inversion.hpp"
#include "../../examples/seismic/models.hpp"
#include "../../examples/seismic/optimiser.hpp"
#include "../../examples/seismic/taylor.hpp"
#include "support/catch.hpp"

using cairn::step_index;
namespace {

using namespace seismic;

[[nodiscard]] grid small_grid(std::size_t rim = 6) {
  grid g;
  g.nx = 37;  // no multiple of a vector's length
  g.nz = 30;
  g.rim = rim;
  return g;
}

template <class Real>
[[nodiscard]] std::vector<Real> noise(std::size_t size, std::mt19937& generator) {
  std::vector<Real> all(size);
  for (Real& v : all) v = Real(generator() >> 8) / Real(1 << 23) - 1;
  return all;
}
[[nodiscard]] wave<double> random_wave(std::size_t cells, std::mt19937& generator) {
  return {noise<double>(cells, generator), noise<double>(cells, generator)};
}
[[nodiscard]] double product(wave<double> const& a, wave<double> const& b) {
  return dot(a.before, b.before) + dot(a.now, b.now);
}

/// One shot over a start model, and the traces of the true one.
template <class Real>
struct scene {
  grid g;
  survey<Real> plan;
  std::vector<double> start = start_model(g);
  std::vector<traces<Real>> recorded = record_all(g, plan, true_model(g));
  medium<Real> ground{g, start};
  std::vector<Real> sensitivity = std::vector<Real>(g.cells());

  explicit scene(std::size_t steps, std::size_t shots = 1) : g{small_grid()}, plan{g, steps, shots, 15} {}
  [[nodiscard]] shot<Real> first() const { return {plan.sources[0], &recorded[0]}; }
};

[[nodiscard]] double energy(medium<double> const& ground, wave<double> const& x) {
  // Kinetic and potential energy of the scheme, which without damping it keeps but for what varies within a step.
  auto const nx = ground.grid.nx;
  double sum = 0;
  for (std::size_t k = nx + 1; k + nx + 1 < x.now.size(); ++k) {
    double const moved = x.now[k] - x.before[k];
    sum += moved * moved / ground.courant2[k] + (x.now[k + 1] - x.now[k]) * (x.before[k + 1] - x.before[k]) +
           (x.now[k + nx] - x.now[k]) * (x.before[k + nx] - x.before[k]);
  }
  return sum;
}

}  // namespace

TEST_CASE("the seismic step's adjoint is its transpose on every state, the rim included", "[seismic]") {
  auto const g = small_grid();
  std::mt19937 generator{1};
  medium<double> const ground{g, true_model(g)};
  auto const step = [&](wave<double>& x) {
    leapfrog(ground, x.before.data(), x.now.data(), x.before.data());
    x.before.swap(x.now);
  };
  std::vector<double> sensitivity(g.cells());
  adjoint_rows<double> rows{g.nx};
  for (int trial = 0; trial < 5; ++trial) {
    auto const v = random_wave(g.cells(), generator), w = random_wave(g.cells(), generator);
    auto moved = v, pulled = w;
    step(moved);
    leapfrog_adjoint(ground, v.now.data(), pulled.before.data(), pulled.now.data(), sensitivity.data(), rows);
    pulled.before.swap(pulled.now);
    double const size = std::sqrt(product(moved, moved) * product(w, w));
    CHECK(std::abs(product(moved, w) - product(v, pulled)) <
          1e-13 * size);  // some 10 roundings of 1e-16 in each of 10^3 terms
  }
}

TEST_CASE("the seismic step's gradient with respect to the medium is that of differences", "[seismic]") {
  auto const g = small_grid();
  std::mt19937 generator{2};
  medium<double> ground{g, true_model(g)};
  auto const x = random_wave(g.cells(), generator), w = random_wave(g.cells(), generator);
  std::vector<double> const direction = noise<double>(g.cells(), generator), middle = ground.courant2;
  auto const along = [&](double h) {
    for (std::size_t k = 0; k < middle.size(); ++k) ground.courant2[k] = middle[k] + h * direction[k];
    std::vector<double> after(g.cells());
    leapfrog(ground, x.before.data(), x.now.data(), after.data());
    return dot(after, w.now);
  };
  // The step is linear in the medium too, so a long difference has no error but rounding.
  double const difference = (along(1) - along(-1)) / 2;
  along(0);
  std::vector<double> sensitivity(g.cells());
  adjoint_rows<double> rows{g.nx};
  auto bar = w;
  leapfrog_adjoint(ground, x.now.data(), bar.before.data(), bar.now.data(), sensitivity.data(), rows);
  CHECK(std::abs(difference - dot(sensitivity, direction)) < 1e-12 * (1 + std::abs(difference)));
  CHECK(std::abs(difference) > 1e-3);
}

TEST_CASE("check_adjoint passes the seismic step with its receivers", "[seismic]") {
  scene<double> s{40};
  std::mt19937 generator{3};
  leap<double> step{s.ground, s.plan};
  back<double> adjoint{s.ground, s.plan, s.sensitivity, 1};
  step.aim(s.first());
  adjoint.aim(s.first());
  auto const report = cairn::check_adjoint(step, adjoint, random_wave(s.g.cells(), generator), 40);
  INFO(report.text());
  CHECK(report.passed());
}

TEST_CASE("the misfit's gradient with respect to the velocity leaves a remainder of second order", "[seismic]") {
  scene<double> s{200, 2};
  std::vector<double> slope(s.g.cells()), moved(s.g.cells());
  sweeper<double> sweep{s.ground, s.plan, s.sensitivity, cairn::leaves{200, 7, cairn::revolve{29, 4}}};
  double const misfit = evaluate(s.ground, s.plan, s.recorded, s.start, s.sensitivity, slope,
                                 [&](shot<double> const& one) { return sweep.run(one); });
  double by_records = 0;
  for (std::size_t k = 0; k < 2; ++k)
    by_records += misfit_between(record(s.ground, s.plan, s.plan.sources[k]), s.recorded[k]);
  CHECK(std::abs(misfit - by_records) < 1e-12 * misfit);

  std::mt19937 generator{4};
  auto const direction = noise<double>(s.g.cells(), generator);
  auto const objective = [&](double h) {
    for (std::size_t k = 0; k < moved.size(); ++k) moved[k] = s.start[k] + h * direction[k];
    s.ground.set(moved);
    double sum = 0;
    for (std::size_t k = 0; k < 2; ++k)
      sum += misfit_between(record(s.ground, s.plan, s.plan.sources[k]), s.recorded[k]);
    return sum;
  };
  double const along = dot(slope, direction);
  CHECK(std::abs(taylor_slope(misfit, along, 1.0, 6, objective) - 2) <= 0.1);
  CHECK(std::abs(taylor_slope(misfit, 1.01 * along, 1.0, 6, objective) - 2) > 0.1);  // so an error of 1 % would be seen
}

TEST_CASE("the seismic gradient has the bits of storing every field for every plan", "[seismic]") {
  constexpr step_index n = 150;
  scene<float> s{std::size_t(n)};
  stored_sweep<float> stored{s.ground, s.plan, s.sensitivity};
  double const misfit = stored.run(s.first());
  auto const sensitivity = s.sensitivity;
  CHECK(*std::max_element(sensitivity.begin(), sensitivity.end()) > 0);
  std::vector<cairn::any_schedule> plans{cairn::store_all(n), cairn::uniform{n}, cairn::uniform{n, {.slots = 40}}};
  for (cairn::slot_index const slots : {1, 2, 5, 20, 149}) plans.emplace_back(cairn::revolve{n, slots});
  for (step_index const leaf : {2, 7, 40, 150}) {
    auto const count = (n + leaf - 1) / leaf;
    plans.emplace_back(cairn::leaves{n, leaf, cairn::revolve{count, 3}});
    plans.emplace_back(cairn::leaves{n, leaf, cairn::uniform{count}});
    plans.emplace_back(cairn::leaves{n, leaf, cairn::store_all(count)});
  }
  for (auto const& plan : plans) {
    std::fill(s.sensitivity.begin(), s.sensitivity.end(), 0.0f);
    sweeper<float> sweep{s.ground, s.plan, s.sensitivity, plan};
    double const found = sweep.run(s.first());
    INFO("slots " << plan.slots() << ", leaf " << plan.leaf());
    CHECK(found == misfit);
    CHECK(s.sensitivity == sensitivity);
    CHECK(sweep.bar().before == stored.bar().before);
    CHECK(sweep.bar().now == stored.bar().now);
  }
}

TEST_CASE("the seismic rim swallows what the same ground without it keeps", "[seismic]") {
  auto const left_over = [](std::size_t rim) {
    auto const g = small_grid(rim);
    medium<double> const ground{g, start_model(g)};
    auto x = silence<double>(g.cells());
    double largest = 0;
    for (int i = 0; i < 600; ++i) {
      leapfrog(ground, x.before.data(), x.now.data(), x.before.data());
      double const phase = 0.1 * (i - 40);
      x.before[g.at(18, 15)] += (1 - 2 * phase * phase) * std::exp(-phase * phase);
      x.before.swap(x.now);
      largest = std::max(largest, energy(ground, x));
    }
    return energy(ground, x) / largest;
  };
  double const kept = left_over(0), absorbed = left_over(6);
  CHECK(kept > 0.1);
  CHECK(absorbed < 0.01 * kept);
}

TEST_CASE("seismic source and receiver may change places", "[seismic]") {
  auto const g = small_grid();
  medium<double> const ground{g, true_model(g)};
  auto const a = g.at(9, 8), b = g.at(27, 20);
  auto const heard = [&](std::size_t from, std::size_t to) {
    survey<double> plan{g, 300, 1, 15};
    plan.receivers = {to};
    // A push in pressure is a source scaled by v^2 in the equation that is symmetric.
    for (double& push : plan.wavelet)
      push *= ground.courant2[from] * ground.damping_x[from % g.nx] * ground.damping_z[from / g.nx];
    return record(ground, plan, from);
  };
  auto const there = heard(a, b), back = heard(b, a);
  double difference = 0, loudest = 0;
  for (std::size_t k = 0; k < there.size(); ++k) {
    difference = std::max(difference, std::abs(there[k] - back[k]));
    loudest = std::max(loudest, std::abs(there[k]));
  }
  CHECK(loudest > 0);
  CHECK(difference < 1e-12 * loudest);
}

TEST_CASE("the seismic misfit falls in every iteration", "[seismic]") {
  scene<float> s{300, 2};
  sweeper<float> sweep{s.ground, s.plan, s.sensitivity, cairn::revolve{300, 12}};
  auto const objective = [&](numbers const& velocity, numbers& slope) {
    return evaluate(s.ground, s.plan, s.recorded, velocity, s.sensitivity, slope,
                    [&](shot<float> const& one) { return sweep.run(one); });
  };
  auto velocity = s.start;
  numbers slope(velocity.size());
  double misfit = objective(velocity, slope);
  double const start = misfit;
  lbfgs optimiser;
  for (int k = 0; k < 5; ++k) {
    double const before = misfit;
    REQUIRE(optimiser.step(velocity, misfit, slope, 20, objective));
    CHECK(misfit < before);
  }
  CHECK(misfit < start / 2);
}
