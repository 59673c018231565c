// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <random>
#include <cairn/core/bytes_of.hpp>
#include <cairn/plan/loop/detail/plan_search.hpp>
#include <cairn/plan/text/plan_text.hpp>
#include <cairn/planning.hpp>
#include "support/catch.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr workload plain{.steps = 1000, .state_bytes = 1'000'000, .state_inline_bytes = 24, .adjoint_bytes = 1'000'000};

workload random_workload(std::mt19937& random, step_index most_steps) {
  workload work;
  work.steps = step_index(random() % std::uint64_t(most_steps + 1));
  work.state_bytes = 1 + random() % 3000;
  work.state_inline_bytes = random() % 2 == 0 ? 0 : work.state_bytes / 3;
  work.adjoint_bytes = random() % 4000;
  work.tape_bytes = random() % 3000;
  work.tape_step_bytes = random() % 900;
  work.form.step = random() % 2 == 0 ? step_form::in_place : step_form::out_of_place;
  adjoint_form const forms[] = {adjoint_form::one_step, adjoint_form::with_next, adjoint_form::leaf,
                                adjoint_form::recorded};
  work.form.adjoint = forms[random() % 4];
  work.form.keeps_run = work.form.adjoint != adjoint_form::recorded && random() % 3 == 0;
  return work;
}

}  // namespace

TEST_CASE("a plan takes no more than its budget, and with one slot more it would", "[plan][plan_within]") {
  std::mt19937 random{1};
  for (int round = 0; round < 150; ++round) {
    auto const work = random_workload(random, 300);
    auto const least = detail::smallest_plan(work, "test").cost.memory_bytes;
    auto const budget = byte_size{least + random() % (least * 30)};
    auto const plan = plan_within(budget, work);
    CAPTURE(round, *work.steps, budget.count(), name_of(plan.by), plan.with.slots, plan.with.leaf);
    CHECK(plan.cost.memory_bytes <= budget.count());
    CHECK(estimate(plan.schedule, work).memory_bytes == plan.cost.memory_bytes);
    CHECK(verify(plan.schedule) == plan.cost.counts);
    CHECK(plan.memory.total() == plan.cost.memory_bytes);
    if (plan.by != planner::revolve) continue;
    detail::revolve_factory const make{*work.steps, plan.with.leaf};
    if (plan.with.slots < make.most()) CHECK(estimate(make(plan.with.slots + 1), work).memory_bytes > budget.count());
  }
}

TEST_CASE("the least feasible budget is feasible, and one byte less is refused and says which it is",
          "[plan][plan_within]") {
  std::mt19937 random{2};
  for (int round = 0; round < 60; ++round) {
    auto const work = random_workload(random, 100);
    auto const low = why_infeasible(byte_size{0}, work);
    REQUIRE(low);
    CAPTURE(round, *work.steps, low->least_bytes());
    CHECK(low->missing() == low->least_bytes());
    CHECK(low->least.memory.total() == low->least_bytes());
    auto const least = byte_size{low->least_bytes()};
    CHECK(plan_within(least, work).cost.memory_bytes <= least.count());
    CHECK_FALSE(why_infeasible(least, work));
    byte_size const less{least.count() - 1};
    CHECK(why_infeasible(less, work));
    try {
      (void)plan_within(less, work);
      FAIL("one byte too few is enough");
    } catch (infeasible_budget const& refused) {
      CHECK(refused.value(0).magnitude == less.count());
      CHECK(refused.value(1).magnitude == low->least_bytes());
    }
  }
}

TEST_CASE("a budget in bytes is refused without the bytes of a state, before anything is planned",
          "[plan][plan_within]") {
  auto work = plain;
  work.state_bytes = work.state_inline_bytes = 0;
  auto const refused = [&](char const* who, auto ask) {
    CHECK_THROWS_AS(ask(), invalid_plan);
    CHECK_THROWS_WITH(
        ask(),
        ContainsSubstring(
            std::string{who} +
            ": the workload does not say how many bytes a state holds (state bytes = 0); give workload::state_bytes"));
  };
  refused("cairn::plan_within", [&] { (void)plan_within("1MB", work); });
  refused("cairn::advise", [&] { (void)advise("1MB", work); });
  refused("cairn::pareto", [&] { (void)pareto(work); });
  refused("cairn::why_infeasible", [&] { (void)why_infeasible("1MB", work); });
  CHECK_THROWS_WITH(plan_within("1MB", {}), ContainsSubstring("does not say how many steps"));
  struct empty {};
  work.state_bytes = bytes_of(empty{});
  CHECK(plan_within("2MB", work).cost.extra_steps == 0);
}

