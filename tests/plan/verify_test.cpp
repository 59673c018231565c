// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>
#include <cairn/plan/loop/verify.hpp>
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

namespace Catch {
template <>
struct StringMaker<cairn::flaw> {
  static std::string convert(cairn::flaw reason) { return cairn::describe(reason); }
};
}  // namespace Catch

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr action advance(step_index from, step_index to) {
  return {action_kind::advance, tier::memory, content::state, no_slot, from, to};
}
constexpr action save(slot_index slot, step_index at) {
  return {action_kind::save, tier::memory, content::state, slot, at, 0};
}
constexpr action load(slot_index slot, step_index at) {
  return {action_kind::load, tier::memory, content::state, slot, at, 0};
}
constexpr action drop(slot_index slot, content what = content::state) {
  return {action_kind::drop, tier::memory, what, slot, 0, 0};
}
constexpr action record(slot_index slot, step_index from, step_index to) {
  return {action_kind::record, tier::memory, content::tape, slot, from, to};
}
constexpr action turn(step_index from, step_index to) {
  return {action_kind::turn, tier::memory, content::state, no_slot, from, to};
}
constexpr action reverse(step_index from, step_index to) {
  return {action_kind::reverse, tier::memory, content::state, no_slot, from, to};
}
constexpr action reverse_tape(slot_index slot, step_index from, step_index to) {
  return {action_kind::reverse, tier::memory, content::tape, slot, from, to};
}
constexpr action restart(slot_index slot, step_index at) {
  return {action_kind::load, tier::memory, content::tape, slot, at, 0};
}
constexpr action on(tier where, action a) { a.where = where; return a; }
constexpr action on_disk(action a) { return on(tier::disk, a); }

/// What is wrong with these actions over 4 steps, with 2 slots, 2 tapes and leaves of 2 steps.
flaw flaw_of(std::initializer_list<action> actions, bool free_initial = false) {
  return check(action_list{4, 2, actions, {.leaf = 2, .tapes = 2, .free_initial = free_initial}}).reason;
}

/// The same where tapes bring states back and `units` are there for states and tapes, which take 2 each.
flaw flaw_of_tapes(std::initializer_list<action> actions, wide units = unit_budget{}.units) {
  return check(action_list{4, 2, actions, {.leaf = 2, .tapes = 2, .tapes_restart = true, .budget = {units, 2}}}).reason;
}

}  // namespace

TEST_CASE("a schedule with states and tapes of both kinds is accepted and counted", "[plan][verify]") {
  auto const found = verify(
      action_list{4,
                  2,
                  {save(1, 0), advance(0, 1), on_disk(save(0, 1)), record(1, 1, 3), turn(3, 4), reverse(3, 4),
                   reverse_tape(1, 1, 3), drop(1, content::tape), on_disk(drop(0)), load(1, 0), drop(1), reverse(0, 1)},
                  {.leaf = 2, .tapes = 2}});
  schedule_counts expected;
  expected.advances = 1;
  expected.turned = 1;
  expected.recorded = 2;
  expected.reversals = 4;
  expected.taped = 2;
  expected.saves = 2;
  expected.loads = 1;
  expected.peak_slots = 2;
  expected.peak_tapes = 1;
  expected.on(tier::memory) = {1, 1, 1};
  expected.on(tier::disk) = {1, 0, 1};
  CHECK(found == expected);
}

TEST_CASE("a reverse from a tape leaves live alone and one from a state uses it up", "[plan][verify]") {
  CHECK(flaw_of({save(0, 0), record(0, 0, 2), record(1, 2, 4), turn(4, 4), reverse_tape(1, 2, 4), save(1, 4), drop(1),
                 reverse_tape(0, 0, 2), drop(0, content::tape), drop(1, content::tape), drop(0)}) == flaw::none);
  CHECK(flaw_of({save(0, 0), advance(0, 3), turn(3, 4), reverse(3, 4), save(1, 3)}) == flaw::nothing_live);
  CHECK(flaw_of({save(0, 0), advance(0, 3), turn(3, 4), reverse(3, 4), advance(3, 4)}) == flaw::nothing_live);
  CHECK(flaw_of({save(0, 0), advance(0, 2), turn(2, 4), reverse(2, 4), reverse(0, 2)}) == flaw::nothing_live);
}

