// SPDX-License-Identifier: Apache-2.0
// Steps that run backwards: gradients against storing everything, what runs again and what does not, and inverses that
// are none.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/run/resume.hpp>
#include <cairn/run/value_and_gradient.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/segments.hpp>
#include "support/catch.hpp"
#include "support/pendulum.hpp"
#include "support/reversible_loops.hpp"

using namespace reversible_loops;
using cairn::leaves;
using cairn::reversal_error;
using cairn::reversal_report;
using cairn::reversible;
using cairn::reversible_options;
using cairn::revolve;
using cairn::segments;
using cairn::store_all;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a loop that runs backwards in one segment runs no step again", "[reversible]") {
  reversal_report report;
  auto const objective = cairn::at_every(3, value, slope);
  auto const stored = cairn::differentiate(mixed_plain(), mixed{}, 1.5, store_all(200), objective);
  nothing_counted const now;
  auto const found = cairn::differentiate(mixed_model({.exact = true, .report = &report}), mixed{}, 1.5,
                                          segments{200}, objective);
  CHECK(same_bits(found, stored));
  CHECK(steps == 200);
  CHECK(backs == 200);
  CHECK(kept == 200);
  CHECK(report.drift == 0);
  CHECK(report.segments == 1);
  CHECK(report.steps_again == 0);
  CHECK(report.steps_back == 200);
  CHECK(report.most_kept == 200);
  CHECK(report.kept_bytes == 200 * sizeof(lost));
}

TEST_CASE("segments run again once, but for the last of the loop", "[reversible]") {
  auto const objective = cairn::at_end(value, slope);
  auto const stored = cairn::differentiate(mixed_plain(), mixed{}, 0.7, store_all(100), objective);
  for (step_index const length : {1, 2, 7, 30, 99})
    for (cairn::slot_index const slots : {1, 2, 0}) {
      INFO("segments of " << length << ", " << slots << " slots");
      reversal_report report;
      segments const plan{100, {.length = length, .slots = slots}};
      nothing_counted const now;
      auto const found = cairn::differentiate(mixed_model({.exact = true, .report = &report}), mixed{}, 0.7, plan,
                                              objective);
      CHECK(same_bits(found, stored));
      CHECK(cairn::wide(steps) == plan.counts().advances + plan.counts().turned + report.steps_again);
      if (length > 1) CHECK(cairn::wide(steps) <= segments::fewest_runs(100, length, slots == 0 ? 100 : slots));
      cairn::workload const work{.state_bytes = 64, .reversible = cairn::reversible_costs{.kept_bytes = 8}};
      auto const said = cairn::estimate(plan, work);
      CHECK(said.step_calls == plan.counts().advances + plan.counts().turned);
      CHECK(said.steps_again == report.steps_again);
      CHECK(said.steps_back == report.steps_back);
      CHECK(cairn::wide(backs) == report.steps_back);
      CHECK(report.most_kept <= length);
    }
}

TEST_CASE("with the kept parts of all steps no step runs again between checkpoints", "[reversible]") {
  reversal_report report;
  auto const objective = cairn::at_every(5, value, slope);
  auto const stored = cairn::differentiate(mixed_plain(), mixed{}, 0.7, store_all(100), objective);
  for (step_index const length : {2, 7, 30, 100}) {
    nothing_counted const now;
    auto const found =
        cairn::differentiate(mixed_model({.exact = true, .keep_all = true, .report = &report}), mixed{}, 0.7,
                             segments{100, {.length = length}}, objective);
    INFO("segments of " << length);
    CHECK(same_bits(found, stored));
    CHECK(steps == 100);
    CHECK(report.steps_again == 0);
    CHECK(report.segments == cairn::step_index((100 + length - 1) / length));
    CHECK(report.most_kept == 100);
  }
}

