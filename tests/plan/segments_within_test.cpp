// SPDX-License-Identifier: Apache-2.0
// Segments within a budget: against every number of slots and every length of short loops, and where running backwards
// pays.
#include <random>
#include <cairn/core/bytes.hpp>
#include <cairn/plan/loop/advise.hpp>
#include <cairn/plan/loop/pareto.hpp>
#include <cairn/plan/loop/segments_within.hpp>
#include <cairn/schedule/revolve.hpp>
#include "support/catch.hpp"

using namespace cairn;

namespace {
workload loop_of(step_index n, wide state, reversible_costs const& costs, step_form form = step_form::in_place) {
  workload work{.steps = n, .state_bytes = state, .reversible = costs};
  work.form.step = form;
  return work;
}
/// The bytes of segments as `estimate` counts them, at most three states too high.
wide bytes_of(segments const& plan, workload work) {
  wide const kept = work.reversible->kept_bytes;
  work.reversible.reset();
  work.form.adjoint = adjoint_form::leaf;
  work.tape_bytes = plan.leaf() > 1 ? work.state_bytes * (work.form.step == step_form::out_of_place ? 2 : 1) : 0;
  work.tape_step_bytes = plan.leaf() > 1 ? kept : 0;
  return detail::itemised(plan, work, 0).sum.memory_bytes;
}
}  // namespace

TEST_CASE("no other segments within a budget run fewer steps", "[plan][segments]") {
  std::mt19937 draw{3};
  for (int k = 0; k < 120; ++k) {
    auto const n = step_index(draw() % 41);
    wide const state = 100 + draw() % 400, kept = draw() % 120;
    auto const longest = draw() % 3 == 0 ? step_index(1 + draw() % 12) : step_index{0};
    workload const work = loop_of(n, state, {.kept_bytes = kept, .longest = longest}, draw() % 2 == 0 ? step_form::in_place : step_form::out_of_place);
    wide const budget = state * (3 + draw() % 12);
    INFO(n << " steps, states of " << int(state) << ", kept " << int(kept) << ", budget " << int(budget));
    wide fewest = 0;
    bool any = false;
    for (slot_index slots = 1; slots <= 40; ++slots)
      for (step_index length = 1; length <= std::max<step_index>(longest > 0 ? longest : n, 1); ++length) {
        segments const plan{n, {.length = length, .slots = slots}};
        if (bytes_of(plan, work) > budget) continue;
        wide const runs = segments::fewest_runs(n, length, slots);
        if (!any || runs < fewest) fewest = runs;
        any = true;
      }
    if (!any) {
      CHECK_THROWS_AS(segments_within(byte_size{std::int64_t(budget)}, work), infeasible_budget);
      continue;
    }
    auto const found = segments_within(byte_size{std::int64_t(budget)}, work);
    CHECK(bytes_of(found.schedule, work) <= budget);
    CHECK(found.cost.memory_bytes <= budget);
    CHECK(segments::fewest_runs(n, found.schedule.leaf(), std::max<slot_index>(found.schedule.slots(), 1)) == fewest);
  }
}