TEST_CASE("a loop of no steps turns at its initial state", "[plan][verify]") {
  CHECK(check(action_list{0, 0, {turn(0, 0)}}));
  CHECK(check(action_list{0, 1, {save(0, 0), load(0, 0), turn(0, 0), drop(0)}}));
  CHECK(check(action_list{0, 1, {save(0, 0), turn(0, 0), load(0, 0), drop(0)}}));
  CHECK(check(action_list{0, 0, {}}).reason == flaw::done_before_turn);
  CHECK(check(action_list{0, 1, {save(0, 0), turn(0, 0)}}).reason == flaw::done_with_slots_full);
}

TEST_CASE("every flaw is found where it is", "[plan][verify]") {
  auto const to_the_turn = {save(0, 0), advance(0, 2), turn(2, 4)};
  auto const after = [&](std::initializer_list<action> more) {
    std::vector<action> all{to_the_turn};
    all.insert(all.end(), more.begin(), more.end());
    return check(action_list{4, 2, all.data(), all.size(), {.leaf = 2, .tapes = 2}}).reason;
  };
  SECTION("unknown actions") {
    CHECK(flaw_of({{action_kind(8)}}) == flaw::unknown_action);
    CHECK(flaw_of({{action_kind(255)}}) == flaw::unknown_action);
    CHECK(flaw_of({save(0, 0), {action_kind::drop, tier::memory, content(7), 0, 0, 0}}) == flaw::unknown_action);
    CHECK(after({{action_kind::reverse, tier::memory, content(7), 0, 2, 4}}) == flaw::unknown_action);
  }
  SECTION("live") {
    CHECK(flaw_of({advance(1, 2)}) == flaw::wrong_live);
    CHECK(flaw_of({save(0, 1)}) == flaw::wrong_live);
    CHECK(flaw_of({record(0, 1, 2)}) == flaw::wrong_live);
    CHECK(flaw_of({turn(3, 4)}) == flaw::wrong_live);
    CHECK(flaw_of({advance(-1, 2)}) == flaw::wrong_live);
    CHECK(after({reverse(3, 4)}) == flaw::wrong_live);
    CHECK(after({reverse(2, 4), reverse(1, 2)}) == flaw::nothing_live);
    CHECK(after({reverse(2, 4), save(1, -1)}) == flaw::nothing_live);
    CHECK(after({reverse(2, 4), turn(2, 4)}) == flaw::second_turn);
    CHECK(after({reverse(2, 4), record(0, 2, 4)}) == flaw::nothing_live);
  }
  SECTION("ranges") {
    CHECK(flaw_of({advance(0, 0)}) == flaw::empty_range);
    CHECK(flaw_of({advance(0, -3)}) == flaw::empty_range);
    CHECK(flaw_of({record(0, 0, 0)}) == flaw::empty_range);
    CHECK(flaw_of({advance(0, 5)}) == flaw::past_the_end);
    CHECK(flaw_of({record(0, 0, 5)}) == flaw::past_the_end);
    CHECK(flaw_of({advance(0, 4)}) == flaw::done_before_turn);  // up to n is fine before the turn
    CHECK(after({reverse(2, 4), load(0, 0), advance(0, 2)}) == flaw::past_the_end);
    CHECK(after({reverse(2, 4), load(0, 0), record(0, 0, 3)}) == flaw::past_the_end);
    CHECK(after({reverse(4, 4)}) == flaw::empty_range);
    CHECK(after({reverse(5, 4)}) == flaw::empty_range);
    CHECK(after({reverse(-1, 4)}) == flaw::past_the_end);
  }
  SECTION("leaves") {
    CHECK(flaw_of({record(0, 0, 3)}) == flaw::longer_than_leaf);
    CHECK(flaw_of({save(0, 0), turn(0, 4), reverse(0, 4)}) == flaw::longer_than_leaf);
  }
  SECTION("slots") {
    CHECK(flaw_of({save(2, 0)}) == flaw::no_such_slot);
    CHECK(flaw_of({save(no_slot, 0)}) == flaw::no_such_slot);
    CHECK(flaw_of({load(2, 0)}) == flaw::no_such_slot);
    CHECK(flaw_of({load(no_slot, 0)}) == flaw::no_such_slot);
    CHECK(flaw_of({load(-2, 0)}, true) == flaw::no_such_slot);
    CHECK(flaw_of({drop(2)}) == flaw::no_such_slot);
    CHECK(flaw_of({drop(no_slot)}) == flaw::no_such_slot);
    CHECK(flaw_of({drop(2, content::tape)}) == flaw::no_such_slot);
    CHECK(flaw_of({record(2, 0, 1)}) == flaw::no_such_slot);
    CHECK(after({reverse_tape(-1, 2, 4)}) == flaw::no_such_slot);
    CHECK(flaw_of({save(0, 0), save(0, 0)}) == flaw::slot_taken);
    CHECK(flaw_of({record(0, 0, 1), record(0, 1, 2)}) == flaw::slot_taken);
    CHECK(flaw_of({load(0, 0)}) == flaw::slot_empty);
    CHECK(flaw_of({drop(0)}) == flaw::slot_empty);
    CHECK(flaw_of({save(0, 0), drop(0, content::tape)}) == flaw::slot_empty);
    CHECK(after({reverse_tape(0, 2, 4)}) == flaw::slot_empty);
  }
  SECTION("contents") {
    CHECK(flaw_of({save(0, 0), load(0, 1)}) == flaw::wrong_content);
    CHECK(flaw_of({save(0, 0), on_disk(load(0, 0))}) == flaw::wrong_content);
    CHECK(flaw_of({save(0, 0), on_disk(drop(0))}) == flaw::wrong_content);
    CHECK(flaw_of({load(no_slot, 1)}, true) == flaw::wrong_content);
    CHECK(flaw_of({record(0, 0, 2), record(1, 2, 4), turn(4, 4), reverse_tape(0, 2, 4)}) == flaw::wrong_content);
    CHECK(flaw_of({record(0, 0, 2), record(1, 2, 4), turn(4, 4), reverse_tape(1, 3, 4)}) == flaw::wrong_content);
    CHECK(flaw_of({advance(0, 2), record(0, 2, 3), record(1, 3, 4), turn(4, 4), reverse_tape(0, 2, 4)}) ==
          flaw::wrong_content);
    CHECK(flaw_of({record(0, 0, 2), record(1, 2, 4), turn(4, 4), on_disk(reverse_tape(1, 2, 4))}) ==
          flaw::wrong_content);
  }
  SECTION("tiers") {
    CHECK(flaw_of({on(tier(4), save(0, 0))}) == flaw::unknown_tier);
    CHECK(flaw_of({on(tier(255), save(0, 0))}) == flaw::unknown_tier);
    CHECK(flaw_of({on(tier(4), record(0, 0, 1))}) == flaw::unknown_tier);
    CHECK(flaw_of({save(0, 0), on(tier(4), load(0, 0))}) == flaw::unknown_tier);
    CHECK(flaw_of({on(tier(4), load(no_slot, 0))}, true) == flaw::unknown_tier);
    CHECK(flaw_of({save(0, 0), on(tier(4), drop(0))}) == flaw::wrong_content);
    CHECK(flaw_of({on(tier(4), advance(0, 2)), on(tier(4), turn(2, 4))}) ==
          flaw::done_with_steps_open);  // where no slot is used it says nothing
  }
  SECTION("restarts") {
    CHECK(flaw_of({record(0, 0, 2), restart(0, 2)}) == flaw::cannot_restart);
    CHECK(flaw_of_tapes({record(0, 0, 2), restart(1, 2)}) == flaw::slot_empty);
    CHECK(flaw_of_tapes({record(0, 0, 2), restart(2, 2)}) == flaw::no_such_slot);
    CHECK(flaw_of_tapes({record(0, 0, 2), restart(no_slot, 2)}) == flaw::no_such_slot);
    CHECK(flaw_of_tapes({record(0, 0, 2), restart(0, 0)}) == flaw::wrong_content);  // it brings back the end
    CHECK(flaw_of_tapes({record(0, 0, 2), restart(0, 1)}) == flaw::wrong_content);
    CHECK(flaw_of_tapes({record(0, 0, 2), on_disk(restart(0, 2))}) == flaw::wrong_content);
    CHECK(flaw_of_tapes({record(0, 0, 2), on(tier(4), restart(0, 2))}) == flaw::unknown_tier);
    CHECK(flaw_of({save(0, 0), {action_kind::load, tier::memory, content(7), 0, 0, 0}}) == flaw::unknown_action);
  }
  SECTION("units") {
    CHECK(flaw_of_tapes({save(0, 0), save(1, 0)}, 1) == flaw::over_budget);
    CHECK(flaw_of_tapes({record(0, 0, 1)}, 1) == flaw::over_budget);
    CHECK(flaw_of_tapes({save(0, 0), record(0, 0, 1)}, 2) == flaw::over_budget);
    CHECK(flaw_of_tapes({record(0, 0, 1), save(0, 1)}, 2) == flaw::over_budget);
    CHECK(flaw_of_tapes({save(0, 0), record(0, 0, 1)}, 3) == flaw::done_before_turn);
    CHECK(flaw_of_tapes({save(0, 0), save(1, 0), drop(0), record(0, 0, 1)}, 3) == flaw::done_before_turn);
    CHECK(flaw_of_tapes({record(0, 0, 1), record(1, 1, 2)}, 3) == flaw::over_budget);
    CHECK(flaw_of_tapes({record(0, 0, 1), record(1, 1, 2)}, 4) == flaw::done_before_turn);
    CHECK(check(action_list{4, 2, {record(0, 0, 1)}, {.tapes = 2, .budget = {7, ~wide{0}}}}).reason ==
          flaw::over_budget);
  }
  SECTION("the turn") {
    CHECK(after({turn(2, 4)}) == flaw::second_turn);
    CHECK(flaw_of({advance(0, 2), turn(2, 3)}) == flaw::turn_not_to_the_end);
    CHECK(flaw_of({advance(0, 2), turn(2, 5)}) == flaw::turn_not_to_the_end);
    CHECK(flaw_of({advance(0, 3), reverse(3, 4)}) == flaw::reverse_before_turn);
  }
  SECTION("order") {
    CHECK(after({reverse(2, 3)}) == flaw::reverse_out_of_order);
    CHECK(after({reverse(2, 4), load(0, 0), reverse(0, 1)}) == flaw::reverse_out_of_order);
    CHECK(after({reverse(2, 4), load(0, 0), reverse(0, 4)}) == flaw::reverse_out_of_order);
  }
  SECTION("the end") {
    CHECK(flaw_of({}) == flaw::done_before_turn);
    CHECK(after({}) == flaw::done_with_steps_open);
    CHECK(after({reverse(2, 4), load(0, 0), reverse(0, 2)}) == flaw::done_with_slots_full);
    CHECK(after({reverse(2, 4), load(0, 0), record(1, 0, 1), load(0, 0), drop(0), reverse(0, 2)}) ==
          flaw::done_with_slots_full);
  }
}

