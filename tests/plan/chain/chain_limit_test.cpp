// SPDX-License-Identifier: Apache-2.0
// The work of planning a chain: it is counted, limited and stopped, for every method; what is returned then is a plan
// with its proof, or a typed error.
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/chain/replay.hpp>
#include <cairn/plan/text/chain_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"

using cairn::chain;
using cairn::chain_method;
using cairn::chain_options;
using cairn::chain_plan;
using cairn::chain_planner;
using cairn::left_out_of;
using cairn::too_much_work;
using cairn::wide;
using cairn::work_limit;

namespace {

constexpr chain_method all_methods[]{chain_method::automatic,      chain_method::persistent, chain_method::slots,
                                     chain_method::non_persistent, chain_method::tiers,      chain_method::sqrt,
                                     chain_method::greedy,         chain_method::single_level, chain_method::store_all};
/// Those that make one table, without which they know no plan.
bool needs_a_table(chain_method by) {
  return by == chain_method::slots || by == chain_method::non_persistent || by == chain_method::tiers ||
          by == chain_method::single_level;
}

/// Is asked whether to go on, and says no from the call number `most` on.
struct patience {
  int most = 0, calls = 0;
  [[nodiscard]] work_limit limit() {
    return {.stop =
                [](void* context, double) {
                  auto& own = *static_cast<patience*>(context);
                  return ++own.calls >= own.most;
                },
            .context = this};
  }
};

void check(chain_plan const& plan, chain const& work, std::int64_t budget) {
  CHECK(cairn::replay(work, plan.actions) == plan.cost);
  CHECK(plan.cost.peak <= budget);
  CHECK(plan.bound() <= plan.cost.makespan);
  CHECK(plan.bound() > 0);
  CHECK(plan.gap() >= 0);
}
/// A plan with so much work; nothing where that is too little.
std::optional<chain_plan> plan_with(chain const& work, chain_method by, std::int64_t budget, wide sums) {
  chain_planner planner{work, {.by = by, .limit = {.most_sums = sums}}};
  try {
    return planner.plan(budget);
  } catch (too_much_work const&) { return {}; }
}

}  // namespace

TEST_CASE(
    "a chain's plan takes so much work: with as much it is the same, with less it keeps all promises or is refused",
    "[plan][chain]") {
  int fewer = 0, refused = 0;
  for (auto const kind : {chains::kind::random, chains::kind::resnet})
    for (auto const by : all_methods) {
      chain const work = chains::make(kind, 14, 5);
      chain_planner planner{work, {.by = by}};
      std::int64_t const budget = by == chain_method::store_all
                                      ? planner.store_all_peak()
                                      : std::max(planner.least_bytes(), planner.store_all_peak() / 3);
      auto const free = planner.plan(budget);
      auto const is_same = [&](wide sums) {
        auto const found = plan_with(work, by, budget, sums);
        return found && found->actions == free.actions && found->bound() == free.bound() && found->by == free.by;
      };
      wide less = 0, enough = wide{1} << 40;
      REQUIRE(is_same(enough));
      while (enough - less > 1) {
        wide const middle = less + (enough - less) / 2;
        (is_same(middle) ? enough : less) = middle;
      }
      for (wide const sums : {wide{0}, wide{1}, enough / 1000, enough / 10, enough / 2, less}) {
        CAPTURE(chains::name_of(kind), name_of(by), std::uint64_t(enough), std::uint64_t(sums));
        auto const found = plan_with(work, by, budget, sums);
        if (!found) {
          ++refused;
          CHECK((needs_a_table(by) || by == chain_method::greedy || by == chain_method::automatic ||
                 by == chain_method::persistent));
          continue;
        }
        ++fewer;
        check(*found, work, budget);
        CHECK(found->proof.lower_bound_time <= free.cost.makespan);
        auto const again = plan_with(work, by, budget, sums);
        REQUIRE(again);
        CHECK((again->actions == found->actions && again->bound() == found->bound()));
      }
    }
  CHECK(fewer > 40);
  CHECK(refused > 15);
}