TEST_CASE("strips that fit make one segment; states as large as strips are better kept", "[plan][segments]") {
  auto const wave = segments_within("8MB", loop_of(2'500, 262'144, {.kept_bytes = 2'500}));
  CHECK(wave.schedule.slots() == 0);
  CHECK(wave.cost.step_calls == 2'500);
  CHECK(wave.cost.steps_again == 0);
  CHECK(wave.cost.steps_back == 2'500);
  CHECK(wave.pays());
  CHECK(wave.checkpoints->step_calls > 2 * 2'500);

  auto const some = segments_within("4MB", loop_of(2'500, 262'144, {.kept_bytes = 2'500}));
  CHECK(some.schedule.slots() > 0);
  CHECK(some.cost.steps_again > 0);
  CHECK(some.cost.memory_bytes <= 4'000'000);

  auto const whole = segments_within("4MB", loop_of(2'500, 262'144, {.kept_bytes = 262'144}));
  CHECK_FALSE(whole.pays());

  workload timed = loop_of(2'500, 262'144, {.kept_bytes = 2'500, .back_seconds = 0.1});
  timed.step_seconds = 1e-3;
  auto const dear = segments_within("8MB", timed);
  CHECK_FALSE(dear.pays());
  CHECK(advise("8MB", timed).best.by == planner::revolve);
  timed.reversible->back_seconds = 1e-3;
  CHECK(segments_within("8MB", timed).pays());
  CHECK(advise("8MB", timed).best.by == planner::segments);
  CHECK_THROWS_AS(segments_within("1kB", timed), infeasible_budget);
  CHECK_THROWS_AS(segments_within("1MB", workload{.state_bytes = 8, .reversible = reversible_costs{}}), invalid_plan);
  CHECK_THROWS_AS(segments_within("1MB", workload{.steps = 8, .state_bytes = 8}), invalid_plan);
  timed.reversible->back_seconds = -1;
  CHECK_THROWS_AS(segments_within("8MB", timed), invalid_plan);
}

TEST_CASE("long loops and many slots are planned at once", "[plan][segments]") {
  auto const found = segments_within("1GB", loop_of(step_index{1} << 40, 10'000, {.kept_bytes = 100}));
  CHECK(found.cost.memory_bytes <= 1'000'000'000);
  CHECK(found.schedule.slots() > 1'000);
}

TEST_CASE("an estimate, advice and a front know what runs backwards", "[plan][segments]") {
  std::mt19937 draw{5};
  for (int k = 0; k < 60; ++k) {
    auto const n = step_index(2 + draw() % 300);
    workload work = loop_of(n, 1000 + draw() % 9000, {.kept_bytes = draw() % 900, .keep_all = draw() % 2 == 0});
    bool const timed = draw() % 2 == 0;
    if (timed) work.step_seconds = 1e-3, work.reversible->back_seconds = 1e-3 * double(draw() % 30) / 10;
    segments const plan{n, {.length = step_index(1 + draw() % 40), .slots = slot_index(1 + draw() % 12)}};
    INFO(n << " steps, segments of " << plan.leaf() << ", kept " << int(work.reversible->kept_bytes));
    workload plain = work;
    plain.reversible.reset();
    plain.form.adjoint = plan.leaf() > 1 ? adjoint_form::leaf : adjoint_form::one_step;
    plain.tape_bytes = 0;
    auto const without = estimate(plan, plain), sum = estimate(plan, work);
    bool const back = plan.leaf() > 1;
    CHECK(sum.step_calls == without.step_calls);
    if (!back) CHECK(sum.steps_back == 0);
    else CHECK((sum.steps_back <= wide(n) && sum.steps_back >= wide(n - plan.slots())));
    double const more = double(sum.steps_again) * work.step_seconds +
                        double(sum.steps_back) * work.reversible->back_seconds.value_or(work.step_seconds);
    CHECK(sum.seconds == Approx(without.seconds + more));
    if (back)
      CHECK(sum.memory_bytes - without.memory_bytes ==
            work.state_bytes + work.reversible->kept_bytes * wide(work.reversible->keep_all ? n : plan.leaf()));

    auto const front = pareto(work, 12);
    for (auto const& point : front) {  // advice within its bytes is no worse, and nothing is below its bounds
      auto const advised = advise(byte_size{std::int64_t(point.cost.memory_bytes)}, work);
      CHECK_FALSE(is_cheaper(point.cost, advised.best.cost, work));
      CHECK(advised.best.proof.step_calls_gap() >= 0);
      CHECK(advised.best.proof.seconds_gap() >= 0);
      try {
        auto const backwards = segments_within(byte_size{std::int64_t(point.cost.memory_bytes)}, work);
        CHECK_FALSE(is_cheaper(backwards.cost, advised.best.cost, work));
        CHECK(backwards.pays() == (!backwards.checkpoints || (timed ? backwards.cost.seconds < backwards.checkpoints->seconds
                                                                    : backwards.cost.steps_run() <
                                                                          backwards.checkpoints->steps_run())));
      } catch (infeasible_budget const&) {
        CHECK(advised.best.by != planner::segments);
      }
    }
  }
}