TEST_CASE("a plan without leaves never runs a step backwards", "[reversible]") {
  auto const objective = cairn::at_end(value, slope);
  auto const stored = cairn::differentiate(mixed_plain(), mixed{}, 0.7, store_all(50), objective);
  nothing_counted const now;
  CHECK(same_bits(cairn::differentiate(mixed_model(), mixed{}, 0.7, revolve{50, 4}, objective), stored));
  CHECK(same_bits(cairn::differentiate(mixed_model(), mixed{}, 0.7, 50, objective), stored));
  auto const while_short = [](mixed const&, step_index i) { return i < 50; };
  CHECK(same_bits(cairn::differentiate(mixed_model(), mixed{}, 0.7,
                                       cairn::run_while{while_short, cairn::online{4}}, objective),
                  stored));
  CHECK(backs == 0);
  CHECK(kept == 0);
}

TEST_CASE("loops of no step and of one step have no segment", "[reversible]") {
  auto const objective = cairn::at_end(value, slope);
  nothing_counted const now;
  for (step_index const n : {0, 1}) {
    auto const stored = cairn::differentiate(mixed_plain(), mixed{}, 0.7, store_all(n), objective);
    CHECK(same_bits(cairn::differentiate(mixed_model(), mixed{}, 0.7, segments{n}, objective), stored));
  }
  CHECK(backs == 0);
  CHECK(cairn::differentiate(mixed_model(), mixed{}, 0.7, segments{2}, objective).value ==
        cairn::differentiate(mixed_plain(), mixed{}, 0.7, store_all(2), objective).value);
  CHECK(backs == 2);
}

TEST_CASE("gradient, kept runs and value_and_gradient go backwards", "[reversible]") {
  double const p = 0.7;
  double dp = 0, stored_dp = 0;
  auto const seed = [](mixed const& x) { return mixed{0, 0, 2 * x.y, 1}; };
  auto plain = mixed_plain();
  auto const stored =
      cairn::gradient(plain.step, mixed{}, store_all(60), seed, plain.adjoint, cairn::wrt{p, stored_dp});
  auto m = mixed_model({.exact = true});
  segments const plan{60, {.length = 11, .slots = 2}};
  CHECK(cairn::gradient(m.step, mixed{}, plan, seed, m.adjoint, cairn::wrt{p, dp}) == stored);
  CHECK(dp == stored_dp);

  dp = 0;
  nothing_counted const now;
  auto first = cairn::checkpointed_loop(m.step, mixed{}, plan, cairn::wrt{p, dp});
  double const other_p = 0.9;
  double other = 0, other_stored = 0;
  auto second = cairn::checkpointed_loop(m.step, mixed{9, 9, 1, 1}, segments{60}, cairn::wrt{other_p, other});
  CHECK(kept == 11 + 60);
  CHECK(first.reverse(seed, m.adjoint) == stored);  // not from what the second has kept
  CHECK(dp == stored_dp);
  CHECK(kept == 60 + 60);
  CHECK(first.reverse(seed, m.adjoint) == stored);
  CHECK(second.reverse(seed, m.adjoint) ==
        cairn::gradient(plain.step, mixed{9, 9, 1, 1}, store_all(60), seed, plain.adjoint,
                        cairn::wrt{other_p, other_stored}));
  CHECK(other == other_stored);
  CHECK(backs == 60 * 3);
  CHECK(kept == 60 * 3);  // of the second none again

  auto const objective = cairn::at_every(4, value, slope);
  cairn::value_and_gradient f{mixed_model({.exact = true}), segments{60, {.length = 20}}, objective};
  auto g = f;  // with memory of its own
  for (double const at : {0.5, 0.6}) {
    auto const expected = cairn::differentiate(mixed_plain(), mixed{}, at, store_all(60), objective);
    CHECK(same_bits(f(mixed{}, at), expected));
    CHECK(same_bits(g(mixed{}, at), expected));
  }
}

