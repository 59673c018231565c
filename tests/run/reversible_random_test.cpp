// SPDX-License-Identifier: Apache-2.0
// Random loops that go backwards to the bit, under random plans and stores, against storing everything; and random loops
// with rounding, whose reported drift bounds the error of the gradient.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/run/with/reversible.hpp>
#include <cairn/schedule/segments.hpp>
#include "support/catch.hpp"
#include "support/reversible_loops.hpp"
#include "support/tiered_store.hpp"

using namespace reversible_loops;
using cairn::any_schedule;
using cairn::segments;
using cairn::step_index;

namespace {

long programs(long otherwise) {
  char const* const asked = std::getenv("CAIRN_FUZZ_PROGRAMS");
  return asked != nullptr ? std::atol(asked) : otherwise;
}
double value(mixed const& x, double const& p) { return x.y * x.y + p * x.z; }
void slope(mixed const& x, mixed& bar, double const& p, double& dp) { bar.y += 2 * x.y, bar.z += p, dp += x.z; }

void run_exact(std::mt19937_64& draw) {
  auto const below = [&](step_index most) { return step_index(draw() % std::uint64_t(most)); };
  auto const n = below(60), length = 1 + below(20);
  auto const count = std::max<step_index>((n + length - 1) / length, n > 0 ? 1 : 0);
  auto const slots = 1 + below(5);
  any_schedule const plan = [&]() -> any_schedule {
    switch (below(4)) {
      case 0: return segments{n, {.length = length, .slots = slots}};
      case 1: return cairn::leaves{n, length, cairn::revolve{count, slots}};
      case 2: return cairn::leaves{n, length, cairn::in_memory{cairn::two_level{count, 1 + below(4), below(3)}}};
      default: return cairn::leaves{n, length, cairn::uniform{count}};
    }
  }();
  mixed const x0{draw(), draw(), double(below(1000)) / 1000, double(below(1000)) / -1000};
  double const p = double(below(2000)) / 1000;
  auto const every = cairn::at_every(1 + below(9), value, slope) + cairn::at_end(value, slope);
  cairn::reversal_report report;
  auto const m = mixed_model({.exact = true, .keep_all = below(2) == 0, .report = &report});
  auto const stored = cairn::differentiate(mixed_plain(), x0, p, cairn::store_all(n), every);
  auto const found = cairn::differentiate(m, x0, p, plan, every);
  REQUIRE(found.value == stored.value);
  REQUIRE(found.state.y == stored.state.y);
  REQUIRE(found.state.z == stored.state.z);
  REQUIRE(found.params == stored.params);
  REQUIRE(report.drift == 0);
  double unused = 0, dp = 0;
  auto run = cairn::checkpointed_loop(m.step, x0, plan, cairn::wrt{p, unused});
  auto const seed = [](mixed const& x) { return mixed{0, 0, x.y, 1}; };
  auto const once = run.reverse(seed, m.adjoint, dp);
  auto const twice = run.reverse(seed, m.adjoint, dp);
  REQUIRE(once == twice);
}

/// Masses on springs that are not linear, by leapfrog.
struct chain {
  std::vector<double> q, v;
};
struct springs {
  double h, k, cube;
  double pull(double d) const { return k * d + cube * d * d * d; }
  void kick(chain& x, double by) const {
    for (std::size_t a = 0; a + 1 < x.q.size(); ++a) {
      double const f = by * h * pull(x.q[a + 1] - x.q[a]);
      x.v[a] += f, x.v[a + 1] -= f;
    }
  }
  void drift(chain& x, double by) const {
    for (std::size_t a = 0; a < x.q.size(); ++a) x.q[a] += by * h * x.v[a];
  }
  void step(chain& x) const { kick(x, 1), drift(x, 1); }
  void back(chain& x) const { drift(x, -1), kick(x, -1); }
  void adjoint(chain const& x, chain& bar) const {
    for (std::size_t a = 0; a < x.q.size(); ++a) bar.v[a] += h * bar.q[a];
    for (std::size_t a = 0; a + 1 < x.q.size(); ++a) {
      double const d = x.q[a + 1] - x.q[a], s = h * (k + 3 * cube * d * d) * (bar.v[a] - bar.v[a + 1]);
      bar.q[a + 1] += s, bar.q[a] -= s;
    }
  }
};
double norm(chain const& x) {
  double most = 0;
  for (double q : x.q) most = std::max(most, std::abs(q));
  for (double v : x.v) most = std::max(most, std::abs(v));
  return most;
}
/// What was found of a loop with rounding.
struct rounded {
  double gradient;  ///< relative error
  double states;    ///< the largest error of a state that an adjoint saw, relative to the largest number of the loop
  double drift;     ///< as reported
};
rounded run_rounded(std::mt19937_64& draw, step_index n, segments const& plan) {
  auto const real = [&](double from, double to) { return std::uniform_real_distribution<double>{from, to}(draw); };
  springs const f{real(0.01, 0.1), real(0.5, 2), real(0, 0.3)};
  chain x0{std::vector<double>(12), std::vector<double>(12)};
  for (auto& q : x0.q) q = real(-0.5, 0.5);
  for (auto& v : x0.v) v = real(-0.5, 0.5);
  auto const step = [&](chain& x) { f.step(x); };
  auto const seed = [](chain const& x) { return x; };
  std::vector<chain> made(std::size_t(n), x0);
  auto const adjoint = [&](chain const& x, chain& bar, step_index i) {
    made[std::size_t(i)] = x;
    f.adjoint(x, bar);
  };
  cairn::reversal_report report;
  auto m = cairn::model{
      cairn::reversible{step, [&](chain& x) { f.back(x); }, {.drift = 1e-10, .report = &report}}, adjoint};
  auto const found = cairn::gradient(m.step, x0, plan, seed, m.adjoint);
  double states = 0, largest = 0;
  auto const distance = [](chain a, chain const& b) {
    for (std::size_t k = 0; k < a.q.size(); ++k) a.q[k] -= b.q[k], a.v[k] -= b.v[k];
    return norm(a);
  };
  auto const compared = [&](chain const& x, chain& bar, step_index i) {
    states = std::max(states, distance(made[std::size_t(i)], x));
    largest = std::max(largest, norm(x));
    f.adjoint(x, bar);
  };
  auto const stored = cairn::gradient(step, x0, segments{n, {.length = 1}}, seed, compared);
  return {distance(found, stored) / norm(stored), states / largest, report.drift};
}

}  // namespace

