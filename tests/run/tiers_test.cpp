// SPDX-License-Identifier: Apache-2.0
// Plans for other tiers than memory, over the store in memory: refused before any step, unless the caller says that all
// states are wanted in memory.
#include <string>
#include <vector>
#include <cairn/planning.hpp>
#include <cairn/cairn.hpp>
#include "support/catch.hpp"
#include "support/pendulum.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

any_schedule list_of(any_schedule const& plan) {
  std::vector<action> all;
  detail::each_action(plan, [&](action const& a) { all.push_back(a); });
  return action_list{plan.steps(), plan.slots(), all.data(), all.size(), {.free_initial = plan.initial_is_free()}};
}
std::vector<any_schedule> plans_on_other_tiers(step_index n) {
  std::vector<any_schedule> all{
      two_level{n, 5, 2},
      two_level{n, 5, 2, {.periods_on = tier::memory, .extra_on = tier::host}},
      hrevolve{n, {{2}, {4, 1, 1}}},
      hrevolve{n, {{2, 0, 0, tier::device}, {4, 1, 1, tier::disk}}},
      multistage{n, 2, 3},
      disk_revolve{n, 2, {.disk_write = 1, .disk_read = 1}},
      leaves{n, 2, two_level{(n + 1) / 2, 3, 1}},
      verified{multistage{n, 2, 3}},
  };
  for (std::size_t k = 0; k < 6; ++k) all.push_back(list_of(all[k]));
  return all;
}

}  // namespace

TEST_CASE("a plan for other tiers over the store in memory is refused before any step, with tier, states and bytes") {
  for (auto const& plan : plans_on_other_tiers(40)) {
    auto const counts = verify(plan);
    std::size_t where = 1;
    while (counts.tiers[where].peak == 0) ++where;
    char const* const names[] = {"", "on a device", "in pinned memory of the host", "on disk"};
    auto const says = ContainsSubstring(
        std::string{names[where]} + ", and the store of this sweep is memory alone (tier = " + std::to_string(where) +
        ", states = " + std::to_string(counts.tiers[where].peak) +
        ", bytes = " + std::to_string(std::size_t(counts.tiers[where].peak) * pendulum::start().bytes()) + ")");
    CHECK_THROWS_WITH(detail::refuse_tiers("cairn::gradient", 3, 2, 0), !ContainsSubstring("bytes = "));  // unknown
    pendulum::step_calls = 0;
    CHECK_THROWS_WITH(gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::leaf{}), says);
    CHECK_THROWS_WITH(checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan), says);
    memory_store store;
    CHECK_THROWS_AS(gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::leaf{}, store),
                    invalid_plan);
    auto work = workspace_for<pendulum::state>(plan);
    CHECK_THROWS_AS(resume(pendulum::in_place{}, pendulum::start(), plan, resume_point{step_index{0}, pendulum::numbers{1, 1}},
                           pendulum::leaf{}, work),
                    invalid_plan);
    CHECK(pendulum::step_calls == 0);
  }
}

TEST_CASE("in_memory keeps the states of such a plan in memory, and says what they take") {
  pendulum::stored const all{40};
  for (auto const& plan : plans_on_other_tiers(40)) {
    in_memory const kept{plan};
    CHECK(gradient(pendulum::in_place{}, pendulum::start(), kept, pendulum::seed, pendulum::leaf{}) == all.gradient);
    auto run = checkpointed_loop(pendulum::in_place{}, pendulum::start(), kept);
    CHECK(run.reverse(pendulum::seed, pendulum::leaf{}) == all.gradient);
    auto const inside = verify(plan), outside = verify(kept);
    CHECK(outside.on(tier::memory).peak == inside.peak_slots);
    CHECK(outside.on(tier::memory).saves == inside.saves);
    CHECK(outside.on(tier::disk) == tier_counts{});
    CHECK(outside.advances == inside.advances);
    if (knows_counts(kept)) CHECK(kept.counts() == walked_counts(kept));
    workload const work{.state_bytes = 1000};
    CHECK(estimate(kept, work).memory_bytes > estimate(plan, work).memory_bytes);
  }
  static_assert(in_memory{two_level{40, 5, 2}}.counts() == walked_counts(in_memory{two_level{40, 5, 2}}));
}

TEST_CASE("a plan that has slots on other tiers, but keeps nothing there, runs in memory") {
  hrevolve const plan{20, {{3}, {4, 100, 100}}};  // a transfer takes as long as the loop
  CHECK(leaves_memory(plan));
  CHECK(gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}) ==
        pendulum::stored{20}.gradient);
}

TEST_CASE("the plan that advise gives for a disk is not run in memory") {
  workload work{.steps = 1000, .state_bytes = 1 << 20};
  work.tiers.disk = {.write_seconds = 0.002, .read_seconds = 0.001, .bytes = 20'000'000'000};
  work.step_seconds = work.adjoint_seconds = 0.01;
  auto const advised = advise("8MiB", work);
  REQUIRE(leaves_memory(advised.best.schedule));
  CHECK_THROWS_AS(gradient([](double&) {}, 1.0, advised.best.schedule, 1.0, [](double, double&) {}), invalid_plan);
}