TEST_CASE("every form of a step and of an adjoint of one step can go backwards", "[reversible]") {
  using pendulum::numbers;
  using pendulum::state;
  auto const back = [](state& x, numbers const& before, step_index) { x.v = before; };
  auto const keep = [](state const& x) { return x.v; };
  auto const seed = [](state const& x) { return x.v; };
  auto const start = pendulum::start();
  auto const stored = cairn::gradient(pendulum::in_place{}, start, store_all(40), seed, pendulum::one_step{});
  auto const each = [&](auto step) {
    auto const by = [&](auto adjoint) {
      for (auto const& plan : {segments{40}, segments{40, {.length = 9, .slots = 2}}}) {
        reversal_report report;
        auto m = cairn::model{reversible{step, keep, back, {.exact = true, .report = &report}}, adjoint};
        pendulum::step_calls = 0;
        auto const found = cairn::gradient(m.step, start, plan, seed, m.adjoint);
        CHECK(found == stored);
        CHECK(report.segments > 0);
        CHECK(cairn::wide(pendulum::step_calls) ==
              plan.counts().advances + plan.counts().turned + report.steps_again);
        auto run = cairn::checkpointed_loop(m.step, start, plan);
        CHECK(run.reverse(seed, m.adjoint) == stored);
        CHECK(run.reverse(seed, m.adjoint) == stored);
      }
    };
    by(pendulum::one_step{});
    by(pendulum::one_step_by_value{});
    by(pendulum::with_next{});
    by(pendulum::leaf{});
  };
  each(pendulum::in_place{});
  each(pendulum::by_value{});
  each(pendulum::out_of_place{});
}

TEST_CASE("a wave with damping layers goes backwards from strips within rounding", "[reversible]") {
  wave_line const line;
  std::vector<double> medium(line.cells, 0.25);
  for (std::size_t k = 90; k < 130; ++k) medium[k] = 0.4;
  auto const step = [&](wave& x, std::vector<double> const& m, step_index i) { line.step(x, m, i); };
  auto const adjoint = [&](wave const& x, wave& bar, std::vector<double> const& m, std::vector<double>& dm,
                           step_index i) { line.adjoint(x, bar, m, dm, i); };
  auto const heard = cairn::at_every(
      2, [](wave const& x, auto const&) { return 0.5 * x.now[150] * x.now[150]; },
      [](wave const& x, wave& bar, auto const&, auto&) { bar.now[150] += x.now[150]; });
  step_index const n = 1'500;
  auto const stored =
      cairn::differentiate(cairn::model{step, adjoint}, line.silence(), medium, store_all(n), heard);
  reversal_report report;
  auto const m = cairn::model{
      reversible{step, [&](wave const& x) { return line.keep(x); },
                 [&](wave& x, std::vector<double> const& strip, std::vector<double> const& c, step_index i) {
                   line.back(x, strip, c, i);
                 },
                 {.drift = 1e-10, .report = &report}},
      adjoint};
  for (auto const& plan : {segments{n}, segments{n, {.length = 100}}, segments{n, {.length = 150, .slots = 1}}}) {
    auto const found = cairn::differentiate(m, line.silence(), medium, plan, heard);
    double largest = 0, error = 0;
    for (std::size_t k = 0; k < line.cells; ++k) {
      largest = std::max(largest, std::abs(stored.params[k]));
      error = std::max(error, std::abs(stored.params[k] - found.params[k]));
    }
    CHECK(found.value == stored.value);
    CHECK(error <= 1e-10 * largest);
    CHECK(error > 0);
    CHECK(report.drift > 0);
    CHECK(report.drift < 1e-11);
    CHECK(report.kept_bytes <= cairn::wide(n) * (24 + 24 * sizeof(double)));
  }
}