TEST_CASE("a budget in bytes is refused without the bytes of a tape, or of a leaf", "[plan][plan_within]") {
  for (auto const form : {adjoint_form::recorded, adjoint_form::leaf}) {
    auto work = plain;
    work.form.adjoint = form;
    auto const refused = [&](char const* who, auto ask) {
      CHECK_THROWS_AS(ask(), invalid_plan);
      CHECK_THROWS_WITH(ask(), ContainsSubstring(std::string{who} + ": the workload does not say how many bytes a tape, "
                                                                    "or a leaf, holds") &&
                                   ContainsSubstring("give workload::tape_bytes"));
    };
    refused("cairn::plan_within", [&] { (void)plan_within("100MB", work); });
    refused("cairn::advise", [&] { (void)advise("100MB", work); });
    refused("cairn::pareto", [&] { (void)pareto(work); });
    refused("cairn::why_infeasible", [&] { (void)why_infeasible("100MB", work); });
    refused("cairn::most_slots_within", [&] {
      (void)most_slots_within("100MB", work, detail::revolve_factory{*work.steps, form == adjoint_form::leaf ? 2 : 1});
    });
    if (form == adjoint_form::leaf) CHECK(plan_within("100MB", work, {.leaf = 1}).with.leaf == 1);
    work.tape_bytes = 0;
    CHECK(plan_within("100MB", work).cost.memory_bytes <= 100'000'000);
  }
}

TEST_CASE("a budget that is too small says what the least is for", "[plan][plan_within]") {
  auto const low = why_infeasible("3MB", plain);
  REQUIRE(low);
  CHECK(low->least.memory.states == 2'000'000);
  CHECK(low->least.memory.initial == 1'000'000);
  CHECK(low->least.memory.adjoints == 1'000'000);
  CHECK(low->least.memory.tapes == 0);
  CHECK_THAT(
      infeasibility_text(*low),
      ContainsSubstring("The budget is 2.86 MiB, and the least that any plan takes is 3.81 MiB (4000") &&
          ContainsSubstring("1.91 MiB for states, those in work included, 977 KiB for the caller's initial state"));
  CHECK_THROWS_WITH(
      plan_within("3MB", plain),
      ContainsSubstring("cairn::plan_within: no plan fits the budget (budget = 3000000, least bytes = 4000"));
}

TEST_CASE("a tier beside memory can make a smaller budget feasible", "[plan][plan_within]") {
  auto work = plain;
  work.tiers.disk.bytes = unlimited_bytes;
  auto const low = why_infeasible(byte_size{0}, work);
  REQUIRE(low);
  CHECK(low->least_bytes() < why_infeasible(byte_size{0}, plain)->least_bytes());
  CHECK(low->least.by == planner::two_level);
  CHECK(plan_within(byte_size{low->least_bytes()}, work, {.only = planner::two_level}).cost.memory_bytes ==
        low->least_bytes());
}

TEST_CASE("slots and leaf are chosen together", "[plan][plan_within]") {
  auto work = plain;
  work.form.adjoint = adjoint_form::leaf;
  work.tape_step_bytes = 100'000;
  for (char const* const budget : {"5MB", "8MB", "20MB", "100MB"}) {
    auto const chosen = plan_within(budget, work);
    CAPTURE(budget, chosen.with.leaf, chosen.with.slots);
    for (step_index leaf = 1; leaf <= 1000; ++leaf) {
      auto const fit = most_slots_within(budget, work, detail::revolve_factory{1000, leaf});
      if (fit.fits)
        CHECK(chosen.cost.step_calls <= estimate(detail::revolve_factory{1000, leaf}(fit.slots), work).step_calls);
    }
    CHECK(chosen.schedule.leaf() == chosen.with.leaf);
  }
  CHECK(plan_within("8MB", work, {.leaf = 7}).with.leaf == 7);
  CHECK(plan_within("8MB", work, {.leaf = 1}).cost.step_calls > plan_within("8MB", work).cost.step_calls);
  CHECK(plan_within("200MB", work).cost.extra_steps == 0);
}

