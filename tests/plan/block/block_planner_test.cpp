// SPDX-License-Identifier: Apache-2.0
// Blocks of a chain: every plan is replayed, cuts by bytes are the best there are, and what a user's planner answers is
// checked.
#include <cairn/plan/block/block_planner.hpp>
#include <cairn/plan/block/block_replay.hpp>
#include <cairn/plan/block/detail/block_cuts.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/lower_bounds.hpp>
#include <cairn/plan/chain/replay.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_oracles.hpp"
#include "support/chain_search.hpp"

using cairn::block_plan;
using cairn::chain;
using cairn::plan_blocks;
using cairn::stage_range;
using cairn::step_index;

namespace {

/// What replay says of the plan, which is what the plan must have said of itself.
cairn::chain_cost judged(block_plan const& plan, chain const& c) {
  auto const cost = cairn::replay(c, cairn::actions_of(plan, c));
  CHECK(plan.meta().peak_bytes == cost.peak);
  CHECK(plan.meta().extra_forward == cost.extra_forward);
  CHECK((plan.meta().extra_runs == cairn::wide(cost.stage_runs - c.stages())));
  return cost;
}

/// All ways to cut a chain, judged by replay.
struct all_cuts {
  explicit all_cuts(chain const& c) {
    for (unsigned cuts = 0; cuts < 1u << (c.stages() - 1); ++cuts) {
      std::vector<stage_range> blocks{{0, 0}};
      for (step_index i = 1; i <= c.stages(); ++i) {
        blocks.back().last = i;
        if (i < c.stages() && (cuts >> (i - 1) & 1u)) blocks.push_back({i, i});
      }
      costs.push_back(cairn::replay(c, cairn::actions_of(block_plan{blocks}, c)));
    }
  }
  [[nodiscard]] std::optional<std::int64_t> least_extra(std::int64_t budget) const {
    std::optional<std::int64_t> least;
    for (auto const& cost : costs)
      if (cost.peak <= budget) least = std::min(least.value_or(cost.extra_forward), cost.extra_forward);
    return least;
  }
  [[nodiscard]] std::int64_t least_peak() const {
    return std::min_element(costs.begin(), costs.end(), [](auto const& a, auto const& b) { return a.peak < b.peak; })
        ->peak;
  }
  std::vector<cairn::chain_cost> costs;
};

template <class Error, class Make>
std::string refusal(Make make) {
  try {
    (void)make();
  } catch (Error const& e) {
    return e.what();
  }
  return "";
}
using Catch::Matchers::ContainsSubstring;

/// Cuts by bytes against all cuts, at budgets around every peak that there is. \return  budgets compared
int compare_with_all_cuts(chain const& c) {
  all_cuts const all{c};
  std::int64_t const least = all.least_peak();
  std::vector<std::int64_t> budgets;
  for (auto const& cost : all.costs) budgets.insert(budgets.end(), {cost.peak - 1, cost.peak});
  std::sort(budgets.begin(), budgets.end());
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  int compared = 0;
  for (auto const budget : budgets) {
    CAPTURE(budget, least);
    auto const best = all.least_extra(budget);
    if (!best) {
      CHECK(budget < least);
      bool const none = refusal<cairn::infeasible_budget>([&] {
                          return plan_blocks(c, {.budget = budget});
                        }).find("fit") != std::string::npos;
      CHECK(none);
      continue;
    }
    auto const plan = plan_blocks(c, {.budget = budget});
    auto const cost = judged(plan, c);
    CHECK(plan.meta().by == cairn::block_method::bytes);
    CHECK(cost.peak <= budget);
    CHECK(cost.extra_forward == *best);
    ++compared;
  }
  cairn::detail::chain_model const model{c, "test"};
  CHECK(cairn::detail::block_cuts{model}.least_budget() == least);
  return compared;
}

}  // namespace

TEST_CASE("every shape of blocks costs what replay says, for chains of every kind", "[plan][block]") {
  for (auto const of : chains::all_kinds)
    for (int stages : {0, 1, 2, 3, 7, 16, 31, 64})
      for (bool self_contained : {false, true}) {
        auto c = chains::make(of, stages, 3);
        c.self_contained_tape = self_contained;
        CAPTURE(chains::name_of(of), stages, self_contained);
        cairn::detail::chain_model const model{c, "test"};
        auto const bound = cairn::detail::least_peak_bound(model);
        for (int levels : {0, 1, 2, 3, 6}) {
          auto const plan = plan_blocks(c, {.levels = levels});
          CHECK(plan.stages() == stages);
          CHECK(judged(plan, c).peak >= bound);
          if (levels == 0) CHECK(plan.meta().peak_bytes == model.store_all_peak());
          if (levels == 0) CHECK(plan.meta().extra_forward == 0);
        }
        for (step_index size : {1, 2, 5, 64, 1000}) {
          auto const plan = plan_blocks(c, {.block_size = size}),
                     balanced = plan_blocks(c, {.block_size = size, .balanced = true});
          CHECK(plan.meta().by == cairn::block_method::block_size);
          CHECK(plan.meta().largest == std::min<step_index>(size, stages));
          (void)judged(plan, c);
          (void)judged(balanced, c);
          CHECK(balanced.size() == plan.size());
        }
      }
}