TEST_CASE("a load from a tape brings back the end of its steps and is counted as a restart", "[plan][verify]") {
  auto const found = verify(action_list{4,
                                        1,
                                        {record(0, 0, 2), restart(0, 2), save(0, 2), drop(0), restart(0, 2), turn(2, 4),
                                         reverse(2, 4), reverse_tape(0, 0, 2), drop(0, content::tape)},
                                        {.leaf = 2, .tapes = 1, .tapes_restart = true}});
  CHECK(found.restarts == 2);
  CHECK(found.loads == 0);
  CHECK(found.recorded == 2);
  CHECK(found.turned == 2);
  CHECK(found.taped == 2);
}

namespace {

/// A list whose slots lie where `lies` says, slot 0 first.
struct placed : action_list {
  placed(action_list const& plan, std::vector<tier> where) : action_list{plan}, lies{std::move(where)} {}
  [[nodiscard]] tier slot_tier(slot_index slot) const {
    return slot >= 0 && std::size_t(slot) < lies.size() ? lies[std::size_t(slot)] : tier::memory;
  }
  std::vector<tier> lies;
};

}  // namespace

TEST_CASE("a plan that says where its slots lie must save there", "[plan][verify]") {
  action_list const plan{3,
                         2,
                         {on_disk(save(0, 0)), advance(0, 1), save(1, 1), advance(1, 2), turn(2, 3), reverse(2, 3),
                          load(1, 1), drop(1), reverse(1, 2), on_disk(load(0, 0)), on_disk(drop(0)), reverse(0, 1)}};
  CHECK(check(plan));
  CHECK(check(placed{plan, {tier::disk, tier::memory}}));
  CHECK(check(placed{plan, {tier::disk, tier::host}}).reason == flaw::wrong_tier);
  CHECK(check(placed{plan, {tier::disk, tier::host}}).number == 2);
  CHECK(check(placed{plan, {tier::memory, tier::memory}}).number == 0);
  CHECK(check(any_schedule{placed{plan, {tier::host, tier::memory}}}).reason == flaw::wrong_tier);
  CHECK(check(leaves{3, 1, placed{plan, {tier::host, tier::memory}}}).reason == flaw::wrong_tier);
  CHECK_THROWS_AS(verify(placed{plan, {tier::memory, tier::memory}}), invalid_schedule);
}

