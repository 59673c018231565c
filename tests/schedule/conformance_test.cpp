// SPDX-License-Identifier: Apache-2.0
// What every schedule must do, whatever its kind.
#include <cairn/plan/loop/verify.hpp>
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;

namespace {

step_index const lengths[] = {0, 1, 2, 3, 4, 5, 8, 13, 31, 64, 100};

template <class Cursor>
void goes_on_like(Cursor cursor, std::vector<action> const& all, std::size_t from) {
  for (std::size_t k = from; k < all.size(); ++k)
    if (action const a = cursor.next(); !(a == all[k]))
      FAIL("action " << k << " is " << text_of(a) << ", not " << text_of(all[k]));
}

}  // namespace

TEST_CASE("a schedule reverses every step once and in order within its slots", "[schedule]") {
  for (auto const n : lengths)
    each_as_any(n, [&](std::string const& name, auto const& plan) {
      INFO(name);
      auto const found = check(plan);
      INFO(describe(found.reason) << " at action " << text_of(found.number) << ": " << text_of(found.culprit));
      REQUIRE(found);
      CHECK(plan.steps() == n);
      CHECK(found.counts.reversals == wide(n));
      CHECK(found.counts.peak_slots <= plan.slots());
      CHECK(found.counts.peak_tapes <= tapes_of(plan));
      CHECK(found.counts.advances + found.counts.turned + found.counts.recorded >= wide(n));
    });
}

TEST_CASE("predicted totals are those of the walk", "[schedule]") {
  for (auto const n : lengths)
    each_as_any(n, [&](std::string const& name, auto const& plan) {
      INFO(name);
      auto const walked = verify(plan);
      CHECK(walked_counts(plan) == walked);
      CHECK(plan.counts() == walked);
    });
}

TEST_CASE("what happens tier by tier sums up to what happens", "[schedule]") {
  for (auto const n : lengths)
    each_as_any(n, [&](std::string const& name, auto const& plan) {
      INFO(name);
      auto const walked = verify(plan);
      wide saves = 0, loads = 0;
      slot_index peaks = 0;
      for (auto const& one : walked.tiers) {
        saves += one.saves;
        loads += one.loads;
        peaks += one.peak;
      }
      CHECK(saves == walked.saves);
      CHECK(loads == walked.loads);
      CHECK(peaks >= walked.peak_slots);
    });
}

TEST_CASE("the longest reverse is as long as the leaf", "[schedule]") {
  for (auto const n : lengths)
    each_as_any(n, [&](std::string const& name, auto const& plan) {
      INFO(name);
      step_index longest = n == 0 ? 1 : 0;
      for (action const& a : actions_of(plan))
        if (a.kind == action_kind::reverse && a.to - a.from > longest) longest = a.to - a.from;
      CHECK(longest <= plan.leaf());
      if (name.find("over revolve") != std::string::npos) CHECK(longest == plan.leaf());
    });
}

TEST_CASE("a copy of a cursor goes on as the cursor does", "[schedule]") {
  for (step_index const n : {0, 1, 2, 5, 13, 40})
    each_as_any(n, [&](std::string const& name, auto const& plan) {
      INFO(name);
      auto const all = actions_of(plan);
      cursor_of<std::remove_cvref_t<decltype(plan)>> cursor = plan.walk();
      for (std::size_t k = 0; k < all.size(); ++k) {
        auto const copy = cursor;
        goes_on_like(copy, all, k);
        CHECK(cursor.next() == all[k]);
      }
    });
}

TEST_CASE("a cursor that is assigned to goes on as the other does", "[schedule]") {
  for (step_index const n : {0, 1, 2, 5, 13})
    each_plan(n, [&](std::string const& name, auto const& plan) {
      INFO(name);
      auto const all = actions_of(plan);
      cursor_of<std::remove_cvref_t<decltype(plan)>> cursor = plan.walk();
      auto used = cursor;
      for (std::size_t k = 0; k < all.size(); ++k) {
        used = cursor;
        goes_on_like(used, all, k);
        (void)cursor.next();
        for (std::size_t j = 0; j < k; ++j) (void)used.next();
        auto moved = std::move(used);
        used = plan.walk();
        goes_on_like(used, all, 0);
        used = std::move(moved);
      }
    });
}

TEST_CASE("a cursor goes on answering done", "[schedule]") {
  for (auto const n : lengths)
    each_as_any(n, [&](std::string const& name, auto const& plan) {
      INFO(name);
      cursor_of<std::remove_cvref_t<decltype(plan)>> cursor = plan.walk();
      while (cursor.next().kind != action_kind::done) {}
      for (int k = 0; k < 70; ++k)
        if (!(cursor.next() == action{})) FAIL("not done");
    });
}

TEST_CASE("any_schedule is the schedule that it was made of", "[schedule][any]") {
  for (auto const n : lengths)
    each_plan(n, [&](std::string const& name, auto const& plan) {
      INFO(name);
      any_schedule const any = plan;
      CHECK(any.steps() == plan.steps());
      CHECK(any.slots() == plan.slots());
      CHECK(any.leaf() == plan.leaf());
      CHECK(any.tapes() == tapes_of(plan));
      CHECK(any.tapes_restart() == tapes_restart(plan));
      CHECK(any.units() == units_of(plan).units);
      CHECK(any.tape_units() == units_of(plan).tape_units);
      CHECK(any.shared_table_bytes() == shared_table_bytes_of(plan));
      CHECK(has_slot_tiers(any) == has_slot_tiers(plan));
      for (slot_index slot = 0; slot < plan.slots(); ++slot)
        if (any.slot_tier(slot) != slot_tier(plan, slot)) FAIL("slot " << slot);
      CHECK(any.initial_is_free() == initial_is_free(plan));
      CHECK(any.table_bytes() >= table_bytes_of(plan));
      CHECK(any.counts() == verify(plan));
      CHECK(any.is_counted() == knows_counts(plan));
      for (step_index i = 0; i <= n; ++i)
        if (any.is_checkpoint(i) != is_checkpoint(plan, i)) FAIL("state " << i);
      CHECK(actions_of(any) == actions_of(plan));
      cursor_of<any_schedule> cursor = any.walk();
      auto const all = actions_of(plan);
      for (std::size_t k = 0; k < all.size(); ++k) {
        auto const copy = cursor;
        goes_on_like(copy, all, k);
        (void)cursor.next();
      }
    });
}
