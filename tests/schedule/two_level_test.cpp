// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/two_level.hpp>
#include "support/brute_force.hpp"
#include "support/catch.hpp"
#include "support/csv.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr step_index longest = std::numeric_limits<step_index>::max();

}  // namespace

static_assert(counted_schedule<two_level> && has_slot_tiers(two_level{3, 1, 1}));
static_assert(verify(two_level{20, 6, 2}) == two_level{20, 6, 2}.counts(), "two_level walks in a constant expression");

TEST_CASE("two_level does what the oracle says", "[schedule][two_level][oracle]") {
  for (auto const& row : csv::oracle("two_level_periodic.csv")) {
    two_level const plan{step_index(csv::number(row.at("n"))), step_index(csv::number(row.at("period"))),
                         slot_index(csv::number(row.at("extra_binomial_slots")))};
    INFO(row.at("n") << " steps, periods of " << row.at("period") << ", extra slots "
                     << row.at("extra_binomial_slots"));
    auto const walked = verify(plan);
    CHECK(walked == plan.counts());
    CHECK(walked.advances == csv::number(row.at("advances_online_full_sweep")));
  }
}

TEST_CASE("two_level predicts the totals of its walk for all small loops, periods and slots", "[schedule][two_level]") {
  for (step_index n = 0; n <= 45; ++n)
    for (step_index p = 1; p <= n + 2; ++p)
      for (slot_index x = 0; x <= 8; ++x)
        for (tier const where : {tier::memory, tier::disk}) {
          INFO(n << " steps, periods of " << p << ", extra slots " << x);
          two_level const plan{n, p, x, {.periods_on = where, .extra_on = tier::memory}};
          CHECK(verify(plan) == plan.counts());
        }
}

TEST_CASE("two_level predicts the totals of its walk for longer loops", "[schedule][two_level]") {
  for (step_index const n : {999, 1000, 5001})
    for (step_index const p : {1, 7, 100, 333, 1000, 5000})
      for (slot_index const x : {0, 1, 2, 5, 30, 2000}) {
        INFO(n << " steps, periods of " << p << ", extra slots " << x);
        two_level const plan{n, p, x};
        CHECK(verify(plan) == plan.counts());
      }
}

TEST_CASE("inside its periods two_level takes no more advances and saves than any order of nested checkpoints",
          "[schedule][two_level][brute]") {
  auto const best = brute::nested_optima(40, 7);
  for (int n = 1; n <= 40; ++n)
    for (int p = 1; p <= n; ++p)
      for (int x = 0; x <= 6; ++x) {
        INFO(n << " steps, periods of " << p << ", extra slots " << x);
        brute::effort least{n, 0};
        for (int first = 0; first < n; first += p)
          least = least + best[std::size_t(std::min(p, n - first))][std::size_t(x) + 1];
        auto const found = verify(two_level{n, p, x});
        CHECK(found.advances == wide(least.advances));
        CHECK(found.on(tier::memory).saves == wide(least.saves));
        CHECK(found.on(tier::disk).saves == wide((n + p - 1) / p));
      }
}

TEST_CASE("the last step is run in the forward run, and each period's start is dropped with its last load",
          "[schedule][two_level]") {
  for (action const& a : actions_of(two_level{23, 5, 2}))
    if (a.kind == action_kind::turn)
      CHECK(a == action{action_kind::turn, tier::memory, content::state, no_slot, 23, 23});
  step_index open = 23;
  for (action const& a : actions_of(two_level{23, 5, 2})) {
    if (a.kind == action_kind::reverse) open = a.from;
    if (a.kind == action_kind::drop && a.where == tier::disk) CHECK(open == 5 * a.slot + 1);
    if (a.kind == action_kind::save && a.slot < 5) CHECK(a.from == 5 * a.slot);
  }
}

TEST_CASE("two_level says where slots lie and which states are checkpoints", "[schedule][two_level]") {
  two_level const plan{10, 4, 9, {.periods_on = tier::host, .extra_on = tier::device}};
  CHECK(plan.periods() == 3);
  CHECK(plan.extra_slots() == 2);  // more are of no use to 4 steps
  CHECK(plan.slots() == 5);
  CHECK(plan.slot_tier(2) == tier::host);
  CHECK(plan.slot_tier(3) == tier::device);
  for (step_index i = -4; i <= 12; ++i) CHECK(plan.is_checkpoint(i) == (i == 0 || i == 4 || i == 8));
  CHECK(two_level{8, 4, 1}.is_checkpoint(8) == false);
  auto const sum = plan.counts();
  CHECK(sum.on(tier::host).peak == 3);
  CHECK(sum.on(tier::device).peak == 2);
  CHECK(sum.on(tier::memory) == tier_counts{});
  CHECK(two_level{0, 4, 9}.slots() == 0);
  CHECK(two_level{1, 4, 9}.slots() == 1);
}

TEST_CASE("two_level is exact up to 63 bits", "[schedule][two_level]") {
  for (step_index const n : {step_index{1} << 53, longest - 1, longest})
    for (step_index const p :
         {step_index{1}, step_index{2}, step_index{1000}, step_index{1} << 31, step_index{1} << 62, n - 1, n})
      for (slot_index const x : {slot_index{0}, slot_index{1}, slot_index{10}, slot_index{1} << 40, longest}) {
        INFO(n << " steps, periods of " << p << ", extra slots " << x);
        two_level const plan{n, p, x};
        auto const sum = plan.counts();
        step_index const whole = (n - 1) / p, last = n - whole * p;
        CHECK(sum.advances == wide(n) + wide(whole) * revolve::advances(p, x < longest ? x + 1 : x) +
                                  revolve::advances(last, x < longest ? x + 1 : x));
        CHECK(sum.loads == wide(n));
        CHECK(sum.on(tier::disk).saves == wide(whole) + 1);
        CHECK(sum.on(tier::disk).loads >= wide(whole) + 1);
        CHECK(sum.saves >= sum.on(tier::disk).saves);
        CHECK(plan.slots() > 0);
      }
  CHECK(two_level{longest, longest, 0}.counts().advances == wide(longest) + wide(longest) * (wide(longest) - 1) / 2);
}

TEST_CASE("two_level refuses what it cannot be made of before it does anything", "[schedule][two_level]") {
  CHECK_THROWS_AS((two_level{-1, 3, 1}), invalid_plan);
  CHECK_THROWS_AS((two_level{10, 0, 1}), invalid_plan);
  CHECK_THROWS_AS((two_level{10, 3, -1}), invalid_plan);
  CHECK_THROWS_AS((two_level{10, 3, 1, {.periods_on = tier(4)}}), invalid_plan);
  CHECK_THROWS_AS((two_level{10, 3, 1, {.extra_on = tier(200)}}), invalid_plan);
  CHECK_THROWS_WITH((two_level{10, -3, 1}), ContainsSubstring("cairn::two_level") && ContainsSubstring("period = -3"));
  CHECK_THROWS_WITH((two_level{10, 3, -1}),
                    ContainsSubstring("extra slots = -1") && ContainsSubstring("least extra slots = 0"));
}