TEST_CASE("saves, loads and the most states kept are counted tier by tier", "[plan][verify]") {
  auto const found =
      verify(action_list{2,
                         3,
                         {on_disk(save(0, 0)), on_disk(save(2, 0)), on(tier::host, save(1, 0)), on_disk(drop(0)),
                          on(tier::device, save(0, 0)), advance(0, 1), turn(1, 2), reverse(1, 2), on_disk(load(2, 0)),
                          on(tier::host, load(1, 0)), load(no_slot, 0), on(tier::host, drop(1)), on_disk(drop(2)),
                          on(tier::device, drop(0)), reverse(0, 1)},
                         {.free_initial = true}});
  CHECK(found.on(tier::disk) == tier_counts{2, 1, 2});
  CHECK(found.on(tier::host) == tier_counts{1, 1, 1});
  CHECK(found.on(tier::device) == tier_counts{1, 0, 1});
  CHECK(found.on(tier::memory) == tier_counts{0, 1, 0});
  CHECK(found.saves == 4);
  CHECK(found.loads == 3);
  CHECK(found.peak_slots == 3);
}

TEST_CASE("a plan of impossible numbers is refused", "[plan][verify]") {
  struct numbers {
    step_index n = 0;
    slot_index s = 0;
    step_index k = 1;
    slot_index t = 0;
    [[nodiscard]] step_index steps() const { return n; }
    [[nodiscard]] slot_index slots() const { return s; }
    [[nodiscard]] step_index leaf() const { return k; }
    [[nodiscard]] slot_index tapes() const { return t; }
    [[nodiscard]] revolve::cursor walk() const { return revolve{0, 1}.walk(); }
  };
  CHECK(check(numbers{}));
  CHECK(check(numbers{-1}).reason == flaw::impossible_plan);
  CHECK(check(numbers{0, -1}).reason == flaw::impossible_plan);
  CHECK(check(numbers{0, 0, 0}).reason == flaw::impossible_plan);
  CHECK(check(numbers{0, 0, 1, -1}).reason == flaw::impossible_plan);
}

