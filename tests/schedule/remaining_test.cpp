// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>
#include <cairn/plan/loop/verify.hpp>
#include "support/brute_force.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string sweep_text(stopped_sweep const& sweep, std::vector<stored_state> const& kept) {
  std::string text = std::to_string(sweep.open) + " of " + std::to_string(sweep.steps) +
                     (sweep.turned ? " turned" : "") + ", " + std::to_string(sweep.slots) + " slots, leaf " +
                     std::to_string(sweep.leaf) + ", kept";
  for (auto const& one : kept) text += " " + std::to_string(one.state) + "@" + std::to_string(one.slot);
  return text;
}

/// The totals, checked against the interpreter, against each other, and against running everything again.
schedule_counts sound(stopped_sweep const& sweep, std::vector<stored_state> const& kept) {
  remaining const plan = rest_around(sweep, kept);
  auto const found = check(plan, {sweep.open, sweep.turned, kept.data(), kept.size()});
  INFO(sweep_text(sweep, kept) << ": " << describe(found.reason) << " at action " << ::text_of(found.number) << ": "
                               << ::text_of(found.culprit));
  REQUIRE(found);
  REQUIRE(found.counts == plan.counts());
  REQUIRE(found.counts.reversals == wide(sweep.open));
  REQUIRE(found.counts.peak_slots <= sweep.slots);
  std::vector<int> leaves_kept;
  for (auto const& one : kept)
    if (one.state < sweep.open && one.state % sweep.leaf == 0) leaves_kept.push_back(int(one.state / sweep.leaf));
  auto const leaves_open = int((sweep.open + sweep.leaf - 1) / sweep.leaf);
  REQUIRE(found.counts.advances <= wide(brute::plain_advances(leaves_open, leaves_kept)) * wide(sweep.leaf));
  return found.counts;
}

/// One slot after the other, each with a state drawn with probability one half.
std::vector<stored_state> some_kept(std::mt19937& random, slot_index slots, step_index steps) {
  std::vector<stored_state> kept;
  for (slot_index slot = 0; slot < slots; ++slot)
    if (random() % 2 == 0) kept.push_back({slot, step_index(random() % unsigned(steps + 1))});
  std::shuffle(kept.begin(), kept.end(), random);
  return kept;
}

}  // namespace

static_assert(counted_schedule<remaining>);

TEST_CASE("a sweep is replanned from any open step and any checkpoints that are left", "[schedule][remaining]") {
  std::mt19937 random{1};
  for (step_index n = 0; n <= 40; ++n)
    for (step_index open = 0; open <= n; ++open)
      for (slot_index const slots : {0, 1, 2, 3, 5, 8}) {
        sound({n, open, true, slots}, some_kept(random, slots, n));
        if (open == n) sound({n, n, false, slots}, some_kept(random, slots, n));
      }
}

TEST_CASE("a sweep over leaves is replanned at any leaf", "[schedule][remaining]") {
  std::mt19937 random{2};
  for (step_index n = 0; n <= 40; ++n)
    for (step_index const leaf : {2, 3, 7, 50})
      for (step_index open = 0; open <= n + leaf; open += leaf)
        for (slot_index const slots : {0, 1, 2, 5}) {
          auto const kept = some_kept(random, slots, n);
          sound({n, std::min(open, n), true, slots, leaf}, kept);
          sound({n, n, false, slots, leaf}, kept);
        }
}

TEST_CASE("a sweep whose own checkpoints are all there goes on at the cost of the plan", "[schedule][remaining]") {
  for (step_index const n : {2, 10, 50})
    for (slot_index const s : {1, 2, 4}) {
      revolve const plan{n, s};
      std::vector<stored_state> kept;
      wide left = plan.counts().advances;
      auto cursor = plan.walk();
      for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) {
        if (a.kind == action_kind::save) kept.push_back({a.slot, a.from});
        if (a.kind == action_kind::drop)
          kept.erase(
              std::find_if(kept.begin(), kept.end(), [&](stored_state const& one) { return one.slot == a.slot; }));
        if (a.kind == action_kind::advance) left -= wide(a.to - a.from);
        if (a.kind == action_kind::reverse) CHECK(sound({n, a.from, true, s}, kept).advances <= left);
      }
    }
}

