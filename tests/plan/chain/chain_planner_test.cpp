// SPDX-License-Identifier: Apache-2.0
// One planner over all methods: every plan keeps within its budget, no bound is above what it bounds, and the best
// method is never behind another.
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/chain/replay.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_oracles.hpp"
#include "support/chain_search.hpp"

using cairn::chain;
using cairn::chain_method;
using cairn::chain_plan;
using cairn::chain_planner;

namespace {

/// What holds for every plan.
void check(chain_plan const& plan, chain const& work, std::int64_t budget) {
  CHECK(cairn::replay(work, plan.actions) == plan.cost);
  CHECK(plan.cost.peak <= budget);
  CHECK(plan.budget == budget);
  CHECK(plan.by != chain_method::automatic);
  CHECK(plan.proof.lower_bound_time <= plan.cost.makespan);
  CHECK(plan.proof.class_bound_time <= plan.cost.makespan);
  CHECK(plan.proof.lower_bound_peak <= plan.cost.peak);
  CHECK(plan.gap() >= 0);
  CHECK(plan.exact() == (plan.gap() == 0));
}
constexpr chain_method of_memory[]{chain_method::automatic,   chain_method::store_all,      chain_method::persistent,
                                   chain_method::slots,       chain_method::non_persistent,
                                   chain_method::tiers,       chain_method::sqrt,           chain_method::greedy,
                                   chain_method::single_level};

}  // namespace

TEST_CASE("the persistent planner answers every row of the oracles", "[plan][chain][oracle]") {
  int rows = 0;
  for (auto const& known : chains::oracles()) {
    CAPTURE(known.name);
    chain_planner planner{known.chain, {.by = chain_method::persistent}};
    CHECK(planner.least_bytes() == known.min_peak_persistent);
    CHECK(planner.store_all_peak() == known.store_all_peak);
    CHECK(planner.store_all_time() == known.no_checkpoint_makespan);
    CHECK_THROWS_AS(planner.plan(known.min_peak_persistent - 1), cairn::infeasible_budget);
    CHECK(planner.why_infeasible(known.min_peak_persistent - 1)->least_bytes == known.min_peak_persistent);
    CHECK_FALSE(planner.why_infeasible(known.min_peak_persistent));
    for (auto const& row : known.rows) {
      CAPTURE(row.budget);
      auto const plan = planner.plan(row.budget);
      check(plan, known.chain, row.budget);
      CHECK(plan.cost.makespan == row.opt_persistent);
      CHECK(plan.proof.lower_bound_peak == known.lb_peak_any_schedule);
      CHECK(double(plan.proof.lower_bound_time) >=
            std::floor(double(known.no_checkpoint_makespan) + row.lb_recompute_any));
      if (row.opt_any_schedule) CHECK(plan.proof.lower_bound_time <= *row.opt_any_schedule);
      CHECK(plan.exact());
      ++rows;
    }
  }
  CHECK(rows == 464);
}

TEST_CASE("the automatic planner is never behind the persistent optimum of the oracles, nor ahead of all schedules",
          "[plan][chain][oracle][long]") {
  int faster = 0;
  for (auto const& known : chains::oracles()) {
    CAPTURE(known.name);
    chain_planner planner{known.chain};
    CHECK(planner.least_bytes() <= known.min_peak_persistent);
    for (auto const& row : known.rows) {
      CAPTURE(row.budget);
      auto const plan = planner.plan(row.budget);
      check(plan, known.chain, row.budget);
      CHECK(plan.cost.makespan <= row.opt_persistent);
      if (row.opt_any_schedule) CHECK(plan.cost.makespan >= *row.opt_any_schedule);
      CHECK(plan.gap() <= 0.01);
      faster += plan.cost.makespan < row.opt_persistent;
    }
  }
  CHECK(faster > 20);
}

TEST_CASE("no method goes over its budget, below the best of all schedules, or above its own bounds",
          "[plan][chain][long]") {
  for (auto const kind : chains::all_kinds)
    for (bool const self_contained : {false, true})
      for (int stages = 0; stages <= 5; ++stages) {
        chain work = chains::make(kind, stages, unsigned(stages));
        if (stages % 2 == 1) work = chains::with_odd_adjoints(work, unsigned(stages));
        work.self_contained_tape = self_contained;
        brute::chain_search search{work};
        std::int64_t const enough = chain_planner{work}.store_all_peak();
        std::int64_t const least = search.least_peak(enough);
        for (auto const by : of_memory) {
          CAPTURE(chains::name_of(kind), stages, self_contained, name_of(by));
          chain_planner planner{work, {.by = by}};
          for (int part = 0; part <= 4; ++part) {
            std::int64_t const budget = least + (enough - least) * part / 4;
            auto const why = planner.why_infeasible(budget);
            if (why) {
              CHECK(why->least_bytes > budget);
              CHECK(why->lower_bound == why->state + why->tape + why->adjoint + why->work);
              CHECK_THROWS_AS(planner.plan(budget), cairn::infeasible_budget);
              // The whole budget is enough for all but Chen's fixed segments.
              CHECK(
                  (part < 4 || by == chain_method::sqrt || by == chain_method::tiers));
              continue;
            }
            auto const plan = planner.plan(budget);
            check(plan, work, budget);
            auto const best = search.makespan(budget);
            REQUIRE(best);
            CHECK(plan.cost.makespan >= *best);
            CHECK(plan.proof.lower_bound_time <= *best);
          }
          CHECK_THROWS_AS(planner.plan(least - 1), cairn::infeasible_budget);
          CHECK_THROWS_AS(planner.plan(-1), cairn::infeasible_budget);
        }
      }
}