TEST_CASE("every method ends when stop says so, and automatic then still has a plan and a gap",
          "[plan][chain][long]") {
  struct size { int stages; std::vector<chain_method> methods; };
  for (auto const& [stages, methods] : {size{1000, {std::begin(all_methods), std::end(all_methods)}},
                                        size{5000,
                                             {chain_method::automatic, chain_method::single_level, chain_method::greedy,
                                              chain_method::sqrt}}}) {
    chain const work = chains::make(chains::kind::random, stages, 1);
    for (auto const by : methods) {
      CAPTURE(stages, name_of(by));
      patience few{3};
      chain_planner planner{work, {.by = by, .limit = few.limit()}};
      std::int64_t const budget =
          by == chain_method::store_all ? planner.store_all_peak() : planner.store_all_peak() * 3 / 10;
      try {
        auto const plan = planner.plan(budget);
        check(plan, work, budget);
        CHECK_FALSE(needs_a_table(by));
        CHECK(plan.gap() < 0.6);
        CHECK((plan.gap() > 0 || by == chain_method::store_all));
      } catch (too_much_work const& refused) {
        CHECK(needs_a_table(by));
        CHECK(std::string{refused.what()}.starts_with(
            "cairn::chain_planner: the making of this plan was stopped (stages = " + std::to_string(stages)));
      }
      CHECK(few.calls <= 3);
      if (needs_a_table(by) || by == chain_method::automatic || by == chain_method::persistent) CHECK(few.calls == 3);
    }
  }
}

TEST_CASE("a table of very many rows looks at the limit while they are laid out", "[plan][chain][long]") {
  chain const work = chains::make(chains::kind::random, 5000, 1);
  for (auto const by : {chain_method::non_persistent, chain_method::slots}) {
    CAPTURE(name_of(by));
    struct looks {
      int calls = 0;
      double share = 0;
    } seen;
    // 12.5 million rows of which none is made yet: 24 bytes each, four of them for plans that are not persistent.
    auto const stop = [](void* context, double share) {
      auto& own = *static_cast<looks*>(context);
      own.share = share;
      return ++own.calls == 12;
    };
    chain_planner planner{work, {.by = by, .limit = {.stop = stop, .context = &seen}}};
    try {
      (void)planner.plan(planner.store_all_peak() / 3);
      FAIL("made");
    } catch (too_much_work const& refused) {
      CHECK(seen.calls == 12);
      CHECK(seen.share <= 0);
      CHECK(refused.value(1).magnitude > 12 * (wide{1} << 24));
      CHECK(refused.value(1).magnitude < 12 * (wide{1} << 24) * 11 / 10);
    }
    for (wide const sums : {wide{40'000'000}, wide{150'000'000}}) {
      chain_planner limited{work, {.by = by, .limit = {.most_sums = sums}}};
      try {
        (void)limited.plan(limited.store_all_peak() / 3);
        FAIL("made");
      } catch (too_much_work const& refused) {
        CHECK((refused.value(1).magnitude > sums && refused.value(1).magnitude < sums + (1 << 21)));
      }
    }
  }
}

TEST_CASE("each call of a planner has the whole limit, and what `stop` throws passes through", "[plan][chain]") {
  chain const work = chains::make(chains::kind::random, 1000, 1);
  patience few{4};
  chain_planner planner{work, {.limit = few.limit()}};
  for (int call = 0; call < 2; ++call) {
    few.calls = 0;
    auto const plan = planner.plan(planner.store_all_peak() / 3);
    check(plan, work, planner.store_all_peak() / 3);
    CHECK(few.calls == 4);
  }
  chain_planner thrower{work,
                        {.limit = {.stop = [](void*, double) -> bool { throw std::runtime_error{"out of time"}; }}}};
  CHECK_THROWS_WITH(thrower.plan(thrower.store_all_peak() / 3), "out of time");
  check(thrower.plan(thrower.store_all_peak()), work, thrower.store_all_peak());
}