TEST_CASE("blocks have ceil(sqrt(n)) stages where nothing else is said", "[plan][block]") {
  for (step_index n : {step_index{1}, step_index{2}, step_index{9}, step_index{10}, step_index{101},
                       step_index{1'000'000}, step_index{1} << 62}) {
    CAPTURE(n);
    auto const plan = plan_blocks(n);
    auto const side = plan.meta().largest;
    CHECK((cairn::wide(side) * cairn::wide(side) >= cairn::wide(n) &&
           cairn::wide(side - 1) * cairn::wide(side - 1) < cairn::wide(n)));
    CHECK(plan.stages() == n);
    CHECK_FALSE(plan.meta().peak_bytes.has_value());
    CHECK(plan.meta().by == cairn::block_method::square_root);
  }
  CHECK(plan_blocks(0).size() == 0);
  auto const cubic = plan_blocks(1000, {.levels = 2});
  CHECK(cubic.meta().num_blocks == 100);
  CHECK(cubic.meta().peak_checkpoints == 18);
  CHECK((cubic.meta().extra_runs == 900 + 10 * 90));
  CHECK(plan_blocks(100, {.block_size = 30, .balanced = true}).meta().sizes ==
        std::vector<cairn::block_run>{{0, 4, 25}});
}

TEST_CASE("more levels take less memory for more runs", "[plan][block]") {
  auto const c = chains::make(chains::kind::uniform, 1000, 1);
  std::int64_t peak = std::numeric_limits<std::int64_t>::max(), extra = -1;
  for (int levels : {0, 1, 2, 3}) {
    auto const plan = plan_blocks(c, {.levels = levels});
    CHECK(*plan.meta().peak_bytes < peak);
    CHECK(*plan.meta().extra_forward > extra);
    peak = *plan.meta().peak_bytes, extra = *plan.meta().extra_forward;
  }
}

TEST_CASE("cuts by bytes are the best of all cuts", "[plan][block]") {
  int compared = 0;
  for (auto const of : chains::all_kinds)
    for (int stages = 1; stages <= 8; ++stages)
      for (unsigned seed = 1; seed <= 3; ++seed)
        for (int how = 0; how < 4; ++how) {
          auto c = chains::make(of, stages, seed);
          if (how % 2 == 1) c = chains::with_odd_adjoints(c, seed);
          c.self_contained_tape = how >= 2;
          CAPTURE(chains::name_of(of), stages, seed, how);
          compared += compare_with_all_cuts(c);
        }
  CHECK(compared > 3000);
}

TEST_CASE("a forward run over large states may need more than the recorded one", "[plan][block]") {
  // Tapes that do not hold the state they were made from give it up; a run without tapes keeps it.
  chain const c{.x = {21, 4, 1, 22, 39, 2},
                .g = {3, 2, 3, 5, 1, 3},
                .s = {28, 1, 22, 39, 2},
                .f = {0, 52, 0, 8, 0},
                .b = {30, 0, 0, 4, 26, 10},
                .u = {8, 7, 8, 3, 4},
                .self_contained_tape = true};
  CHECK(compare_with_all_cuts(c) > 5);
  std::mt19937_64 numbers{11};
  auto const some = [&](unsigned one_in, std::int64_t large, std::int64_t small) {
    auto const most = numbers() % one_in == 0 ? large : small;
    return std::int64_t(numbers() % std::uint64_t(most + 1));
  };
  for (int k = 0; k < 300; ++k) {
    chain spiky{.x = {some(3, 30, 5)},
                .g = {some(3, 20, 3)},
                .s = {},
                .b = {some(4, 30, 0)},
                .u = {},
                .self_contained_tape = k % 4 != 0};
    for (int i = 0; i < 6; ++i) {
      spiky.x.push_back(some(3, 30, 5)), spiky.g.push_back(some(3, 20, 3)), spiky.b.push_back(some(4, 30, 0));
      spiky.s.push_back(spiky.x.back() + some(4, 40, 0)), spiky.f.push_back(some(4, 60, 0)),
          spiky.u.push_back(some(1, 9, 0));
    }
    CAPTURE(k);
    compare_with_all_cuts(spiky);
  }
}