TEST_CASE("the automatic planner is as fast as every other method", "[plan][chain][long]") {
  for (auto const kind : chains::large_kinds) {
    chain const work = chains::make(kind, 30, 3);
    chain_planner automatic{work};
    std::int64_t const least = automatic.least_bytes(), most = automatic.store_all_peak();
    for (int part = 0; part < 5; ++part) {
      std::int64_t const budget = least + (most - least) * part / 5;
      auto const best = automatic.plan(budget);
      check(best, work, budget);
      for (auto const by : of_memory) {
        if (by == chain_method::automatic) continue;
        CAPTURE(chains::name_of(kind), budget, name_of(by));
        chain_planner planner{work, {.by = by}};
        if (!planner.why_infeasible(budget)) CHECK(planner.plan(budget).cost.makespan >= best.cost.makespan);
      }
    }
  }
}

TEST_CASE("the least memory for a time is a plan's that would not be as fast with less", "[plan][chain]") {
  for (auto const kind : {chains::kind::tiny, chains::kind::random, chains::kind::transformer})
    for (auto const by : {chain_method::persistent, chain_method::automatic}) {
      chain const work = chains::make(kind, 8, 5);
      chain_planner planner{work, {.by = by}};
      for (double const slowdown : {1.0, 1.05, 1.2, 1.5, 3.0}) {
        CAPTURE(chains::name_of(kind), name_of(by), slowdown);
        std::int64_t const time = std::int64_t(double(planner.store_all_time()) * slowdown);
        auto const plan = planner.min_memory(time);
        check(plan, work, plan.budget);
        CHECK(plan.cost.makespan <= time);
        std::int64_t const less = plan.cost.peak - 1;
        if (!planner.why_infeasible(less)) CHECK(planner.plan(less).cost.makespan > time);
      }
      CHECK_THROWS_AS(planner.min_memory(planner.store_all_time() - 1), cairn::infeasible_budget);
    }
}

TEST_CASE("the least memory for a time is never a slower plan, for every method and its options",
          "[plan][chain][long]") {
  int plans = 0, refusals = 0;
  for (auto const kind : chains::all_kinds)
    for (auto const by : of_memory)
      for (std::int64_t const slots : {0, 1, 3, 40}) {
        chain const work = chains::make(kind, 7, 3);
        cairn::chain_options options{.by = by, .slots = slots};
        if (by == chain_method::tiers)
          options.tiers = {{.where = cairn::tier::disk,
                            .bytes = -1,
                            .write = std::vector<std::int64_t>(work.x.size(), 2),
                            .read = std::vector<std::int64_t>(work.x.size(), 1)}};
        chain_planner planner{work, options};
        for (double const slowdown : {1.0, 1.01, 1.1, 1.3, 2.0, 5.0}) {
          CAPTURE(chains::name_of(kind), name_of(by), slots, slowdown);
          auto const time = std::int64_t(double(planner.store_all_time()) * slowdown);
          try {
            auto const plan = planner.min_memory(time);
            CHECK(cairn::replay(work, plan.actions, options.tiers).makespan == plan.cost.makespan);
            CHECK(plan.cost.makespan <= time);
            ++plans;
          } catch (cairn::infeasible_budget const& refused) {
            ++refusals;
            if (refused.value_count() == 1) {  // no plan at all
              CHECK(slots > 0);
              auto const whatever =
                  Catch::Matchers::ContainsSubstring("this method finds no plan, whatever the budget");
              for (std::int64_t const budget :
                   {std::int64_t{0}, planner.store_all_peak(), 600 * planner.store_all_peak()}) {
                CHECK_THROWS_WITH(planner.plan(budget), whatever);
                CHECK_THROWS_WITH(planner.why_infeasible(budget), whatever);
              }
              CHECK_THROWS_WITH(planner.least_bytes(), whatever);
              CHECK_THROWS_AS(planner.pareto(), cairn::infeasible_budget);
              continue;
            }
            REQUIRE(refused.value_count() == 2);
            auto const fastest = std::int64_t(refused.value(1).magnitude);
            CHECK(fastest > time);
            // What it says is true: the fastest is to be had, and unless slots are few no budget has a faster plan.
            for (std::int64_t budget = planner.least_bytes(); slots == 0 && budget < 600 * planner.store_all_peak();
                 budget += budget / 3 + 1)
              if (auto const why = planner.why_infeasible(budget); !why)
                CHECK(planner.plan(budget).cost.makespan > time);
            CHECK(planner.min_memory(fastest).cost.makespan == fastest);
          } catch (cairn::invalid_plan const&) {
            // slots that this chain cannot have
          }
        }
      }
  CHECK(plans > 500);
  CHECK(refusals > 50);
}

