// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/revolve.hpp>
#include "support/brute_force.hpp"
#include "support/catch.hpp"
#include "support/csv.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr step_index longest = std::numeric_limits<step_index>::max();

/// C(n, k), or `cap` where it is larger; multiplies and divides one factor at a time.
wide binomial(wide n, wide k, wide cap) {
  wide value = 1;
  for (wide j = 1; j <= k; ++j) {
    value = value * (n - k + j) / j;
    if (value > cap) return cap;
  }
  return value;
}

/// Plays this many actions; what they do is checked by the interpreter.
schedule_counts played(revolve const& plan, int actions) {
  interpreter machine{detail::limits_of(plan)};
  auto cursor = plan.walk();
  for (int k = 0; k < actions; ++k) {
    action const a = cursor.next();
    if (auto const bad = machine.obey(a); bad != flaw::none)
      FAIL(describe(bad) << " at action " << k << ": " << text_of(a));
    if (a.kind == action_kind::done) break;
  }
  return machine.counts();
}

}  // namespace

static_assert(schedule<revolve> && counted_schedule<revolve> && std::is_nothrow_copy_constructible_v<action>);
static_assert(revolve{1000, 10}.counts().advances == 3636 && revolve::advances(1000, 10) == 3636);
static_assert(verify(revolve{20, 3}) == revolve{20, 3}.counts(), "revolve walks in a constant expression");
static_assert(verify(revolve{9, 0, {.free_initial = true}}).advances == 36);

TEST_CASE("revolve does what the oracles of small loops say", "[schedule][revolve][oracle]") {
  for (auto const& row : csv::oracle("revolve_small.csv")) {
    revolve const plan{step_index(csv::number(row.at("n"))), slot_index(csv::number(row.at("s")))};
    INFO(row.at("n") << " steps, " << row.at("s") << " slots");
    auto const walked = verify(plan);
    CHECK(walked == plan.counts());
    CHECK(walked.advances == csv::number(row.at("min_advances")));
    CHECK(walked.saves == csv::number(row.at("min_stores")));
    CHECK(plan.repetition_number() == step_index(csv::number(row.at("repetition_number"))));
  }
}

TEST_CASE("revolve has the totals and first splits of the oracles of large loops", "[schedule][revolve][oracle]") {
  for (auto const& row : csv::oracle("revolve_large.csv")) {
    revolve const plan{step_index(csv::number(row.at("n"))), slot_index(csv::number(row.at("s")))};
    INFO(row.at("n") << " steps, " << row.at("s") << " slots");
    CHECK(plan.counts().advances == csv::number(row.at("min_advances")));
    CHECK(plan.repetition_number() == step_index(csv::number(row.at("repetition_number"))));
    auto const split = wide(plan.first_split());
    CHECK(split >= csv::number(row.at("first_split_min")));
    CHECK(split <= csv::number(row.at("first_split_max")));
    CHECK(split == csv::number(row.at("first_split_min_stores_rule")));
  }
}

namespace {

void walk_rows(step_index longer_than, step_index up_to) {
  for (auto const& row : csv::oracle("revolve_large.csv")) {
    revolve const plan{step_index(csv::number(row.at("n"))), slot_index(csv::number(row.at("s")))};
    INFO(row.at("n") << " steps, " << row.at("s") << " slots");
    if (plan.steps() > longer_than && plan.steps() <= up_to) CHECK(verify(plan) == plan.counts());
  }
}

}  // namespace

TEST_CASE("revolve walks the oracles of large loops with the totals it predicts", "[schedule][revolve][oracle][long]") {
  walk_rows(0, 2'000'000);
}

TEST_CASE("revolve walks loops of ten million steps with the predicted totals", "[schedule][revolve][oracle][.soak]") {
  walk_rows(2'000'000, 10'000'000);
}

