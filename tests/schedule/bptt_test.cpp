// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/bptt.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/revolve.hpp>
#include "support/catch.hpp"
#include "support/csv.hpp"
#include "support/schedule_text.hpp"
#include "support/unit_search.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr bptt_keep all_kinds[] = {bptt_keep::states, bptt_keep::tapes, bptt_keep::both};

/// Advances and recorded runs of the plan, by a walk that is compared with all that the plan says about itself.
wide walked_steps(bptt const& plan) {
  auto const found = check(plan);
  INFO(describe(found.reason) << " at action " << text_of(found.number) << ": " << text_of(found.culprit));
  REQUIRE(found);
  CHECK(found.counts == plan.counts());
  CHECK(found.counts.peak_slots == plan.slots());
  CHECK(found.counts.peak_tapes == plan.tapes());
  CHECK(plan.initial_is_free());
  return found.counts.advances + found.counts.recorded + found.counts.reversals - found.counts.taped;
}

}  // namespace

static_assert(schedule<bptt> && counted_schedule<bptt>);

TEST_CASE("bptt does what the oracles say, for all that it may keep", "[schedule][bptt][oracle]") {
  int better_than_published = 0;
  for (auto const& row : csv::oracle("bptt_gruslys.csv")) {
    auto const n = step_index(csv::number(row.at("n")));
    auto const units = slot_index(csv::number(row.at("units_besides_initial_state_and_live_tape")));
    auto const tape = slot_index(csv::number(row.at("internal_units_alpha")));
    CAPTURE(n, units, tape);
    auto const steps = [&](bptt_keep what) { return walked_steps(bptt{n, units, {.tape_units = tape, .keep = what}}); };
    CHECK(steps(bptt_keep::states) == csv::number(row.at("hidden_only")));
    CHECK(steps(bptt_keep::tapes) == csv::number(row.at("internal_only")));
    auto const both = steps(bptt_keep::both);
    CHECK(both == csv::number(row.at("mixed_true_optimum")));
    CHECK(both <= csv::number(row.at("mixed_initial_pinned_recurrence")));
    better_than_published += both < csv::number(row.at("mixed_initial_pinned_recurrence")) ? 1 : 0;
  }
  CHECK(better_than_published > 0);
}

TEST_CASE("no machine takes fewer runs than bptt, for all that it may keep", "[schedule][bptt][brute]") {
  for (int n = 0; n <= 7; ++n)
    for (int units = 0; units <= (n < 7 ? 8 : 5); ++units)
      for (int tape = 1; tape <= 4; ++tape)
        for (auto const keep : all_kinds) {
          CAPTURE(n, units, tape, int(keep));
          brute::unit_machine const machine{
              n, units, tape, true, true, keep != bptt_keep::tapes, keep != bptt_keep::states};
          CHECK(walked_steps(bptt{n, units, {.tape_units = tape, .keep = keep}}) == wide(brute::fewest_runs(machine)));
        }
}

TEST_CASE("bptt that keeps states is revolve with a free initial state, for loops of any length", "[schedule][bptt]") {
  constexpr step_index longest = std::numeric_limits<step_index>::max();
  for (step_index const n :
       {step_index{0}, step_index{1}, step_index{2}, step_index{99}, step_index{1'000'000'000'000'000'000}, longest})
    for (slot_index const units : {slot_index{0}, slot_index{1}, slot_index{50}, longest}) {
      CAPTURE(n, units);
      bptt const plan{n, units, {.keep = bptt_keep::states}};
      CHECK(plan.counts() == revolve{n, units, {.free_initial = true}}.counts());
      CHECK(plan.forward_steps() == plan.counts().advances + wide(n));
      CHECK(plan.tapes() == 0);
      CHECK_FALSE(plan.tapes_restart());
    }
}

TEST_CASE("bptt that keeps tapes saves no state, and bptt without units keeps nothing", "[schedule][bptt]") {
  for (step_index const n : {0, 1, 2, 3, 10, 200})
    for (slot_index const units : {0, 1, 3, 17, 1000}) {
      CAPTURE(n, units);
      bptt const plan{n, units, {.tape_units = 3, .keep = bptt_keep::tapes}};
      CHECK(walked_steps(plan) == plan.forward_steps());
      CHECK(plan.counts().saves == 0);
      CHECK(plan.tapes() == (units / 3 < n - 1 ? units / 3 : n > 0 ? n - 1 : 0));
      CHECK(plan.units() == units);
      CHECK(plan.tape_units() == 3);
    }
  for (auto const keep : all_kinds) CHECK(walked_steps(bptt{100, 0, {.keep = keep}}) == 100 * 101 / 2);
}

TEST_CASE(
    "keeping both is mixed with a free initial state and tapes that restart, and never worse than keeping one kind",
    "[schedule][bptt]") {
  for (slot_index const tape : {1, 2, 5})
    for (slot_index const units : {0, 1, 4, 12, 40, 90}) {
      CAPTURE(tape, units);
      bptt const both{80, units, {.tape_units = tape}};
      CHECK(both.counts() ==
            mixed{80, units, {.tape_units = tape, .tapes_restart = true, .free_initial = true}}.counts());
      for (auto const keep : all_kinds)
        CHECK(both.forward_steps() <= bptt{80, units, {.tape_units = tape, .keep = keep}}.forward_steps());
    }
}

TEST_CASE("giving up a state early takes fewer runs than the published recurrence", "[schedule][bptt]") {
  CHECK(walked_steps(bptt{7, 3, {.tape_units = 3}}) == 13);  // 14 there
}

TEST_CASE("bptt refuses what it cannot do before it makes a table", "[schedule][bptt]") {
  CHECK_THROWS_WITH((bptt{-1, 3}), ContainsSubstring("cairn::bptt: a loop cannot have a negative number of steps"));
  CHECK_THROWS_WITH((bptt{10, -1}),
                    ContainsSubstring("cairn::bptt: too few units") && ContainsSubstring("least units = 0"));
  CHECK_THROWS_WITH((bptt{10, 1, {.tape_units = -2}}), ContainsSubstring("a tape takes 1 unit or more"));
  CHECK_THROWS_WITH((bptt{1'000'000, 100'000}), ContainsSubstring("the table of this plan does not fit"));
  CHECK(bptt{10'000, 100, {.tape_units = 50, .keep = bptt_keep::tapes, .most_table_bytes = 300'000}}.tapes() == 2);
}