namespace {

/// Never done: saves and drops, or loads, for ever.
struct idle {
  struct cursor {
    bool drops;
    std::int64_t k = -1;
    [[nodiscard]] action next() {
      ++k;
      if (k == 0) return save(0, 0);
      return !drops ? load(0, 0) : k % 2 == 0 ? save(0, 0) : drop(0);
    }
  };
  bool drops;
  [[nodiscard]] step_index steps() const { return 10; }
  [[nodiscard]] slot_index slots() const { return 1; }
  [[nodiscard]] step_index leaf() const { return 1; }
  [[nodiscard]] cursor walk() const { return {drops}; }
};

}  // namespace

TEST_CASE("a cursor that never gets on is stopped", "[plan][verify]") {
  for (bool const drops : {false, true}) {
    auto const found = check(idle{drops});
    CHECK(found.reason == flaw::no_progress);
    CHECK(found.number <= 8 * 11 + 64);
  }
}

TEST_CASE("a cursor may dawdle as long as it gets on", "[plan][verify]") {
  std::vector<action> all{save(0, 0), advance(0, 19), turn(19, 20), reverse(19, 20)};
  for (step_index i = 19; i-- > 0;) {
    for (int k = 0; k < 100; ++k) all.push_back(load(0, 0));
    if (i > 0) all.push_back(advance(0, i));
    all.push_back(reverse(i, i + 1));
  }
  all.push_back(drop(0));
  CHECK(verify(action_list{20, 1, all.data(), all.size()}).loads == 1900);
}

