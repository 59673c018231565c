// SPDX-License-Identifier: Apache-2.0
// Steps that run backwards in loops of unknown length: bits, what runs again, second reversals, stops.
#include <limits>
#include <cairn/cairn.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/run/resume_while.hpp>
#include <cairn/schedule/online_segments.hpp>
#include "support/catch.hpp"
#include "support/reversible_loops.hpp"

using namespace reversible_loops;
using cairn::reversal_report;
using cairn::reversible;
using cairn::store_all;

TEST_CASE("a loop of unknown length goes backwards after its turn, with the bits of storing everything", "[reversible]") {
  auto const objective = cairn::at_every(3, value, slope) + cairn::at_end(value, slope);
  for (step_index const n : {0, 1, 2, 7, 8, 9, 64, 101}) {
    auto const stored = cairn::differentiate(mixed_plain(), mixed{}, 0.7, store_all(n), objective);
    for (step_index const length : {1, 2, 7, 8, 200})
      for (cairn::slot_index const slots : {1, 2, 5}) {
        INFO(n << " steps, segments of " << length << ", " << slots << " slots");
        reversal_report report;
        cairn::online_segments const plan{{.length = length, .slots = slots}};
        nothing_counted const now;
        auto const found =
            cairn::differentiate(mixed_model({.exact = true, .report = &report}), mixed{}, 0.7,
                                 cairn::run_while{[&](mixed const&, step_index i) { return i < n; }, plan}, objective);
        CHECK(same_bits(found, stored));
        cairn::workload const work{.state_bytes = 64, .reversible = cairn::reversible_costs{.kept_bytes = 8}};
        auto const said = cairn::estimate(plan.stopping_at(n), work);
        CHECK(cairn::wide(steps) == said.step_calls + said.steps_again);
        CHECK(said.steps_again == report.steps_again);
        CHECK(said.steps_back == report.steps_back);
        CHECK(cairn::wide(backs) == report.steps_back);
        CHECK(report.most_kept <= length);
      }
  }
  CHECK_THROWS_AS(cairn::online_segments({.length = 0, .slots = 3}), cairn::invalid_plan);
  CHECK_THROWS_AS(cairn::online_segments({.length = 3}), cairn::invalid_plan);
  cairn::online_segments const longest{{.length = std::numeric_limits<step_index>::max(), .slots = 2}};
  CHECK(longest.stopping_at(50).slots() == 1);
  auto const all = cairn::differentiate(mixed_model({.exact = true}), mixed{}, 0.7,
                                        cairn::run_while{[](mixed const&, step_index i) { return i < 9; }, longest}, objective);
  CHECK(same_bits(all, cairn::differentiate(mixed_plain(), mixed{}, 0.7, store_all(9), objective)));
}

TEST_CASE("a kept loop of unknown length goes backwards twice, and goes on where it was stopped", "[reversible]") {
  struct stop {};
  step_index const n = 37;
  int left = -1;
  auto const seed = [](mixed const& x) { return mixed{0, 0, x.y, 1}; };
  auto const by_one = [&](mixed& x, step_index i) {
    if (left >= 0 && left-- == 0) throw stop{};
    return mixed_step(x, 0.7, i), i + 1 < n;  // the step itself ends the loop
  };
  auto const keep = [](mixed const& x, step_index i) { return mixed_keep(x, 0.7, i); };
  auto const back = [](mixed& x, lost const& from, step_index i) { mixed_back(x, from, 0.7, i); };
  auto const adjoint = [](mixed const& x, mixed& bar, step_index i) {
    double dp = 0;
    mixed_adjoint(x, bar, 0.7, dp, i);
  };
  auto const always = [](mixed const&) { return true; };
  auto const stored = cairn::gradient([](mixed& x, step_index i) { mixed_step(x, 0.7, i); }, mixed{}, store_all(n), seed,
                                      adjoint);
  cairn::online_segments const plan{{.length = 5, .slots = 3}};
  auto m = cairn::model{reversible{by_one, keep, back, {.exact = true}}, adjoint};
  auto run = cairn::checkpointed_while(m.step, mixed{}, always, plan);
  CHECK(run.steps() == n);
  CHECK(run.reverse(seed, m.adjoint) == stored);
  CHECK(run.reverse(seed, m.adjoint) == stored);
  CHECK_THROWS_AS(run.reverse(seed, adjoint), cairn::error);  // it takes one step, a segment has five
  for (int after = 0; after < 4 * n; ++after) {
    auto work = cairn::workspace_for<mixed>(plan);
    left = after;
    try {
      auto other = cairn::checkpointed_while(m.step, mixed{}, always, plan, work);
      auto const found = other.reverse(seed, m.adjoint);
      CHECK(found == stored);
      if (left >= 0) break;  // it has outlived all calls
    } catch (stop const&) {
      left = -1;
      CHECK(cairn::resume(m.step, mixed{}, cairn::run_while{always, plan}, seed, m.adjoint, work) == stored);
    }
    left = -1;
  }
}
