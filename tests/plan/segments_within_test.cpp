// SPDX-License-Identifier: Apache-2.0
// Segments within a budget: against every number of slots and every length of short loops, and where running backwards
// pays.
#include <random>
#include <cairn/core/bytes.hpp>
#include <cairn/plan/loop/segments_within.hpp>
#include <cairn/schedule/revolve.hpp>
#include "support/catch.hpp"

using namespace cairn;

namespace {
workload loop_of(step_index n, wide state, step_form form = step_form::in_place) {
  workload work{.steps = n, .state_bytes = state};
  work.form.step = form;
  return work;
}
/// The bytes of segments as `estimate` counts them, at most three states too high.
wide bytes_of(segments const& plan, workload work, wide kept) {
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
    workload const work = loop_of(n, state, draw() % 2 == 0 ? step_form::in_place : step_form::out_of_place);
    wide const budget = state * (3 + draw() % 12);
    INFO(n << " steps, states of " << int(state) << ", kept " << int(kept) << ", budget " << int(budget));
    wide fewest = 0;
    bool any = false;
    for (slot_index slots = 1; slots <= 40; ++slots)
      for (step_index length = 1; length <= std::max<step_index>(n, 1); ++length) {
        segments const plan{n, {.length = length, .slots = slots}};
        if (bytes_of(plan, work, kept) > budget) continue;
        wide const runs = segments::fewest_runs(n, length, slots);
        if (!any || runs < fewest) fewest = runs;
        any = true;
      }
    if (!any) {
      CHECK_THROWS_AS(segments_within(byte_size{std::int64_t(budget)}, work, {.kept_bytes = kept}), infeasible_budget);
      continue;
    }
    auto const found = segments_within(byte_size{std::int64_t(budget)}, work, {.kept_bytes = kept});
    CHECK(bytes_of(found.schedule, work, kept) <= budget);
    CHECK(found.cost.memory_bytes <= budget);
    CHECK(segments::fewest_runs(n, found.schedule.leaf(), std::max<slot_index>(found.schedule.slots(), 1)) == fewest);
  }
}

TEST_CASE("strips that fit make one segment; states as large as strips are better kept", "[plan][segments]") {
  auto const wave = segments_within("8MB", loop_of(2'500, 262'144), {.kept_bytes = 2'500});
  CHECK(wave.schedule.slots() == 0);
  CHECK(wave.cost.step_calls == 2'500);
  CHECK(wave.steps_again == 0);
  CHECK(wave.steps_back == 2'500);
  CHECK(wave.pays());
  CHECK(wave.revolve_step_calls > 2 * 2'500);

  auto const some = segments_within("4MB", loop_of(2'500, 262'144), {.kept_bytes = 2'500});
  CHECK(some.schedule.slots() > 0);
  CHECK(some.steps_again > 0);
  CHECK(some.cost.memory_bytes <= 4'000'000);

  auto const whole = segments_within("4MB", loop_of(2'500, 262'144), {.kept_bytes = 262'144});
  CHECK_FALSE(whole.pays());

  workload timed = loop_of(2'500, 262'144);
  timed.step_seconds = 1e-3;
  auto const dear = segments_within("8MB", timed, {.kept_bytes = 2'500, .back_seconds = 0.1});
  CHECK_FALSE(dear.pays());
  CHECK(segments_within("8MB", timed, {.kept_bytes = 2'500, .back_seconds = 1e-3}).pays());
  CHECK_THROWS_AS(segments_within("1kB", timed, {}), infeasible_budget);
  CHECK_THROWS_AS(segments_within("1MB", workload{.state_bytes = 8}, {}), invalid_plan);
}

TEST_CASE("long loops and many slots are planned at once", "[plan][segments]") {
  auto const found = segments_within("1GB", loop_of(step_index{1} << 40, 10'000), {.kept_bytes = 100});
  CHECK(found.cost.memory_bytes <= 1'000'000'000);
  CHECK(found.schedule.slots() > 1'000);
}