TEST_CASE("verify says action, step and slot of the first flaw", "[plan][verify]") {
  action_list const plan{5, 2, {save(0, 0), advance(0, 3), save(0, 3)}};
  CHECK_THROWS_AS(verify(plan), invalid_schedule);
  CHECK_THROWS_WITH(verify(plan), ContainsSubstring("cairn::verify") && ContainsSubstring("slot is taken") &&
                                      ContainsSubstring("action = 2") && ContainsSubstring("step = 3") &&
                                      ContainsSubstring("slot = 0"));
  try {
    verify(plan);
  } catch (invalid_schedule const& refused) {
    REQUIRE(refused.value_count() == 4);
    CHECK(refused.value(0).magnitude == 2);
    CHECK(refused.value(1).magnitude == 3);
    CHECK(refused.value(3).magnitude == 0);
  }
  auto const found = check(plan);
  CHECK_FALSE(found);
  CHECK(found.number == 2);
  CHECK(found.culprit == save(0, 3));
  CHECK(found.counts.advances == 3);
}

TEST_CASE("every flaw has a sentence of its own", "[plan][verify]") {
  std::vector<std::string> seen;
  for (int k = 0; k <= int(flaw::no_progress); ++k) {
    std::string const text = describe(flaw(k));
    CHECK(std::find(seen.begin(), seen.end(), text) == seen.end());
    seen.push_back(text);
  }
  CHECK(describe(flaw(200)) == std::string{"an unknown flaw"});
}

TEST_CASE("a position must belong to the plan that takes over", "[plan][verify]") {
  remaining const plan{{10, 10, true, 3}, [](slot_index) { return -1; }};
  auto const found = [&](sweep_position const& position) { return check(plan, position).reason; };
  stored_state const fine[] = {{0, 3}};
  stored_state const twice[] = {{0, 3}, {0, 4}};
  stored_state const no_such[] = {{3, 3}};
  stored_state const negative[] = {{-1, 3}};
  stored_state const after[] = {{0, 11}};
  stored_state const nowhere[] = {{0, 3, tier(4)}};
  stored_state const apart[] = {{0, 3, tier::disk}, {2, 5, tier::disk}};
  CHECK(found({10, true}) == flaw::none);
  CHECK(found({10, true, fine, 1}) == flaw::slot_taken);
  CHECK(found({11, true}) == flaw::impossible_plan);
  CHECK(found({-1, true}) == flaw::impossible_plan);
  CHECK(found({5, false}) == flaw::impossible_plan);
  CHECK(found({10, true, twice, 2}) == flaw::impossible_plan);
  CHECK(found({10, true, no_such, 1}) == flaw::impossible_plan);
  CHECK(found({10, true, negative, 1}) == flaw::impossible_plan);
  CHECK(found({10, true, after, 1}) == flaw::impossible_plan);
  CHECK(found({10, true, nowhere, 1}) == flaw::impossible_plan);
  remaining const around{{10, 10, true, 3}, [](slot_index slot) { return slot == 0 ? 3 : slot == 2 ? 5 : -1; },
                         [](slot_index slot) { return slot == 1 ? tier::memory : tier::disk; }};
  CHECK(verify(around, {10, true, apart, 2}).on(tier::disk).peak == 2);
  CHECK(check(revolve{10, 3}, {10, true}).reason == flaw::nothing_live);
  CHECK_THROWS_AS(verify(plan, {4, true}), invalid_schedule);
}

TEST_CASE("memory grows with the slots in use and not with their numbers", "[plan][verify]") {
  auto const huge = std::numeric_limits<slot_index>::max();
  auto const found = verify(action_list{
      2,
      huge,
      {save(huge - 1, 0), advance(0, 1), turn(1, 2), reverse(1, 2), load(huge - 1, 0), drop(huge - 1), reverse(0, 1)}});
  CHECK(found.peak_slots == 1);
}

TEST_CASE("ten million slots can be filled", "[plan][verify][.soak]") {
  auto const plan = store_all(10'000'001);
  CHECK(verify(plan) == plan.counts());
  CHECK(plan.slots() == 10'000'000);
}

TEST_CASE("half a million slots can be filled", "[plan][verify]") {
  auto const plan = store_all(500'001);
  CHECK(verify(plan) == plan.counts());
}