TEST_CASE("adjoints of one step get no leaves", "[plan][plan_within]") {
  auto work = plain;
  work.tape_step_bytes = 0;
  CHECK(plan_within("9MB", work).with.leaf == 1);
}

TEST_CASE("only one planner is used if only it is requested", "[plan][plan_within]") {
  CHECK(plan_within("200MB", plain, {.only = planner::uniform}).by == planner::uniform);
  CHECK(plan_within("2GB", plain, {.only = planner::store_all}).cost.extra_steps == 0);
  CHECK_THROWS_AS(plan_within("20MB", plain, {.only = planner::uniform}), infeasible_budget);
  try {
    (void)plan_within("20MB", plain, {.only = planner::uniform});
  } catch (infeasible_budget const& refused) {
    byte_size const least{refused.value(1).magnitude};
    CHECK(plan_within(least, plain, {.only = planner::uniform}).cost.memory_bytes == least.count());
  }
}

TEST_CASE("budgets are met for loops of up to 2^63-1 steps", "[plan][plan_within]") {
  for (step_index const n : {step_index{1} << 31, step_index{1} << 53, step_index{1'000'000'000'000'000'000},
                             std::numeric_limits<step_index>::max()})
    for (auto const form : {adjoint_form::one_step, adjoint_form::leaf}) {
      auto work = plain;
      work.steps = n;
      work.form.adjoint = form;
      work.tape_step_bytes = 1000;
      auto const plan = plan_within("4GB", work);
      CHECK(plan.cost.memory_bytes <= wide{4'000'000'000});
      if (form == adjoint_form::one_step) CHECK(plan.cost.memory_bytes > wide{3'900'000'000});
      CHECK(plan.cost.reversals == wide(n));
    }
}

TEST_CASE("any kind of plan can be asked for its most slots", "[plan][most_slots]") {
  struct {
    slot_index least() const { return 2; }
    slot_index most() const { return 90; }
    two_level operator()(slot_index slots) const { return {1000, 100, slots, {.periods_on = tier::memory}}; }
  } const make;
  auto const fit = most_slots_within("50MB", plain, make);
  CHECK(fit.fits);
  CHECK(fit.bytes == estimate(make(fit.slots), plain).memory_bytes);
  CHECK(fit.bytes <= 50'000'000);
  CHECK(estimate(make(fit.slots + 1), plain).memory_bytes > 50'000'000);
  CHECK_FALSE(most_slots_within("5MB", plain, make).fits);
  CHECK(most_slots_within("1GB", plain, make).slots == 90);
}

TEST_CASE("an explanation compares with half and with twice the memory", "[plan][explain]") {
  auto const plan = plan_within("20MB", plain);
  auto const of = explain(plan, plain);
  REQUIRE(of.half);
  REQUIRE(of.twice);
  CHECK(of.half->cost.memory_bytes <= plan.cost.memory_bytes / 2);
  CHECK(of.half->cost.step_calls > plan.cost.step_calls);
  CHECK(of.twice->cost.step_calls < plan.cost.step_calls);
  CHECK(of.twice->cost.memory_bytes <= 2 * plan.cost.memory_bytes);
  CHECK_THAT(explanation_text(of), ContainsSubstring("Half the memory: revolve with") &&
                                       ContainsSubstring("% more step calls") &&
                                       ContainsSubstring("% fewer step calls"));
  auto const smallest = plan_within("4100000", plain);
  CHECK_FALSE(explain(smallest, plain).half);
  CHECK_THAT(explanation_text(explain(smallest, plain)),
             ContainsSubstring("Half the memory is too little: 3.81 MiB is the least"));
}