TEST_CASE("revolve begins loops too long to walk without a flaw", "[schedule][revolve][oracle][long]") {
  for (auto const& row : csv::oracle("revolve_large.csv")) {
    revolve const plan{step_index(csv::number(row.at("n"))), slot_index(csv::number(row.at("s")))};
    if (plan.steps() <= 10'000'000 || plan.slots() > 1'000'000) continue;
    INFO(row.at("n") << " steps, " << row.at("s") << " slots");
    auto const done = played(plan, plan.steps() == 1'000'000'000'000'000'000 ? 1'000'000 : 100'000);
    CHECK(done.peak_slots <= plan.slots());
  }
}

TEST_CASE("no order of nested checkpoints takes fewer advances, or as many and fewer saves, than revolve",
          "[schedule][revolve][brute]") {
  auto const best = brute::nested_optima(80, 12);
  for (step_index n = 0; n <= 80; ++n)
    for (slot_index s = 1; s <= 12; ++s) {
      INFO(n << " steps, " << s << " slots");
      auto const least = best[std::size_t(n)][std::size_t(s)];
      auto const found = verify(revolve{n, s});
      CHECK(found.advances == wide(least.advances));
      CHECK(found.saves == wide(least.saves + (n > 1 ? 1 : 0)));
    }
}

TEST_CASE("no machine takes fewer advances, or as many and fewer saves, than revolve",
          "[schedule][revolve][brute]") {
  for (int n = 1; n <= 9; ++n)
    for (int s = 0; s <= 5; ++s) {
      INFO(n << " steps, " << s << " slots");
      auto const free = brute::searched_optimum(n, s, true);
      auto const walked = verify(revolve{n, s, {.free_initial = true}});
      CHECK(walked.advances == wide(free.advances));
      CHECK(walked.saves == wide(free.saves));
      if (s == 0) continue;
      auto const least = brute::searched_optimum(n, s);
      auto const found = verify(revolve{n, s});
      CHECK(found.advances == wide(least.advances));
      CHECK(found.saves == wide(least.saves));
    }
}

TEST_CASE("a free initial state saves one slot and one save", "[schedule][revolve]") {
  for (step_index n = 0; n <= 90; ++n)
    for (slot_index s = 0; s <= 12; ++s) {
      INFO(n << " steps, " << s << " slots");
      revolve const free{n, s, {.free_initial = true}};
      auto const with = verify(free);
      auto const without = verify(revolve{n, s + 1});
      CHECK(with == free.counts());
      CHECK(with.advances == without.advances);
      CHECK(with.saves + (n > 1 ? 1 : 0) == without.saves);
      CHECK(with.loads == without.loads);
      CHECK(free.slots() + 1 == revolve{n, s + 1}.slots());
    }
}

TEST_CASE("revolve uses all slots that are of use", "[schedule][revolve]") {
  for (step_index n = 2; n <= 60; ++n)
    for (slot_index s = 1; s <= 62; ++s) {
      revolve const plan{n, s};
      CHECK(plan.slots() == (s < n - 1 ? s : n - 1));
      CHECK(verify(plan).peak_slots == plan.slots());
    }
  CHECK(revolve{0, 7}.slots() == 1);
  CHECK(revolve{1, 7}.slots() == 1);
  CHECK(revolve{1, 0, {.free_initial = true}}.slots() == 0);
  CHECK(revolve{2, 7, {.free_initial = true}}.slots() == 0);
}

TEST_CASE("revolve is exact at the edges of 32, 53 and 63 bits", "[schedule][revolve]") {
  step_index const edges[] = {0,
                              1,
                              2,
                              3,
                              (1LL << 31) - 1,
                              1LL << 31,
                              (1LL << 31) + 1,
                              (1LL << 32) - 1,
                              1LL << 32,
                              (1LL << 32) + 1,
                              (1LL << 53) - 1,
                              1LL << 53,
                              (1LL << 53) + 1,
                              longest - 1,
                              longest};
  slot_index const slots[] = {1, 2, 3, 4, 10, 63, 1000, 1'000'000, 1LL << 31, 1LL << 53, 1LL << 62, longest};
  for (auto const n : edges)
    for (auto const s : slots) {
      INFO(n << " steps, " << s << " slots");
      revolve const plan{n, s};
      auto const counts = plan.counts();
      auto const used = wide(plan.slots());
      auto const t = wide(plan.repetition_number());
      if (n < 2) {
        CHECK(counts.advances == 0);
        CHECK(t == 0);
        CHECK(plan.first_split() == 0);
        CHECK(plan.table_bytes() == 0);
        continue;
      }
      auto const few = [](wide a, wide b) { return a < b ? a : b; };
      CHECK(binomial(used + t, few(used, t), wide(n)) == wide(n));                  // beta(s, t) >= n
      if (t > 1) CHECK(binomial(used + t - 1, few(used, t - 1), wide(n)) < wide(n));  // beta(s, t - 1) < n
      CHECK(counts.advances == t * wide(n) - binomial(used + t, few(used + 1, t - 1), wide{1} << 127));
      CHECK(counts.saves >= 1);
      CHECK(counts.saves <= wide(n) - 1);
      CHECK(plan.table_bytes() == used * 32);
      auto const split = plan.first_split();
      CHECK(split >= 1);
      CHECK(split < n);
      if (plan.slots() >= 2)
        CHECK(counts.advances ==
              wide(split) + revolve::advances(n - split, plan.slots() - 1) + revolve::advances(split, plan.slots()));
    }
  CHECK(revolve{longest, 1}.counts().advances == wide(longest) * (wide(longest) - 1) / 2);
}

TEST_CASE("a cursor of revolve is exact from its first action on at 63 bits", "[schedule][revolve]") {
  for (slot_index const s : {1, 2, 3, 10, 1000, 100'000}) {
    INFO(s << " slots");
    auto const done = played(revolve{longest, s}, 300'000);
    CHECK(done.advances > 0);
    revolve const free{longest, s, {.free_initial = true}};
    CHECK(played(free, 300'000).peak_slots <= s);
  }
}

TEST_CASE("a cursor of revolve cuts what is left as a revolve of as many steps and free slots would, at 63 bits",
          "[schedule][revolve]") {
  for (slot_index const slots : {2, 3, 10, 1000}) {
    INFO(slots << " slots");
    auto cursor = revolve{longest, slots}.walk();
    step_index live = 0, end = longest;
    slot_index held = 0;
    for (int k = 0; k < 3000; ++k) {
      action const a = cursor.next();
      held += a.kind == action_kind::save ? 1 : a.kind == action_kind::drop ? -1 : 0;
      if (a.kind == action_kind::load) live = a.from;
      if (a.kind == action_kind::reverse) end = a.from;
      if (a.kind != action_kind::advance) continue;
      REQUIRE(a.to - live == revolve{end - live, slots - held + 1}.first_split());
      live = a.to;
    }
    CHECK(end < longest);
  }
}

TEST_CASE("every right and left part of a large revolve is itself optimal", "[schedule][revolve]") {
  step_index const lengths[] = {1'000'000'007, 999'999'999'999'999'989, longest};
  for (auto const n : lengths)
    for (slot_index const s : {2, 3, 7, 64, 5000}) {
      detail::bracket own = detail::bracket_of(n, s);
      step_index length = n;
      slot_index slots = s;
      for (int turn = 0; length > 1 && slots > 1; ++turn) {  // now the right part, now the left
        detail::bracket right;
        auto const whole = revolve::advances(length, slots);
        step_index const y = detail::take_split(length, detail::q_below<wide>(slots, own), own, right);
        REQUIRE(whole == wide(y) + revolve::advances(length - y, slots - 1) + revolve::advances(y, slots));
        if (turn % 3 == 0) {
          length = y;
        } else {
          length -= y;
          --slots;
          own = right;
        }
      }
    }
}

TEST_CASE("64 bits are enough for a split wherever they are used", "[schedule][revolve]") {
  step_index const edge = step_index{1} << 32;
  step_index const numbers[] = {2, 3, 1000, edge - 2, edge - 1, edge, edge + 1, 2 * edge, 256 * edge};
  int narrow = 0;
  for (auto const slots : numbers)
    for (auto const q : numbers)
      for (step_index const t : {step_index{1}, step_index{2}, edge, longest}) {
        detail::bracket const own{q, q, t};
        if (!detail::is_narrow(slots, own)) continue;
        ++narrow;
        CHECK(detail::q_below<std::uint64_t>(slots, own) == detail::q_below<wide>(slots, own));
      }
  CHECK(narrow == 5 * 5 * 4);
}

TEST_CASE("revolve refuses negative loops and too few slots before it does anything", "[schedule][revolve]") {
  CHECK_THROWS_AS((revolve{-1, 3}), invalid_plan);
  CHECK_THROWS_AS((revolve{10, 0}), invalid_plan);
  CHECK_THROWS_AS((revolve{10, -1, {.free_initial = true}}), invalid_plan);
  CHECK_THROWS_AS(revolve::advances(-1, 1), invalid_plan);
  CHECK_THROWS_WITH((revolve{10, 0}), ContainsSubstring("cairn::revolve") && ContainsSubstring("slots = 0") &&
                                          ContainsSubstring("least slots = 1"));
  CHECK_THROWS_WITH((revolve{-7, 1}), ContainsSubstring("steps = -7"));
}