TEST_CASE("random loops that go backwards to the bit have the bits of storing everything", "[reversible]") {
  std::mt19937_64 draw{7};
  for (long k = 0; k < programs(100); ++k) {
    CAPTURE(k);
    run_exact(draw);
  }
}
TEST_CASE("the states of a loop with rounding are as near as its drift says", "[reversible]") {
  std::mt19937_64 draw{11};
  for (long k = 0; k < 10; ++k) {
    CAPTURE(k);
    auto const found = run_rounded(draw, 300, segments{300, {.length = step_index(30 + draw() % 300)}});
    CHECK(found.states > 0);
    CHECK(found.states <= found.drift);
    CHECK(found.gradient <= 1e-9);
    CHECK(found.drift <= 1e-10);
  }
}
TEST_CASE("so they are in a hundred longer loops, and in one of 100,000 steps", "[.soak][reversible]") {
  std::mt19937_64 draw{13};
  double worst = 0;
  for (long k = 0; k < 100; ++k) {
    auto const found = run_rounded(draw, 2000, segments{2000, {.length = step_index(50 + draw() % 2000)}});
    CHECK(found.gradient <= 1e-9);
    CHECK(found.states <= found.drift);
    worst = std::max(worst, found.states / found.drift);
  }
  std::printf("error of states over reported drift, the largest of 100: %.3g\n", worst);
  auto const found = run_rounded(draw, 100'000, segments{100'000});
  std::printf("leapfrog, 100,000 steps, one segment: gradient within %.3g, states within %.3g, drift %.3g\n", found.gradient,
              found.states, found.drift);
  CHECK(found.gradient <= 1e-9);
  CHECK(found.states <= found.drift);
  CHECK(found.drift <= 1e-10);
}