TEST_CASE("cuts by bytes are the best of all cuts of many small chains", "[.soak][plan][block]") {
  int compared = 0;
  for (unsigned seed = 1; seed <= 2000; ++seed)
    for (auto const of : {chains::kind::tiny, chains::kind::with_input, chains::kind::random}) {
      auto c = chains::make(of, 1 + int(seed % 10), seed);
      if (seed % 3 == 1) c = chains::with_odd_adjoints(c, seed);
      c.self_contained_tape = seed % 2 == 1;
      if (seed % 5 == 0) std::fill(c.u.begin(), c.u.end(), 0);
      CAPTURE(chains::name_of(of), seed);
      compared += compare_with_all_cuts(c);
    }
  std::printf("%d budgets compared\n", compared);
}

TEST_CASE("no blocks are faster than the fastest of all schedules, and none fit where none is",
          "[plan][block][oracle]") {
  int planned = 0;
  for (auto const& known : chains::oracles())
    for (auto const& row : known.rows) {
      CAPTURE(known.name, row.budget);
      CHECK(refusal<cairn::infeasible_budget>(
                [&] { return plan_blocks(known.chain, {.budget = known.lb_peak_any_schedule - 1}); }) != "");
      try {
        auto const plan = plan_blocks(known.chain, {.budget = row.budget});
        auto const cost = judged(plan, known.chain);
        CHECK(cost.peak <= row.budget);
        CHECK(cost.makespan >= row.opt_persistent);
        ++planned;
      } catch (cairn::infeasible_budget const& e) {
        REQUIRE(std::string{e.what()}.find("least of blocks") != std::string::npos);
        auto const least = std::int64_t(e.value(1).magnitude);
        CHECK(least > row.budget);
        CHECK(*plan_blocks(known.chain, {.budget = least}).meta().peak_bytes <= least);
        CHECK_THROWS_AS(plan_blocks(known.chain, {.budget = least - 1}), cairn::infeasible_budget);
      }
    }
  CHECK(planned > 100);
}

TEST_CASE("long chains are cut by bytes without delay", "[plan][block][long]") {
  for (auto const of : chains::large_kinds) {
    auto const c = chains::make(of, 3000, 5);
    cairn::detail::chain_model const model{c, "test"};
    std::int64_t extra = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t percent : {20, 40, 60, 80, 100}) {
      auto const budget = model.store_all_peak() / 100 * percent + 99;
      auto const cost = judged(plan_blocks(c, {.budget = budget}), c);
      CHECK(cost.peak <= budget);
      CHECK(cost.extra_forward <= extra);
      extra = cost.extra_forward;
    }
    CHECK(extra == 0);
    auto const root = plan_blocks(c);
    auto const same_bytes = plan_blocks(c, {.budget = root.meta().peak_bytes});
    CHECK(*same_bytes.meta().extra_forward <= *root.meta().extra_forward);
  }
}

TEST_CASE("a chain of no stages and budgets at the edges", "[plan][block]") {
  chain const none{.x = {7}, .s = {}, .b = {5}, .u = {}};
  CHECK(plan_blocks(none, {.budget = 5}).size() == 0);
  CHECK(plan_blocks(none, {.budget = 5}).meta().peak_bytes == 5);
  CHECK_THROWS_AS(plan_blocks(none, {.budget = 4}), cairn::infeasible_budget);
  auto const c = chains::make(chains::kind::tiny, 6, 1);
  for (std::int64_t budget : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0}})
    CHECK_THROWS_AS(plan_blocks(c, {.budget = budget}), cairn::infeasible_budget);
  CHECK(plan_blocks(c, {.budget = std::numeric_limits<std::int64_t>::max()}).meta().num_blocks == 1);
  chain const free{.x = {0, 0, 0}, .s = {0, 0}, .u = {0, 0}};
  CHECK(plan_blocks(free, {.budget = 0}).meta().peak_bytes == 0);
}

