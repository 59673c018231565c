// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>
#include <cairn/plan/loop/verify.hpp>
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {
constexpr step_index longest = std::numeric_limits<step_index>::max();
}

static_assert(counted_schedule<leaves<revolve>> && schedule<leaves<action_list>> &&
              !counted_schedule<leaves<action_list>>);
static_assert(verify(leaves{10, 3, revolve{4, 2}}) == leaves{10, 3, revolve{4, 2}}.counts(),
              "leaves walk in a constant expression");

TEST_CASE("leaves stretch every range of the inner plan and end with the loop", "[schedule][leaves]") {
  for (step_index n = 0; n <= 40; ++n)
    for (step_index k = 1; k <= n + 2; ++k) {
      step_index const count = (n + k - 1) / k;
      auto const inner = actions_of(revolve{count, 2});
      auto const outer = actions_of(leaves{n, k, revolve{count, 2}});
      REQUIRE(inner.size() == outer.size());
      for (std::size_t j = 0; j < inner.size(); ++j) {
        action wanted = inner[j];
        wanted.from = std::min(n, wanted.from * k);
        wanted.to = std::min(n, wanted.to * k);
        CHECK(outer[j] == wanted);
      }
    }
}

TEST_CASE("leaves keep what the inner plan says of itself", "[schedule][leaves]") {
  leaves const plan{100, 7, revolve{15, 3, {.free_initial = true}}};
  CHECK(plan.steps() == 100);
  CHECK(plan.leaf() == 7);
  CHECK(plan.slots() == 3);
  CHECK(plan.initial_is_free());
  CHECK(plan.tapes() == 0);
  CHECK(plan.table_bytes() == revolve{15, 3, {.free_initial = true}}.table_bytes());
  CHECK(leaves{20, 4, all_tapes(5)}.tapes() == 5);
  CHECK(leaves{3, 10, revolve{1, 1}}.leaf() == 3);
  CHECK(leaves{0, 10, revolve{0, 1}}.leaf() == 1);
  leaves const blocks{100, 7, uniform{15, {.block = 4}}};
  for (step_index i = 0; i <= 100; ++i) CHECK(blocks.is_checkpoint(i) == (i % 28 == 0 && i > 0));
}

TEST_CASE("leaves of 2^62 steps and more are exact", "[schedule][leaves]") {
  for (step_index const n : {longest, longest - 1, (step_index{1} << 62) + 1})
    for (step_index const k : {step_index{1}, step_index{3}, step_index{1} << 31, step_index{1} << 61, longest}) {
      INFO(n << " steps in leaves of " << k);
      step_index const count = n / k + (n % k != 0 ? 1 : 0);
      leaves const plan{n, k, revolve{count, 4}};
      auto const counts = plan.counts();
      CHECK(counts.reversals == wide(n));
      CHECK(counts.turned == wide(n) - wide(count - 1) * wide(k));
      CHECK(counts.advances == revolve::advances(count, 4) * wide(k));
      interpreter machine{detail::limits_of(plan)};
      auto cursor = plan.walk();
      for (int j = 0; j < 1000; ++j)
        if (auto const bad = machine.obey(cursor.next()); bad != flaw::none) FAIL(describe(bad));
    }
}

TEST_CASE("leaves over a plan that runs the last step before the turn count the short leaf once",
          "[schedule][leaves]") {
  auto const whole_first = [](step_index
                                  count) {  // runs to the end, turns there, then runs everything again from the start
    std::vector<action> all{{action_kind::save, tier::memory, content::state, 0, 0, 0},
                            {action_kind::advance, tier::memory, content::state, no_slot, 0, count},
                            {action_kind::turn, tier::memory, content::state, no_slot, count, count}};
    for (step_index i = count; i-- > 0;) {
      all.push_back({action_kind::load, tier::memory, content::state, 0, 0, 0});
      if (i > 0) all.push_back({action_kind::advance, tier::memory, content::state, no_slot, 0, i});
      all.push_back({action_kind::reverse, tier::memory, content::state, no_slot, i, i + 1});
    }
    all.push_back({action_kind::drop, tier::memory, content::state, 0, 0, 0});
    return action_list{count, 1, all.data(), all.size()};
  };
  struct told {  // the same, with totals
    action_list plan;
    [[nodiscard]] step_index steps() const { return plan.steps(); }
    [[nodiscard]] slot_index slots() const { return plan.slots(); }
    [[nodiscard]] step_index leaf() const { return plan.leaf(); }
    [[nodiscard]] action_list::cursor walk() const { return plan.walk(); }
    [[nodiscard]] schedule_counts counts() const { return walked_counts(plan); }
  };
  for (step_index n = 1; n <= 20; ++n)
    for (step_index k = 1; k <= n + 1; ++k) {
      leaves const plan{n, k, told{whole_first((n + k - 1) / k)}};
      CHECK(plan.is_counted());
      CHECK(plan.counts() == verify(plan));
    }
}

TEST_CASE("leaves refuse a plan of another length and say which it needs", "[schedule][leaves]") {
  CHECK_THROWS_WITH((leaves{10, 3, revolve{3, 2}}),
                    ContainsSubstring("cairn::leaves") && ContainsSubstring("leaves = 4"));
  CHECK_THROWS_AS((leaves{10, 3, revolve{5, 2}}), invalid_plan);
  CHECK_THROWS_AS((leaves{10, 0, revolve{10, 2}}), invalid_plan);
  CHECK_THROWS_AS((leaves{-1, 3, revolve{0, 2}}), invalid_plan);
}
