// SPDX-License-Identifier: Apache-2.0
// Steps that run backwards with what goes around them: hooks, several bars, jumps, chosen steps; and objects.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/with/adaptive.hpp>
#include <cairn/run/with/each_bar.hpp>
#include <cairn/run/with/hook.hpp>
#include <cairn/run/with/jumps.hpp>
#include <cairn/run/with/reversible.hpp>
#include <cairn/schedule/segments.hpp>
#include "support/catch.hpp"
#include "support/pendulum.hpp"

using cairn::reversal_report;
using cairn::reversible;
using cairn::reversible_options;
using cairn::segments;
using cairn::step_index;
using cairn::store_all;

TEST_CASE("hooks, several bars and jumps around and inside a reversible step", "[reversible]") {
  using state = std::array<double, 2>;
  auto const step = [](state& x, step_index i) { x[0] += 0.1 * std::sin(x[1]), x[1] += 0.1 * x[0] + 0.01 * double(i); };
  auto const keep = [](state const& x, step_index) { return x; };
  auto const back = [](state& x, state const& before, step_index) { x = before; };
  auto const adjoint = [](state const& x, state& bar, step_index) {
    bar[0] += 0.1 * bar[1];
    bar[1] += 0.1 * std::cos(x[1]) * bar[0];
  };
  state const x0{0.4, 0.9}, seed{1, 0};
  std::vector<double> noted, stored_noted;
  auto const note = [](std::vector<double>& to) {
    return [&to](state const& x, state& bar, step_index i) {
      bar[0] += 0.5 * x[0];
      to.push_back(bar[1] + double(i));
    };
  };
  segments const plan{40, {.length = 9, .slots = 2}};
  auto const options = reversible_options{.exact = true};

  auto const stored = cairn::gradient(step, x0, store_all(40), seed, cairn::hooked(adjoint, note(stored_noted)));
  auto inside = cairn::model{reversible{step, keep, back, options}, cairn::hooked(adjoint, note(noted))};
  CHECK(cairn::gradient(inside.step, x0, plan, seed, inside.adjoint) == stored);
  CHECK(noted == stored_noted);

  using bars = std::array<state, 2>;
  bars const seeds{{{1, 0}, {0, 1}}};
  auto const each = cairn::gradient(step, x0, store_all(40), seeds, cairn::each_bar(adjoint));
  auto m = cairn::model{reversible{step, keep, back, options}, adjoint};
  CHECK(cairn::gradient(m.step, x0, plan, seeds, cairn::each_bar(m.adjoint)) == each);
  auto both = cairn::model{reversible{step, keep, back, options}, cairn::each_bar(adjoint)};
  CHECK(cairn::gradient(both.step, x0, plan, seeds, both.adjoint) == each);

  auto const bounce = [](state& x) { x[1] = -0.8 * x[1]; };
  auto const bounce_back = [](state const&, state& bar) { bar[1] = -0.8 * bar[1]; };
  auto const low = [](state const& x) { return x[1] > 1.5; };
  cairn::with_jumps plain{step, adjoint, cairn::jump_at(13, bounce, bounce_back), cairn::jump_when(low, bounce, bounce_back)};
  auto const jumped = cairn::gradient(plain.step, x0, store_all(40), seed, plain.adjoint);
  cairn::with_jumps around{m.step, m.adjoint, cairn::jump_at(13, bounce, bounce_back),
                           cairn::jump_when(low, bounce, bounce_back)};
  CHECK(cairn::gradient(around.step, x0, plan, seed, around.adjoint) == jumped);
  auto knows = cairn::model{reversible{plain.step, keep, back, options}, plain.adjoint};
  CHECK(cairn::gradient(knows.step, x0, plan, seed, knows.adjoint) == jumped);
  CHECK(cairn::gradient(knows.step, x0, segments{40}, seed, knows.adjoint) == jumped);
}

TEST_CASE("adaptive steps go backwards by the record of their sizes", "[reversible]") {
  using state = std::array<double, 2>;
  auto const move = [](state& x, double h) { x[0] += h * x[1], x[1] -= h * std::sin(x[0]); };
  auto const first = [&](state& x, step_index) {
    double const h = std::abs(x[1]) > 0.5 ? 0.05 : 0.1;
    move(x, h);
    return h;
  };
  auto const again = [&](state& x, step_index, double h) { move(x, h); };
  auto const adjoint = [](state const& x, state& bar, step_index, double h) {
    double const q = x[0] + h * x[1];
    bar[0] -= h * std::cos(q) * bar[1];
    bar[1] += h * bar[0];
  };
  auto const back = [](state& x, step_index, double h) { x[1] += h * std::sin(x[0]), x[0] -= h * x[1]; };
  state const x0{0.4, 0.9}, seed{1, 0};
  cairn::adaptive loop{first, again};
  auto const stored = cairn::gradient(loop.step(), x0, store_all(80), seed, loop.with_record(adjoint));
  for (auto const& plan : {segments{80}, segments{80, {.length = 20, .slots = 2}}}) {
    reversal_report report;
    auto m = cairn::model{reversible{loop.step(), loop.with_record(back), {.drift = 1e-12, .report = &report}},
                          loop.with_record(adjoint)};
    auto const found = cairn::gradient(m.step, x0, plan, seed, m.adjoint);
    CHECK(found[0] == Approx(stored[0]).epsilon(1e-12));
    CHECK(found[1] == Approx(stored[1]).epsilon(1e-12));
    CHECK(report.steps_back == 80);
  }
}