TEST_CASE("an inverse that is none is refused with its step and its figure", "[reversible]") {
  wave_line const line;
  std::vector<double> const medium(line.cells, 0.25);
  auto const step = [&](wave& x, std::vector<double> const& m, step_index i) { line.step(x, m, i); };
  auto const adjoint = [&](wave const& x, wave& bar, std::vector<double> const& m, std::vector<double>& dm,
                           step_index i) { line.adjoint(x, bar, m, dm, i); };
  auto const heard = cairn::at_end([](wave const& x, auto const&) { return x.now[150]; },
                                   [](wave const&, wave& bar, auto const&, auto&) { bar.now[150] += 1; });
  auto const keep = [&](wave const& x) { return line.keep(x); };
  auto const refused = [&](auto&& kept, auto&& back, std::string const& said) {
    auto const m = cairn::model{reversible{step, kept, back}, adjoint};
    for (auto const& plan : {segments{300}, segments{300, {.length = 150}}}) try {
        (void)cairn::differentiate(m, line.silence(), medium, plan, heard);
        FAIL("a wrong inverse was believed: " << said << plan.leaf());
      } catch (reversal_error const& found) {
        CHECK_THAT(found.what(), ContainsSubstring(said));
        CHECK(found.drift > 1e-8);
        CHECK(found.last - found.state <= plan.leaf());
        CHECK(found.state >= 0);
      }
  };
  refused(
      keep,
      [&](wave& x, std::vector<double> const& strip, std::vector<double> const& c, step_index i) {
        line.back(x, strip, c, i + 1);
      },
      "a state that was made backwards drifts from the one that is held by ");
  refused(
      cairn::keep_nothing,
      [&](wave& x, std::vector<double> const& c, step_index i) { line.back_without(x, c, i); }, "is allowed");
  refused(
      keep,
      [&](wave& x, std::vector<double> const& strip, std::vector<double> const& c, step_index i) {
        line.back(x, strip, c, i);
        if (i == 150) x.now[77] = std::nan("");
      },
      "cairn::reversible: a state");
}

TEST_CASE("what is no number is compared, too", "[reversible]") {
  auto const forgets = [](mixed& x, lost const& from, double const& p, step_index i) {
    auto const a = x.a;
    mixed_back(x, from, p, i);
    if (i == 10) x.a = a;
  };
  auto const m = cairn::model{reversible{&mixed_step, &mixed_keep, forgets}, &mixed_adjoint};
  CHECK_THROWS_WITH(cairn::differentiate(m, mixed{}, 0.7, segments{30}, cairn::at_end(value, slope)),
                    ContainsSubstring("differs in what is not a floating-point number"));
}

TEST_CASE("an inverse with rounding is not exact", "[reversible]") {
  using state = std::array<double, 2>;
  auto const step = [](state& x) { x[0] += 0.1 * std::sin(x[1]), x[1] += 0.1 * x[0]; };
  auto const back = [](state& x) { x[1] -= 0.1 * x[0], x[0] -= 0.1 * std::sin(x[1]); };
  auto const adjoint = [](state const& x, state& bar) {
    bar[0] += 0.1 * bar[1];
    bar[1] += 0.1 * std::cos(x[1]) * bar[0];
  };
  state const x0{0.4, 0.9}, seed{1, 0};
  auto near = cairn::model{reversible{step, back}, adjoint};
  auto exact = cairn::model{reversible{step, back, {.exact = true}}, adjoint};
  auto const stored = cairn::gradient(step, x0, store_all(100), seed, adjoint);
  auto const found = cairn::gradient(near.step, x0, segments{100}, seed, near.adjoint);
  CHECK(found[0] == Approx(stored[0]).epsilon(1e-12));
  CHECK_THROWS_WITH(cairn::gradient(exact.step, x0, segments{100}, seed, exact.adjoint),
                    ContainsSubstring("has not the bits"));
  auto none = cairn::model{reversible{step, back, {.drift = 0}}, adjoint};
  CHECK_THROWS_AS(cairn::gradient(none.step, x0, segments{100}, seed, none.adjoint), reversal_error);
}