TEST_CASE("with nothing kept the rest is a revolve with a free initial state", "[schedule][remaining]") {
  for (step_index const n : {0, 1, 2, 9, 40})
    for (slot_index const s : {0, 1, 3, 60}) {
      auto const whole = sound({n, n, false, s}, {});
      auto const wanted = revolve{n, s, {.free_initial = true}}.counts();
      CHECK(whole.advances == wanted.advances);
      CHECK(whole.saves == wanted.saves);
      CHECK(whole.turned == wanted.turned);
      CHECK(whole.loads == wanted.loads + 1);
    }
}

TEST_CASE("what is of no use is dropped before anything runs", "[schedule][remaining]") {
  std::vector<stored_state> const kept{{0, 0}, {1, 12}, {2, 4}, {3, 5}, {4, 4}, {5, 20}, {6, 8}};
  remaining const plan = rest_around({20, 12, true, 7, 4}, kept);
  auto const all = actions_of(plan);
  std::vector<slot_index> dropped;
  for (std::size_t k = 0; all[k].kind == action_kind::drop; ++k) dropped.push_back(all[k].slot);
  std::sort(dropped.begin(), dropped.end());
  CHECK(dropped == std::vector<slot_index>{0, 1, 3, 4, 5});
  CHECK(all[5] == action{action_kind::load, tier::memory, content::state, 6, 8, 0});
  sound({20, 12, true, 7, 4}, kept);
}

TEST_CASE("checkpoints are loaded and dropped where they are", "[schedule][remaining]") {
  std::vector<stored_state> const kept{{3, 6, tier::disk}, {0, 2, tier::device}};
  remaining const plan = rest_around({9, 9, true, 4}, kept);
  CHECK(check(plan, {9, true, kept.data(), kept.size()}));
  for (auto const& a : actions_of(plan))
    if (a.slot == 3 && a.kind != action_kind::save && a.from == 6) CHECK(a.where == tier::disk);
}

TEST_CASE("the rest of a loop of 2^63-1 steps is exact", "[schedule][remaining]") {
  constexpr auto longest = std::numeric_limits<step_index>::max();
  std::vector<stored_state> const kept{{17, longest - 20}, {3, step_index{1} << 62}, {99, 7}};
  for (step_index const leaf : {1, 7}) {
    remaining const plan = rest_around({longest, longest, false, 100, leaf}, kept);
    auto const counts = plan.counts();
    CHECK(counts.reversals == wide(longest));
    if (leaf == 1)
      CHECK(counts.advances == revolve::advances(20, 98) + revolve::advances(longest - 20 - (step_index{1} << 62), 99) +
                                   revolve::advances((step_index{1} << 62) - 7, 100) + revolve::advances(7, 101));
    interpreter machine{detail::limits_of(plan), {longest, false, kept.data(), kept.size()}};
    auto cursor = plan.walk();
    for (int k = 0; k < 100'000; ++k)
      if (auto const bad = machine.obey(cursor.next()); bad != flaw::none) FAIL(describe(bad));
  }
}

TEST_CASE("a sweep cannot have stopped just anywhere", "[schedule][remaining]") {
  CHECK_THROWS_AS(rest_around({10, 11, true, 2}, {}), invalid_plan);
  CHECK_THROWS_AS(rest_around({10, -1, true, 2}, {}), invalid_plan);
  CHECK_THROWS_AS(rest_around({10, 5, false, 2}, {}), invalid_plan);
  CHECK_THROWS_AS(rest_around({10, 5, true, 2, 4}, {}), invalid_plan);
  CHECK_THROWS_AS(rest_around({10, 10, true, -1}, {}), invalid_plan);
  CHECK_THROWS_AS(rest_around({10, 10, true, 2, 0}, {}), invalid_plan);
  CHECK_THROWS_AS(rest_around({-1, -1, true, 2}, {}), invalid_plan);
  CHECK_THROWS_WITH(rest_around({10, 10, true, 2}, {{1, 11}}),
                    ContainsSubstring("no such state") && ContainsSubstring("slot = 1"));
}