TEST_CASE("a shape that is over the budget is refused with its peak", "[plan][block]") {
  auto const c = chains::make(chains::kind::uniform, 100, 1);
  auto const peak = *plan_blocks(c).meta().peak_bytes;
  CHECK(plan_blocks(c, {.block_size = 10, .budget = peak}).meta().peak_bytes == peak);
  CHECK_THAT(refusal<cairn::infeasible_budget>([&] { return plan_blocks(c, {.block_size = 10, .budget = peak - 1}); }),
             ContainsSubstring("blocks of this shape do not fit the budget (budget = " + std::to_string(peak - 1) +
                      ", peak = " + std::to_string(peak)));
  CHECK_THROWS_AS(plan_blocks(c, {.levels = 0, .budget = peak}), cairn::infeasible_budget);
  CHECK_THAT(refusal<cairn::infeasible_budget>([&] { return plan_blocks(c, {.budget = 1}); }),
             ContainsSubstring("no schedule of any kind fits the budget (budget = 1, least of any schedule = "));
}

TEST_CASE("a planner of the user's cuts the chain, with or without a budget", "[plan][block]") {
  auto const c = chains::make(chains::kind::tiny, 6, 1);
  auto const halves = [](chain const& work) {
    return block_plan{{{0, work.stages() / 2}, {work.stages() / 2, work.stages()}}};
  };
  auto const plan = plan_blocks(c, {.planner = halves});
  CHECK(plan.meta().by == cairn::block_method::user_planner);
  CHECK(plan.meta().num_blocks == 2);
  (void)judged(plan, c);
  std::int64_t told = 0;
  auto const keeps_budget = [&](std::int64_t budget, chain const& work) {
    told = budget;
    return block_plan::equal(work.stages(), 2);
  };
  (void)judged(plan_blocks(c, {.planner = keeps_budget}), c);
  CHECK(told == cairn::block_planner::no_budget.count());
  (void)judged(plan_blocks(c, {.budget = 1000, .planner = keeps_budget}), c);
  CHECK(told == 1000);
  auto const through_cairn = [](cairn::byte_budget budget, chain const& work) {
    return plan_blocks(work, {.budget = budget});
  };
  auto const least = plan_blocks(c).meta().peak_bytes;
  CHECK(*plan_blocks(c, {.budget = least, .planner = through_cairn}).meta().peak_bytes <= *least);
}

TEST_CASE("a planner is not asked for what no schedule can do", "[plan][block]") {
  auto const c = chains::make(chains::kind::tiny, 6, 1);
  cairn::detail::chain_model const model{c, "test"};
  int asked = 0;
  cairn::block_planner const planner = [&](chain const& work) { return ++asked, block_plan::equal(work.stages(), 1); };
  CHECK_THROWS_AS(plan_blocks(c, {.budget = cairn::detail::least_peak_bound(model) - 1, .planner = planner}),
                  cairn::infeasible_budget);
  CHECK(asked == 0);
}

