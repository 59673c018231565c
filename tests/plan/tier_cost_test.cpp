// SPDX-License-Identifier: Apache-2.0
// What a plan costs where tiers, tapes and leaves cost something.
#include <limits>
#include <cairn/planning.hpp>
#include "support/catch.hpp"
#include "support/plans.hpp"

using namespace cairn;

TEST_CASE("states on other tiers are not in memory", "[plan][estimate]") {
  workload work{.state_bytes = 1000, .adjoint_bytes = 100};
  two_level const far{100, 10, 3}, near{100, 10, 3, {.periods_on = tier::memory}};
  auto const e = estimate(far, work);
  CHECK(e.peak_bytes == estimate(near, work).peak_bytes);
  CHECK(estimate(near, work).memory_bytes == e.peak_bytes);
  CHECK(e.tier_bytes[std::size_t(tier::disk)] == 10'000);
  CHECK(e.tier_bytes[std::size_t(tier::memory)] == 3000);
  CHECK(e.memory_bytes < e.peak_bytes - 8000);
  CHECK(e.memory_bytes >= 3000 + 1000 + 1000 + 100);  // slots, live, the caller's own, adjoint
}

TEST_CASE("transfers take their time", "[plan][estimate]") {
  workload work{.state_bytes = 1000, .step_seconds = 2, .adjoint_seconds = 3};
  work.tiers.disk = {.write_seconds = 5, .read_seconds = 7};
  work.tiers.memory = {.write_seconds = 0.25, .read_seconds = 0.5};
  auto const e = estimate(two_level{100, 10, 3}, work);
  auto const& disk = e.counts.on(tier::disk);
  auto const& memory = e.counts.on(tier::memory);
  CHECK(e.transfer_seconds ==
        5 * double(disk.saves) + 7 * double(disk.loads) + 0.25 * double(memory.saves) + 0.5 * double(memory.loads));
  CHECK(e.seconds == 2 * double(e.step_calls) + 300 + e.transfer_seconds);
}

TEST_CASE("recorded steps have a time of their own where one is given", "[plan][estimate]") {
  workload work{.step_seconds = 1, .adjoint_seconds = 10, .form = {step_form::in_place, adjoint_form::recorded}};
  auto const plan = revolve{50, 5};
  auto const e = estimate(plan, work);
  CHECK(e.seconds == double(e.advances) + 50 + 500);
  work.record_seconds = 4;
  CHECK(estimate(plan, work).seconds == double(e.advances) + 200 + 500);
  CHECK(estimate(all_tapes(50), work).seconds == 200 + 500);
}

TEST_CASE("the tape of a leaf grows with its length", "[plan][estimate]") {
  workload work{
      .state_bytes = 1000, .tape_bytes = 50, .tape_step_bytes = 7, .form = {step_form::in_place, adjoint_form::leaf}};
  auto const bytes = [&](step_index leaf) { return estimate(leaves{60, leaf, revolve{60 / leaf, 3}}, work); };
  auto without = work;
  without.tape_bytes = without.tape_step_bytes = 0;
  for (step_index const leaf : {1, 2, 10, 60})
    CHECK(bytes(leaf).peak_bytes - estimate(leaves{60, leaf, revolve{60 / leaf, 3}}, without).peak_bytes ==
          50 + 7 * wide(leaf));
  work.form.adjoint = adjoint_form::one_step;
  CHECK(estimate(revolve{60, 3}, work).peak_bytes == estimate(revolve{60, 3}, without).peak_bytes + 50);
}

TEST_CASE("tables that copies and cursors share are counted once", "[plan][estimate]") {
  hrevolve const plan{50, {{3, 1, 1}, {4, 2, 2}}};
  REQUIRE(plan.shared_table_bytes() > 0);
  auto needs = detail::needs_of(plan, verify(plan));
  CHECK(needs.shared_table == plan.shared_table_bytes());
  auto const with = sweep_bytes(needs, {}, {.state = 1000}, 5);
  needs.shared_table = 0;
  CHECK(with - sweep_bytes(needs, {}, {.state = 1000}, 5) == plan.shared_table_bytes());
}

TEST_CASE("the peak of states and tapes is that of one moment where their numbers are known", "[plan][estimate]") {
  workload const work{
      .state_bytes = 1000, .adjoint_bytes = 0, .tape_bytes = 1000, .form = {step_form::in_place, adjoint_form::recorded}};
  mixed const plan{60, 10, {.tape_units = 1}};
  auto const e = estimate(plan, work);
  wide const apart = wide(e.peak_states) * 1000 + wide(e.counts.peak_tapes + 1) * 1000 + 1000;
  CHECK(e.peak_is_exact);
  CHECK(e.peak_bytes < apart + plan.table_bytes() + plan.shared_table_bytes() + 4000);
  CHECK(e.peak_bytes <= apart + plan.table_bytes() + plan.shared_table_bytes() +
                            24 * wide(frames_reserved(detail::needs_of(plan, e.counts), work.form)) +
                            8 * wide(plan.slots()) + 32);
}

TEST_CASE("times that are no times and sizes that cannot be are refused", "[plan][estimate]") {
  workload work;
  work.tiers.disk.read_seconds = -1;
  CHECK_THROWS_AS(estimate(uniform{9}, work), invalid_plan);
  CHECK_THROWS_AS(estimate(uniform{9}, {.record_seconds = std::numeric_limits<double>::quiet_NaN()}), invalid_plan);
  CHECK_THROWS_AS(estimate(uniform{9}, {.tape_bytes = 3, .tape_inline_bytes = 4}), invalid_plan);
  CHECK_THROWS_AS(estimate(uniform{9}, {.tape_step_bytes = wide{1} << 62, .form = {.adjoint = adjoint_form::leaf}}),
                  overflow_error);
}