TEST_CASE("curves and budgets of time answer what was found before the limit", "[plan][chain][long]") {
  chain const work = chains::make(chains::kind::random, 300, 1);
  for (auto const by :
       {chain_method::automatic, chain_method::persistent, chain_method::slots}) {
    CAPTURE(name_of(by));
    patience few{6};
    chain_planner planner{work, {.by = by, .limit = few.limit()}};
    try {
      auto const front = planner.pareto(40);
      REQUIRE_FALSE(front.empty());
      for (auto const& plan : front) check(plan, work, plan.budget);
      for (std::size_t k = 1; k < front.size(); ++k) CHECK(front[k].cost.makespan < front[k - 1].cost.makespan);
      CHECK(front.back().cost.makespan == planner.store_all_time());
      // What is missing is reported, and no more than there can be: the points between, and the least budget.
      CHECK(left_out_of(front) > 0);
      CHECK(std::size_t(left_out_of(front)) + front.size() <= 41);
    } catch (too_much_work const&) {
      CHECK(needs_a_table(by));
    }
    CHECK(few.calls <= 6);
    few.calls = 0;
    std::int64_t const time = planner.store_all_time() * 6 / 5;
    try {
      auto const plan = planner.min_memory(time);
      check(plan, work, plan.budget);
      CHECK(plan.cost.makespan <= time);
    } catch (too_much_work const&) {
      CHECK(needs_a_table(by));
    }
    CHECK(few.calls <= 6);
    few.calls = 0;
  }
}

TEST_CASE("a stopped curve says how many budgets are missing where, and lacks as many as it says",
          "[plan][chain][long]") {
  chain const work = chains::make(chains::kind::random, 32, 5);
  constexpr std::size_t points = 12;
  for (auto const by : {chain_method::slots, chain_method::persistent, chain_method::automatic}) {
    CAPTURE(name_of(by));
    chain_planner free{work, {.by = by}};
    auto const whole = free.pareto(points);
    CHECK(left_out_of(whole) == 0);
    int cut = 0;
    // Each work between none and enough: the curve is whole, or says what it lacks, or there is none.
    for (wide sums = 1 << 10; sums < wide{1} << 44; sums *= 4) {
      CAPTURE(std::uint64_t(sums));
      chain_planner limited{work, {.by = by, .limit = {.most_sums = sums}}};
      try {
        auto const front = limited.pareto(points);
        CHECK(std::size_t(left_out_of(front)) + front.size() <= points + 1);
        if (front.size() < whole.size()) CHECK(left_out_of(front) > 0);
        if (left_out_of(front) == 0) CHECK(front.front().budget == whole.front().budget);
        for (auto const& plan : front) CHECK(plan.left_out >= 0);
        cut += left_out_of(front) > 0;
      } catch (too_much_work const&) {}
    }
    CHECK(cut > 0);
  }
}

TEST_CASE("a limit that is not reached changes nothing", "[plan][chain]") {
  for (auto const kind : chains::all_kinds)
    for (auto const by : all_methods) {
      CAPTURE(chains::name_of(kind), name_of(by));
      chain const work = chains::make(kind, 12, 2);
      chain_planner free{work, {.by = by}}, limited{work, {.by = by, .limit = {.most_sums = wide{1} << 50}}};
      std::int64_t const budget = free.least_bytes();
      CHECK(limited.least_bytes() == budget);
      CHECK(limited.plan(budget).actions == free.plan(budget).actions);
      auto const front = limited.pareto(5);
      CHECK(front.size() == free.pareto(5).size());
      CHECK(left_out_of(front) == 0);
    }
}

TEST_CASE("a plan of stages that are alike is not listed where it is endless", "[plan][chain]") {
  chain work{.x = std::vector<std::int64_t>(1'000'001, 8),
             .s = std::vector<std::int64_t>(1'000'000, 10),
             .u = std::vector<std::int64_t>(1'000'000, 1)};
  chain_planner planner{work, {.by = chain_method::revolve}};
  CHECK_THROWS_WITH(
      planner.plan(40),
      Catch::Matchers::ContainsSubstring(
          "the plan of this chain has too many actions to be listed (stages = 1000000, stages run again = "));
}