TEST_CASE(
    "a Pareto curve goes from the least bytes to storing everything, and every plan is faster than the smaller ones",
    "[plan][chain]") {
  for (auto const kind : chains::all_kinds)
    for (auto const by : {chain_method::automatic, chain_method::slots, chain_method::greedy}) {
      CAPTURE(chains::name_of(kind), name_of(by));
      chain const work = chains::make(kind, 16, 2);
      chain_planner planner{work, {.by = by}};
      auto const front = planner.pareto(12);
      REQUIRE(front.size() >= 3);
      CHECK(front.size() <= 12);
      CHECK(front.front().budget == planner.least_bytes());
      CHECK(front.back().cost.makespan == planner.store_all_time());
      for (std::size_t k = 0; k < front.size(); ++k) {
        check(front[k], work, front[k].budget);
        if (k > 0) CHECK(front[k].cost.makespan < front[k - 1].cost.makespan);
        if (k > 0) CHECK(front[k].budget > front[k - 1].budget);
      }
      CHECK_THROWS_AS(planner.pareto(1), cairn::invalid_plan);
    }
}

TEST_CASE("an infeasible budget names the stage that needs the most and what for", "[plan][chain]") {
  chain const work{.x = {9, 4, 2, 3},
                   .g = {9, 5, 3, 3},
                   .s = {6, 20, 4},
                   .f = {1, 2, 0},
                   .b = {3, 7, 1, 2},
                   .u = {10, 20, 30},
                   .v = {}};
  chain_planner planner{work};
  auto const why = planner.why_infeasible(10);
  REQUIRE(why);
  CHECK(why->stage == 1);
  CHECK(why->is_backward);
  CHECK(why->state == 4);
  CHECK(why->tape == 20);
  CHECK(why->adjoint == 3);
  CHECK(why->work == 7);
  CHECK(why->lower_bound == 34);
  CHECK(why->least_bytes == 34);
  try {
    (void)planner.plan(10);
    FAIL("a plan for 10 bytes");
  } catch (cairn::infeasible_budget const& e) {
    CHECK(std::string{e.what()} ==
          "cairn::chain_planner: no plan of this chain keeps within the budget (budget = 10, least bytes = 34, stage "
          "that needs the most = 1, its bytes = 34); "
          "give the least bytes, or more; chain_planner::why_infeasible says what they are for");
  }
}

TEST_CASE("more stages than tables are made for are planned all the same", "[plan][chain][long]") {
  chain const work = chains::make(chains::kind::resnet, 2'500, 1);
  chain_planner planner{work, {.effort = 1e7}};
  auto const plan = planner.plan(planner.store_all_peak() / 3);
  check(plan, work, planner.store_all_peak() / 3);
  CHECK(plan.cost.stage_runs < 2 * 2'500);
  chain const uniform = chains::make(chains::kind::uniform, 4'000, 1);
  chain_planner closed{uniform};
  auto const small = closed.plan(1'000);
  check(small, uniform, 1'000);
  CHECK(small.by == chain_method::revolve);
  CHECK(small.gap() <= 0.01);
}

TEST_CASE("options that cannot be are refused when the planner is made", "[plan][chain]") {
  chain const work = chains::make(chains::kind::tiny, 4, 1);
  CHECK_THROWS_AS((chain_planner{work, {.gap = -0.1}}), cairn::invalid_plan);
  CHECK_THROWS_AS((chain_planner{work, {.gap = std::nan("")}}), cairn::invalid_plan);
  CHECK_THROWS_AS((chain_planner{work, {.effort = 0}}), cairn::invalid_plan);
  CHECK_THROWS_AS((chain_planner{work, {.slots = -1}}), cairn::invalid_plan);
  CHECK_THROWS_AS((chain_planner{work, {.by = chain_method::revolve}}), cairn::invalid_plan);
  CHECK_THROWS_AS((chain_planner{work, {.tiers = {{.where = cairn::tier::disk}}}}), cairn::invalid_plan);
  CHECK_THROWS_AS(chain_planner{chain{}}, cairn::invalid_plan);
}
