// SPDX-License-Identifier: Apache-2.0
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/plan/loop/verified.hpp>
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

/// What a user would write: keeps every state on disk, and every third counts as a checkpoint. `wrong` plans forget the
/// drops.
struct users_own {
  struct cursor {
    step_index n, i = 0;
    int part = 0;
    bool wrong = false, back = false;
    [[nodiscard]] action next() {
      if (back) {
        if (i < 0) return {};
        action const parts[] = {{action_kind::load, tier::disk, content::state, i, i, 0},
                                {action_kind::drop, tier::disk, content::state, i, 0, 0},
                                {action_kind::reverse, tier::memory, content::state, no_slot, i, i + 1}};
        action const a = parts[part];
        part += wrong && part == 0 ? 2 : 1;
        if (part == 3) {
          part = 0;
          --i;
        }
        return a;
      }
      if (i == n) {
        back = true;
        --i;
        part = 0;
        return {action_kind::turn, tier::memory, content::state, no_slot, n, n};
      }
      if (part++ == 0) return {action_kind::save, tier::disk, content::state, i, i, 0};
      part = 0;
      ++i;
      return {action_kind::advance, tier::memory, content::state, no_slot, i - 1, i};
    }
  };
  step_index n;
  bool wrong = false;
  [[nodiscard]] step_index steps() const { return n; }
  [[nodiscard]] slot_index slots() const { return n; }
  [[nodiscard]] step_index leaf() const { return 1; }
  [[nodiscard]] bool is_checkpoint(step_index i) const { return i % 3 == 0; }
  [[nodiscard]] tier slot_tier(slot_index) const { return tier::disk; }
  [[nodiscard]] schedule_counts counts() const { return {}; }  // wrong, and not asked
  [[nodiscard]] cursor walk() const { return {.n = n, .wrong = wrong}; }
};

}  // namespace

static_assert(schedule<verified<users_own>> && counted_schedule<verified<action_list>>);
static_assert(verified{two_level{9, 3, 1}}.counts() == two_level{9, 3, 1}.counts(),
              "verified is usable in constant expressions");

TEST_CASE("a schedule of one's own is played once and answers as it did", "[plan][verified]") {
  verified const plan{users_own{7}};
  CHECK(plan.counts() == verify(users_own{7}));
  CHECK(plan.counts().on(tier::disk) == tier_counts{7, 7, 7});
  CHECK(plan.steps() == 7);
  CHECK(plan.slots() == 7);
  CHECK(has_slot_tiers(plan));
  CHECK(slot_tier(plan, 3) == tier::disk);
  CHECK(is_checkpoint(plan, 6));
  CHECK_FALSE(is_checkpoint(plan, 5));
  CHECK(actions_of(plan) == actions_of(users_own{7}));
  CHECK(estimate(plan).counted == counted::in_closed_form);  // the walk was made before
  CHECK(estimate(plan).step_calls == 7);
  CHECK(any_schedule{plan}.is_counted());
}

TEST_CASE("verified forwards all that a plan says", "[plan][verified]") {
  for (step_index const n : {0, 1, 5, 12})
    each_as_any(n, [&](std::string const& name, auto const& plan) {
      INFO(name);
      verified const mine{plan};
      CHECK(mine.counts() == verify(plan));
      CHECK(mine.leaf() == plan.leaf());
      CHECK(tapes_of(mine) == tapes_of(plan));
      CHECK(tapes_restart(mine) == tapes_restart(plan));
      CHECK(initial_is_free(mine) == initial_is_free(plan));
      CHECK(units_of(mine).units == units_of(plan).units);
      CHECK(units_of(mine).tape_units == units_of(plan).tape_units);
      CHECK(has_slot_tiers(mine) == has_slot_tiers(plan));
      CHECK(table_bytes_of(mine) == table_bytes_of(plan));
      CHECK(shared_table_bytes_of(mine) == shared_table_bytes_of(plan));
      CHECK(actions_of(mine) == actions_of(plan));
    });
}

TEST_CASE("a schedule with a flaw is refused when it is made, with the number of the action", "[plan][verified]") {
  CHECK_THROWS_AS((verified{users_own{5, true}}), invalid_schedule);
  CHECK_THROWS_WITH((verified{users_own{5, true}}),
                    ContainsSubstring("cairn::verified: done while states or tapes are still kept") &&
                        ContainsSubstring("action = 21"));
  action_list const twice{2,
                          1,
                          {{action_kind::save, tier::memory, content::state, 0, 0, 0},
                           {action_kind::save, tier::memory, content::state, 0, 0, 0}}};
  CHECK_THROWS_WITH(verified{twice}, ContainsSubstring("the slot is taken") && ContainsSubstring("action = 1") &&
                                         ContainsSubstring("slot = 0"));
}

TEST_CASE("a plan whose kind is known at run time only can be checked as well", "[plan][verified]") {
  verified const plan{any_schedule{revolve{10, 3}}};
  CHECK(plan.counts() == revolve{10, 3}.counts());
}