TEST_CASE("wrong plans of a user's planner are refused before anything runs", "[plan][block]") {
  auto const c = chains::make(chains::kind::tiny, 6, 1);
  auto const refused = [&](std::vector<stage_range> const& blocks) {
    return refusal<cairn::invalid_plan>(
        [&] { return plan_blocks(c, {.planner = [&](chain const&) { return block_plan{blocks}; }}); });
  };
  CHECK(refused({{0, 1}, {1, 6}}) == "");
  CHECK_THAT(refused({}),
             ContainsSubstring("the blocks do not end with the last stage (blocks end at = 0, stages = 6)"));
  CHECK_THAT(refused({{0, 3}, {3, 5}}),
             ContainsSubstring("the blocks do not end with the last stage (blocks end at = 5, stages = 6)"));
  CHECK_THAT(refused({{0, 3}, {3, 7}}), ContainsSubstring("(blocks end at = 7, stages = 6)"));
  CHECK_THAT(refused({{0, 3}, {4, 6}}),
             ContainsSubstring("does not begin where the one in front of it ends (begins at = 4, wanted = 3)"));
  CHECK_THAT(refused({{0, 3}, {2, 6}}), ContainsSubstring("(begins at = 2, wanted = 3)"));
  CHECK_THAT(refused({{0, 3}, {0, 6}}), ContainsSubstring("(begins at = 0, wanted = 3)"));
  CHECK_THAT(refused({{1, 6}}), ContainsSubstring("(begins at = 1, wanted = 0)"));
  CHECK_THAT(refused({{3, 6}, {0, 3}}), ContainsSubstring("(begins at = 3, wanted = 0)"));
  CHECK_THAT(refused({{0, 3}, {3, 3}, {3, 6}}), ContainsSubstring("a block has no stages (begins at = 3)"));
  CHECK_THAT(refused({{0, 0}}), ContainsSubstring("a block has no stages (begins at = 0)"));
  CHECK_THAT(refused({{0, 3}, {3, 1}}), ContainsSubstring("a block has no stages (begins at = 3)"));
  CHECK_THAT(refused({{-1, 6}}), ContainsSubstring("(begins at = -1, wanted = 0)"));
  constexpr auto low = std::numeric_limits<step_index>::min(), high = std::numeric_limits<step_index>::max();
  CHECK(refused({{low, high}}) != "");
  CHECK(refused({{0, high}}) != "");
  CHECK(refused({{0, 6}, {high, low}}) != "");
  CHECK(refused({{0, high}, {high, low}}) != "");
  CHECK_THAT(refusal<cairn::invalid_plan>([&] { return cairn::actions_of(block_plan::equal(5, 2), c); }),
             ContainsSubstring("cairn::actions_of: the blocks do not end with the last stage"));

  auto const peak = *plan_blocks(c, {.block_size = 2}).meta().peak_bytes;
  auto const promising = [&](std::int64_t bytes) {
    return [bytes](chain const& work) {
      auto plan = block_plan::equal(work.stages(), 2);
      plan.promise_peak(bytes);
      return plan;
    };
  };
  CHECK(plan_blocks(c, {.planner = promising(peak)}).meta().peak_bytes == peak);
  CHECK(plan_blocks(c, {.planner = promising(peak + 5)}).meta().peak_bytes == peak);
  CHECK_THAT(refusal<cairn::invalid_plan>([&] { return plan_blocks(c, {.planner = promising(peak - 1)}); }),
             ContainsSubstring("the planner promises a peak below that of its blocks (promised = "));
  cairn::detail::chain_model const model{c, "test"};
  auto const least = cairn::detail::least_peak_bound(model);
  CHECK_THAT(refusal<cairn::invalid_plan>([&] { return plan_blocks(c, {.planner = promising(least - 1)}); }),
             ContainsSubstring("least of any schedule = " + std::to_string(least)));
  CHECK_THAT(
      refusal<cairn::invalid_plan>([&] { return plan_blocks(c, {.budget = peak - 1, .planner = promising(peak)}); }),
      ContainsSubstring("the planner's blocks take more than the budget (peak = "));
  CHECK_THROWS_AS(plan_blocks(c, {.planner = [](chain const&) -> block_plan { throw std::runtime_error{"mine"}; }}),
                  std::runtime_error);
}

TEST_CASE("options that cannot be are refused", "[plan][block]") {
  auto const c = chains::make(chains::kind::tiny, 6, 1);
  cairn::block_planner const planner = [](chain const& work) { return block_plan::equal(work.stages(), 1); };
  auto const refused = [&](cairn::block_options const& options) {
    return refusal<cairn::invalid_plan>([&] { return plan_blocks(c, options); });
  };
  CHECK_THAT(refused({.block_size = 2, .planner = planner}),
             ContainsSubstring("a planner is given, and a shape of the blocks too"));
  CHECK_THAT(refused({.levels = 2, .planner = planner}), ContainsSubstring("a planner is given"));
  CHECK_THAT(refused({.balanced = true, .planner = planner}), ContainsSubstring("a planner is given"));
  CHECK_THAT(refused({.levels = 2, .balanced = true}), ContainsSubstring("balanced blocks have one level"));
  CHECK_THAT(refused({.block_size = -1}), ContainsSubstring("a block has at least 1 stage"));
  CHECK_THAT(refused({.block_size = -1, .balanced = true}), ContainsSubstring("a block has at least 1 stage"));
  CHECK_THAT(refused({.levels = -1}), ContainsSubstring("0 to 62 levels"));
  CHECK_THAT(refused({.levels = 63}), ContainsSubstring("0 to 62 levels"));
  CHECK_THAT(refused({.block_size = 2, .levels = 0}), ContainsSubstring("no level, but more than one block"));
  CHECK_THAT(refusal<cairn::invalid_plan>([] { return plan_blocks(10, {.budget = 5}); }),
             ContainsSubstring("a budget or a planner is given, but no sizes"));
  CHECK_THAT(refusal<cairn::invalid_plan>([&] { return plan_blocks(10, {.planner = planner}); }),
             ContainsSubstring("a budget or a planner is given, but no sizes"));
  CHECK_THAT(refusal<cairn::invalid_plan>([] { return plan_blocks(-1); }),
             ContainsSubstring("the number of stages is negative"));
  chain broken = c;
  broken.s[0] = 0;
  CHECK_THROWS_AS(plan_blocks(broken), cairn::invalid_plan);
  CHECK_THROWS_AS(cairn::actions_of(block_plan::equal(6, 2), broken), cairn::invalid_plan);
}
