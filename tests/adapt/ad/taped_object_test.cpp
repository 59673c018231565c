// SPDX-License-Identifier: Apache-2.0
// A program with one typedef for its numbers and one object, over the stand-in for CoDiPack: against one tape.
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>
#include <cairn/adapt/ad.hpp>
#include <cairn/adapt/codipack.hpp>
#include <cairn/cairn.hpp>
#include <cairn/profile/measured.hpp>
#include "support/catch.hpp"

namespace {

using cairn::step_index;
typedef codi::RealReverse real;
using numbers = std::vector<double>;

/// The program: everything is a global object, and its numbers are the tool's.
struct {
  std::vector<real> u = std::vector<real>(6), scratch = std::vector<real>(6);
  real energy = 0.0, rate = 0.3;
  real pair[2];
  int cycle = 0;
  bool odd = false;

  template <class F>
  void each(F const& f) {
    f(u);
    f(energy);
    f(pair);
    f(cycle);
    f(odd);
    f(rate);
  }
} domain;
void advance() {
  for (std::size_t k = 0; k < domain.u.size(); ++k)
    domain.scratch[k] = domain.rate * domain.u[k] * (1.0 - domain.u[(k + 1) % domain.u.size()]);
  for (std::size_t k = 0; k < domain.u.size(); ++k) domain.u[k] += (domain.odd ? 0.5 : 1.0) * domain.scratch[k];
  domain.energy += domain.u[0] * domain.u[1] * double(domain.cycle);
  domain.pair[1] = domain.pair[0] * domain.u[2];
  domain.pair[0] = domain.pair[1] + 0.1;
  domain.odd = ++domain.cycle % 3 == 1;
}
void begin() {
  for (std::size_t k = 0; k < 6; ++k) domain.u[k] = 0.1 * double(k + 1);
  domain.energy = 0.0;
  domain.rate = 0.3;
  domain.pair[0] = 0.7;
  domain.pair[1] = 0.2;
  domain.cycle = 0;
  domain.odd = false;
}
auto pass = [](auto const& f) { domain.each(f); };

/// All steps on one tape.
numbers of_one_tape(step_index steps, double& value) {
  begin();
  cairn::codipack_tape<> tape;
  std::vector<real*> all;
  for (real& v : domain.u) all.push_back(&v);
  for (real* v : {&domain.energy, &domain.pair[0], &domain.pair[1], &domain.rate}) all.push_back(v);
  tape.begin(all.size());
  for (real* v : all) tape.independent(*v, v->value());
  tape.record();
  for (step_index i = 0; i < steps; ++i) advance();
  real const sum = domain.energy + domain.pair[0];
  value = sum.value();
  tape.dependent(sum);
  tape.end();
  double const one = 1;
  numbers bars(all.size());
  tape.reverse(&one, bars.data());
  return bars;
}

}  // namespace

TEST_CASE("a program with one typedef has the gradient of one tape, for every plan", "[ad]") {
  for (step_index const n : {0, 1, 2, 23}) {
    double value = 0;
    numbers const known = of_one_tape(n, value);
    cairn::taped_object loop{cairn::codipack_tape<>{}, pass, [] { advance(); }};
    auto const seed = loop.seed([] { return domain.energy + domain.pair[0]; });
    auto const check = [&](auto const& plan) {
      begin();
      cairn::sweep_options const careful{.verify = cairn::replay_check::every_step};
      auto const found = cairn::gradient(loop.step, loop, plan, seed, loop.adjoint, careful);
      REQUIRE(found.size() == known.size());
      for (std::size_t k = 0; k < known.size(); ++k) CHECK(std::abs(found[k] - known[k]) <= 1e-13 * std::abs(known[k]));
      CHECK(loop.value() == value);
      return found;
    };
    auto const all = check(cairn::store_all(n));
    if (n == 0) continue;
    CHECK(check(cairn::revolve{n, 1}) == all);
    CHECK(check(cairn::revolve{n, 3}) == all);
    CHECK(check(cairn::leaves(n, 4, cairn::revolve{(n + 3) / 4, 2})) == all);
  }
}

TEST_CASE("a budget knows what the seed of a taped object records", "[ad]") {
  for (int const passes : {1, 100'000}) {
    begin();
    cairn::taped_object loop{cairn::codipack_tape<>{}, pass, [] { advance(); }};
    auto const seed = loop.seed([passes] {
      real sum = 0.0;
      for (int k = 0; k < passes; ++k) sum += domain.energy * double(k);
      return sum;
    });
    cairn::sweep_report report;
    cairn::measured const budget{cairn::budget_of{23, "64MB"}};
    (void)cairn::gradient(loop.step, loop, budget, seed, loop.adjoint, report);
    CHECK(report.counted.tapes <= report.predicted.tapes);
    CHECK(double(report.predicted.tapes) <= 1.05 * double(report.counted.tapes));
  }
}

TEST_CASE("a replay check finds what each(f) of a taped object leaves out", "[ad]") {
  begin();
  auto const lacking = [](auto const& f) { f(domain.u), f(domain.energy), f(domain.pair), f(domain.rate); };
  cairn::taped_object loop{cairn::codipack_tape<>{}, lacking, [] { advance(); }};
  auto const seed = loop.seed([] { return domain.energy; });
  cairn::sweep_options const careful{.verify = cairn::replay_check::checkpoints};
  CHECK_THROWS_AS((void)cairn::gradient(loop.step, loop, cairn::revolve{23, 3}, seed, loop.adjoint, careful),
                  cairn::error);
}

TEST_CASE("a step of a taped object may take its number, throw, and find other sizes", "[ad]") {
  begin();
  int left = -1;
  cairn::codipack_tape<> tool;
  cairn::taped_object loop{tool, pass, [&left](step_index i) {
                             if (left-- == 0) throw std::runtime_error{"no"};
                             domain.rate = domain.rate * (1.0 + 0.01 * double(i));
                             advance();
                           }};
  auto const seed = loop.seed([] { return domain.energy; });
  auto const run = [&] {
    begin();
    return cairn::gradient(loop.step, loop, cairn::revolve{9, 2}, seed, loop.adjoint);
  };
  auto const known = run();
  int const all = -1 - left;
  for (int calls = 0; calls < all; ++calls) {
    left = calls;
    CHECK_THROWS_AS(run(), std::runtime_error);
    CHECK_FALSE(real::getTape().isActive());
  }
  left = -1;
  CHECK(run() == known);

  auto const taken = loop.save();
  domain.u.push_back(0.5);
  CHECK_THROWS_AS(loop.restore(taken), cairn::invalid_call);
  domain.u.resize(5);
  CHECK_THROWS_AS(loop.restore(taken), cairn::invalid_call);
  domain.u.resize(6);
  loop.restore(taken);
  struct part {
    double mass = 1;
  } one;
  auto const of_class = [&one](auto const& f) { f(one); };
  CHECK_THROWS_AS((cairn::taped_object{tool, of_class, [] { advance(); }}), cairn::invalid_call);
  cairn::taped_object growing{tool, pass, [] { domain.u.push_back(0.5); }};
  auto bar = known;
  CHECK_THROWS_AS(growing.adjoint(growing, bar, 0, 1), cairn::invalid_call);
  domain.u.resize(6);
}