TEST_CASE("a sweep that a user's function stops goes on, and has the same bits", "[reversible]") {
  auto const objective_seed = [](mixed const& x) { return mixed{0, 0, x.y, 1}; };
  int left = -1;
  auto const may_stop = [&left] {
    if (left >= 0 && left-- == 0) throw std::runtime_error{"stopped"};
  };
  auto const step = [&](mixed& x, step_index i) { may_stop(), mixed_step(x, 0.7, i); };
  auto const keep = [&](mixed const& x, step_index i) { return may_stop(), mixed_keep(x, 0.7, i); };
  auto const back = [&](mixed& x, lost const& from, step_index i) { may_stop(), mixed_back(x, from, 0.7, i); };
  auto const adjoint = [&](mixed const& x, mixed& bar, step_index i) {
    double dp = 0;
    may_stop(), mixed_adjoint(x, bar, 0.7, dp, i);
  };
  segments const plan{30, {.length = 8, .slots = 2}};
  auto const stored = cairn::gradient(step, mixed{}, store_all(30), objective_seed, adjoint);
  for (int stop = 0; stop < 250; ++stop) {
    auto m = cairn::model{reversible{step, keep, back, {.exact = true}}, adjoint};
    auto work = cairn::workspace_for<mixed>(plan);
    left = stop;
    try {
      auto const found = cairn::gradient(m.step, mixed{}, plan, objective_seed, m.adjoint, work);
      CHECK(found == stored);
      if (left >= 0) break;  // it has outlived all calls
    } catch (std::runtime_error const&) {
      left = -1;
      auto const between = cairn::gradient(m.step, mixed{3, 4, 1, 2}, plan, objective_seed, m.adjoint);
      CHECK(between != stored);
      auto const resumed = cairn::resume(m.step, mixed{}, plan, objective_seed, m.adjoint, work);
      CHECK(resumed == stored);
    }
  }
}

TEST_CASE("a sweep that goes on does not take what another one has kept", "[reversible]") {
  bool stops = true;
  auto const step = [](mixed& x, step_index i) { mixed_step(x, 0.7, i); };
  auto const keep = [](mixed const& x, step_index i) { return mixed_keep(x, 0.7, i); };
  auto const back = [](mixed& x, lost const& from, step_index i) { mixed_back(x, from, 0.7, i); };
  auto const adjoint = [&](mixed const& x, mixed& bar, step_index i) {
    if (stops && i == 19) throw std::runtime_error{"stopped"};
    double dp = 0;
    mixed_adjoint(x, bar, 0.7, dp, i);
  };
  auto const seed = [](mixed const& x) { return mixed{0, 0, x.y, 1}; };
  auto m = cairn::model{reversible{step, keep, back, {.exact = true, .keep_all = true}}, adjoint};
  segments const plan{30, {.length = 10}};
  auto work = cairn::workspace_for<mixed>(plan);
  CHECK_THROWS_AS(cairn::gradient(m.step, mixed{}, plan, seed, m.adjoint, work), std::runtime_error);
  CHECK_THROWS_AS(cairn::gradient(m.step, mixed{5, 6, 1, 2}, plan, seed, m.adjoint), std::runtime_error);
  stops = false;
  auto const found = cairn::resume(m.step, mixed{}, plan, seed, m.adjoint, work);
  CHECK(found == cairn::gradient(step, mixed{}, store_all(30), seed, adjoint));
}

TEST_CASE("a replay check looks at the checkpoints of a loop that goes backwards", "[reversible]") {
  auto const seed = [](mixed const& x) { return mixed{0, 0, x.y, 1}; };
  double p = 0.7, dp = 0;
  auto m = mixed_model({.exact = true});
  CHECK_NOTHROW(cairn::gradient(m.step, mixed{}, segments{40, {.length = 5, .slots = 2}}, seed, m.adjoint,
                                cairn::wrt{p, dp}, cairn::sweep_options{.verify = cairn::replay_check::every_step}));
}