namespace {
/// A solver that stays where it is.
struct solver {
  solver() = default;
  solver(solver const&) = delete;
  solver& operator=(solver const&) = delete;
  [[nodiscard]] std::vector<double> save() const { return ++saves, v; }
  void restore(std::vector<double> const& snapshot) { v = snapshot; }
  std::vector<double> v{0.4, 0.9};
  static inline long saves = 0;
};
}  // namespace

TEST_CASE("objects go backwards by restoring their members", "[reversible]") {
  auto const step = [](solver& x, step_index i) { pendulum::swing(x.v, x.v, i); };
  auto const keep = [](solver const& x) { return x.v[1]; };
  auto const back = [](solver& x, double const& speed, step_index i) {
    x.v[0] -= 0.01 * (speed + std::sin(0.1 * double(i)));
    x.v[1] = speed;
  };
  auto const reads = [](solver const& x, std::vector<double>& bar, step_index) { pendulum::swing_back(x.v, bar); };
  auto const moves = [](solver& x, std::vector<double>& bar, step_index) {
    pendulum::swing_back(x.v, bar);
    x.v = {7, 7};
  };
  auto const seed = [](solver const& x) { return x.v; };
  auto const value = cairn::at_every(
      3, [](solver const& x) { return x.v[0]; }, [](solver const&, std::vector<double>& bar) { bar[0] += 1; });
  auto const zero = [](solver const&) { return std::vector<double>(2); };
  solver first;
  auto const stored = cairn::gradient(step, first, store_all(40), seed, reads);
  solver second;
  auto const stored_sum = cairn::differentiate(cairn::model{step, reads, zero}, second, store_all(40), value);
  for (auto const& plan : {segments{40}, segments{40, {.length = 9, .slots = 2}}}) {
    auto const each = [&](auto adjoint) {
      reversal_report report;
      auto m = cairn::model{reversible{step, keep, back, {.drift = 1e-13, .report = &report}}, adjoint, zero};
      solver x;
      auto const found = cairn::gradient(m.step, x, plan, seed, m.adjoint);
      CHECK(found[0] == Approx(stored[0]).epsilon(1e-12));
      CHECK(found[1] == Approx(stored[1]).epsilon(1e-12));
      CHECK(report.steps_back == 40);
      solver y;
      auto const sum = cairn::differentiate(m, y, plan, value);
      CHECK(sum.value == stored_sum.value);
      CHECK(sum.state[1] == Approx(stored_sum.state[1]).epsilon(1e-12));
      solver z;
      auto run = cairn::checkpointed_loop(m.step, z, plan);
      CHECK(run.reverse(seed, m.adjoint)[0] == Approx(stored[0]).epsilon(1e-12));
    };
    each(reads);
    each(moves);
  }
}

TEST_CASE("at the first step of a segment the adjoint sees the state that is held", "[reversible]") {
  using numbers = std::vector<double>;
  segments const plan{60, {.length = 13}};
  std::vector<step_index> starts;
  cairn::detail::each_action(plan, [&](cairn::action const& a) {
    if (a.kind == cairn::action_kind::reverse) starts.push_back(a.from);
  });
  std::vector<numbers> truth{pendulum::start().v};
  for (step_index i = 0; i < 60; ++i) truth.push_back(truth.back()), pendulum::swing(truth.back(), truth.back(), i);
  std::vector<step_index> seen;
  auto const sees = [&](numbers const& v, step_index i) {
    if (v == truth[std::size_t(i)]) seen.push_back(i);
  };
  auto const undo = [](numbers& v, step_index i) {  // by fixed-point iteration, within rounding
    numbers const after = v;
    for (int k = 0; k < 40; ++k) {
      numbers next = v;
      pendulum::swing(v, next, i);
      for (std::size_t c = 0; c < 2; ++c) v[c] += after[c] - next[c];
    }
  };
  auto const holds_all = [&] {
    for (auto const i : starts)
      if (std::find(seen.begin(), seen.end(), i) == seen.end()) return false;
    return seen.size() < 60;
  };
  reversal_report report;
  auto m = cairn::model{reversible{[](numbers& x, step_index i) { pendulum::swing(x, x, i); }, undo, {.report = &report}},
                        [&](numbers const& x, numbers& bar, step_index i) { sees(x, i), pendulum::swing_back(x, bar); }};
  (void)cairn::gradient(m.step, truth[0], plan, numbers{1, 1}, m.adjoint);
  CHECK(report.drift > 0);
  CHECK(holds_all());
  seen.clear();
  auto o = cairn::model{
      reversible{[](solver& x, step_index i) { pendulum::swing(x.v, x.v, i); },
                 [&](solver& x, step_index i) { undo(x.v, i); }, {.report = &report}},
      [&](solver const& x, numbers& bar, step_index i) { sees(x.v, i), pendulum::swing_back(x.v, bar); }};
  solver x;
  x.v = truth[0];
  (void)cairn::gradient(o.step, x, plan, numbers{1, 1}, o.adjoint);
  CHECK(report.drift > 0);
  CHECK(holds_all());
}
