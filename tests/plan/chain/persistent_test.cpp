// SPDX-License-Identifier: Apache-2.0
// The exact optimum among persistent plans: against oracles, a recursion written anew, the search over all schedules,
// and the judge.
#include <cairn/plan/chain/detail/persistent.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <cairn/plan/chain/replay.hpp>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_recursion.hpp"
#include "support/chain_oracles.hpp"
#include "support/chain_search.hpp"

using cairn::chain;
using cairn::detail::chain_model;
using cairn::detail::persistent_optimum;

namespace {

/// A small chain with one oddity or another: adjoints or working bytes that are larger than all else, no time or no
/// bytes at some stages, or stages that are alike but for one number.
chain odd_chain(unsigned seed) {
  std::mt19937_64 numbers{seed};
  auto const below = [&](std::int64_t end) { return std::int64_t(numbers() % std::uint64_t(end)); };
  auto const of = seed % 4 == 0 ? chains::kind::uniform : seed % 2 ? chains::kind::tiny : chains::kind::with_input;
  chain c = chains::make(of, 1 + int(below(12)), seed);
  if (seed % 3 != 0) c = chains::with_odd_adjoints(c, seed);
  for (std::size_t i = 0; i < c.s.size(); ++i) switch (seed % 5) {
      case 0:
        if (below(3) == 0) c.u[i] = 0;
        if (below(4) == 0) c.x[i + 1] = 0;
        if (below(3) == 0 || c.s[i] < c.x[i + 1]) c.s[i] = c.x[i + 1];
        break;
      case 1:
        if (below(2) == 0) c.f[i] = below(30);
        if (c.g.empty()) c.g = c.x;
        if (below(2) == 0) c.g[i + 1] = below(30);
        break;
      case 2: {
        std::vector<std::int64_t>* const lists[]{&c.s, &c.f, &c.b, &c.u};
        for (auto* const list : lists) (*list)[i] = list->front();
        for (auto* const list : {&c.x, &c.g})
          if (!list->empty()) (*list)[i + 1] = list->front();
        c.s[i] = 12;
        if (below(2) == 0) ++(*lists[seed / 5 % 4])[i];
        break;
      }
      case 3:  // few stages need far more than they leave behind
        if (c.g.empty()) c.g = c.x;
        c.x[i + 1] = below(4);
        c.g[i + 1] = below(2) == 0 ? below(3) : below(40);
        c.s[i] = c.x[i + 1] + below(10);
        c.f[i] = below(2) == 0 ? 0 : below(40);
        break;
      default: break;
    }
  return c;
}

/// The plan of a budget is one: it takes the predicted time, within the bytes, for any tapes.
void require_plan(chain const& c, persistent_optimum& best, std::int64_t budget, std::int64_t extra) {
  auto const plan = best.actions(budget);
  for (bool const flag : {false, true}) {
    chain work = c;
    work.self_contained_tape = flag;
    auto const cost = cairn::replay(work, plan);
    REQUIRE(cost.extra_forward == extra);
    REQUIRE(cost.peak <= budget);
  }
  // It needs no more than the fewest bytes that its cost was proven for.
  auto const step = best.plateau_at(budget);
  REQUIRE(step);
  REQUIRE(step->from <= budget);
  REQUIRE(budget < step->end);
  REQUIRE(cairn::replay(c, plan).peak <= step->from);
}

struct gaps {
  int pairs = 0;
  double persistent = 0, fastest = 0;  // sums of extra forward times
};

/// A random small chain: never below the fastest of all schedules, and infeasible only where persistent plans are.
void compare_with_all_schedules(gaps& seen, chains::kind of, bool flag, bool odd_adjoints, int most_stages, int budgets,
                                unsigned seed) {
  std::mt19937_64 numbers{seed};
  chain c = chains::make(of, 1 + int(numbers() % unsigned(most_stages)), seed);
  if (odd_adjoints) c = chains::with_odd_adjoints(c, seed);
  c.self_contained_tape = flag;
  chain_model const model{c, "test"};
  brute::chain_search search{c};
  persistent_optimum best{model};
  std::int64_t const least = best.least_budget(), enough = model.store_all_peak();
  CAPTURE(chains::name_of(of), seed, flag, odd_adjoints, c.stages(), least, enough);
  for (int k = 0; k < budgets; ++k) {
    std::int64_t const budget = least + std::int64_t(numbers() % std::uint64_t(enough - least + 2));
    auto const extra = best.extra_forward(budget);
    auto const fastest = search.makespan(budget);
    CAPTURE(budget);
    REQUIRE(extra);
    REQUIRE(fastest);
    REQUIRE(*extra >= *fastest - model.store_all_time());
    require_plan(c, best, budget, *extra);
    ++seen.pairs;
    seen.persistent += double(*extra);
    seen.fastest += double(*fastest - model.store_all_time());
  }
}

}  // namespace

TEST_CASE("the persistent optimum is that of the oracles", "[plan][chain][oracle][long]") {
  for (auto const& known : chains::oracles()) {
    chain_model const model{known.chain, "test"};
    persistent_optimum best{model};
    CAPTURE(known.name);
    CHECK(best.least_budget() == known.min_peak_persistent);
    CHECK(best.extra_forward(known.store_all_peak) == 0);
    CHECK_FALSE(best.extra_forward(known.min_peak_persistent - 1));
    CHECK_FALSE(best.gave_up());
    CHECK(best.actions(known.min_peak_persistent - 1).empty());
    auto const slowest = best.extra_forward(known.min_peak_persistent);
    REQUIRE(slowest);
    require_plan(known.chain, best, known.min_peak_persistent, *slowest);
    for (auto const& row : known.rows) {
      CAPTURE(row.budget);
      auto const extra = best.extra_forward(row.budget);
      REQUIRE(extra);
      CHECK(known.no_checkpoint_makespan + *extra == row.opt_persistent);
      require_plan(known.chain, best, row.budget, *extra);
    }
  }
}

TEST_CASE("every budget of a small chain has the cost of the plain recursion", "[plan][chain][long]") {
  int budgets = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    chain const c = odd_chain(seed);
    chain_model const model{c, "test"};
    persistent_optimum best{model};
    brute::chain_recursion plain{model};
    CAPTURE(seed, c.stages());
    // In an order without one, so that steps are joined from both sides.
    std::vector<std::int64_t> order;
    for (std::int64_t budget = best.least_budget() - 2; budget <= model.store_all_peak() + 1; ++budget)
      order.push_back(budget);
    std::mt19937_64 numbers{seed};
    std::shuffle(order.begin(), order.end(), numbers);
    for (auto const budget : order) {
      CAPTURE(budget);
      auto const extra = best.extra_forward(budget);
      REQUIRE(extra == plain.extra_forward(budget));
      REQUIRE(extra.has_value() == (budget >= best.least_budget()));
      ++budgets;
    }
    for (auto const budget : order)
      if (auto const extra = best.extra_forward(budget)) require_plan(c, best, budget, *extra);
  }
  CHECK(budgets > 15'000);
}

TEST_CASE("steps of large sizes have the costs of the plain recursion", "[plan][chain][long]") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 numbers{seed};
    auto const of = chains::large_kinds[seed % 4];
    chain c = chains::make(of, 2 + int(numbers() % 7), seed);
    if (seed % 2) c = chains::with_odd_adjoints(c, seed);
    chain_model const model{c, "test"};
    persistent_optimum best{model};
    brute::chain_recursion plain{model};
    CAPTURE(seed, chains::name_of(of), c.stages());
    for (std::int64_t budget = best.least_budget(); budget < model.store_all_peak();) {
      auto const step = best.plateau_at(budget);
      REQUIRE(step);
      CAPTURE(budget, step->from, step->end);
      REQUIRE(step->cost == plain.extra_forward(budget));
      REQUIRE(step->cost == plain.extra_forward(step->from));
      if (step->end <= model.store_all_peak()) REQUIRE(step->cost == plain.extra_forward(step->end - 1));
      require_plan(c, best, budget, step->cost);
      budget = std::max(std::min(step->end, model.store_all_peak()),
                        budget + (model.store_all_peak() - best.least_budget()) / 50);
    }
  }
}

TEST_CASE("a persistent plan is never faster than the fastest of all", "[plan][chain]") {
  gaps seen;
  for (unsigned seed = 1; seed <= 25; ++seed)
    for (auto const of : {chains::kind::tiny, chains::kind::with_input, chains::kind::random})
      for (bool const flag : {false, true}) compare_with_all_schedules(seen, of, flag, seed % 2 == 0, 5, 3, seed);
  CHECK(seen.pairs == 450);
  CHECK(seen.persistent >= seen.fastest);
}

TEST_CASE("ten thousand persistent plans are never faster than the fastest of all", "[.soak][plan][chain]") {
  for (bool const flag : {false, true}) {
    gaps seen;
    for (unsigned seed = 1; seed <= 72; ++seed)
      for (bool const odd : {false, true})
        for (auto const of : chains::all_kinds) compare_with_all_schedules(seen, of, flag, odd, 6, 5, 5000 + seed);
    WARN((flag ? "self-contained tapes: " : "plain: ")
         << seen.pairs << " pairs, sum of persistent / sum of fastest extra time " << seen.persistent / seen.fastest);
    CHECK(seen.pairs == 5040);
  }
}

TEST_CASE("more memory never costs time", "[plan][chain]") {
  for (auto const of : chains::large_kinds) {
    chain const c = chains::make(of, 30, 4);
    chain_model const model{c, "test"};
    persistent_optimum best{model};
    std::int64_t before = std::numeric_limits<std::int64_t>::max();
    CAPTURE(chains::name_of(of));
    for (std::int64_t k = 0; k <= 100; ++k) {
      std::int64_t const budget = best.least_budget() + (model.store_all_peak() - best.least_budget()) / 100 * k;
      auto const extra = best.extra_forward(budget);
      REQUIRE(extra);
      CHECK(*extra <= before);
      before = *extra;
      if (k % 10 == 0) require_plan(c, best, budget, *extra);
    }
    CHECK(best.extra_forward(model.store_all_peak()) == 0);
    CHECK(best.extra_forward(model.store_all_peak() - 1) > 0);
  }
}

TEST_CASE("a search ends where its effort does, and the next one goes on from there", "[plan][chain]") {
  chain const c = chains::make(chains::kind::random, 40, 2);
  chain_model const model{c, "test"};
  persistent_optimum whole{model}, parts{model};
  std::int64_t const budget = model.store_all_peak() / 2;
  auto const wanted = whole.extra_forward(budget);
  REQUIRE(wanted);
  REQUIRE_FALSE(whole.gave_up());
  parts.limit_effort(0);
  CHECK_FALSE(parts.extra_forward(budget));
  CHECK(parts.gave_up());
  CHECK(parts.actions(budget).empty());
  CHECK(parts.extra_forward(model.store_all_peak()) == 0);
  CHECK_FALSE(parts.gave_up());
  parts.limit_effort(whole.effort() / 10);
  int searches = 1;
  for (; !parts.extra_forward(budget); ++searches) {
    REQUIRE(parts.gave_up());
    REQUIRE(searches < 1000);
  }
  CHECK(searches > 3);
  CHECK(parts.extra_forward(budget) == wanted);
  require_plan(c, parts, budget, *wanted);
}

TEST_CASE("a table of slots prunes the search and changes no answer", "[plan][chain][long]") {
  for (auto const of : chains::all_kinds)
    for (bool const odd : {false, true}) {
      chain c = chains::make(of, 24, 6);
      if (odd) c = chains::with_odd_adjoints(c, 6);
      chain_model const model{c, "test"};
      persistent_optimum alone{model};
      CAPTURE(chains::name_of(of), odd);
      for (std::int64_t const slots : {5, 40, 300})
        for (std::int64_t percent = 5; percent <= 95; percent += 15) {
          std::int64_t const room = model.store_all_peak() - alone.least_budget(),
                             budget = alone.least_budget() + room * percent / 100;
          cairn::detail::slot_table const table{model, budget, {.slots = slots}, cairn::detail::rounding::down};
          persistent_optimum pruned{model};
          pruned.prune_by(&table);
          auto const extra = pruned.extra_forward(budget);
          CAPTURE(slots, percent);
          REQUIRE(extra);
          REQUIRE(extra == alone.extra_forward(budget));
          require_plan(c, pruned, budget, *extra);
          // Below and above the budget of the table, too, with the steps that it let pass.
          for (std::int64_t k = 0; k <= 40; ++k) {
            std::int64_t const other = alone.least_budget() + room * k / 40;
            REQUIRE(pruned.extra_forward(other) == alone.extra_forward(other));
          }
        }
    }
}

TEST_CASE("chains of no stages, no time and no bytes have plans", "[plan][chain]") {
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  chain const none{.x = {7}, .s = {}, .b = {5}, .u = {}, .v = {3}};
  chain const one{.x = {7, 2}, .s = {3}, .f = {4}, .b = {1, 6}, .u = {5}};
  chain const two{.x = {1, 2, 3}, .g = {9, 8, 7}, .s = {4, 5}, .u = {3, 4}};
  chain const free{.x = {0, 0, 0, 0}, .s = {0, 0, 0}, .u = {5, 0, 7}};
  chain const still{.x = {1, 2, 3, 4}, .s = {4, 5, 6}, .u = {0, 0, 0}};
  chain const wide{.x = {1, std::int64_t{1} << 57, std::int64_t{1} << 57},
                   .s = {std::int64_t{1} << 58, std::int64_t{1} << 59},
                   .u = {std::int64_t{1} << 58, std::int64_t{1} << 59}};
  for (auto const& c : {none, one, two, free, still, wide}) {
    chain_model const model{c, "test"};
    persistent_optimum best{model};
    CAPTURE(c.stages(), best.least_budget(), model.store_all_peak());
    CHECK(best.extra_forward(model.store_all_peak()) == 0);
    CHECK_FALSE(best.extra_forward(-1));
    CHECK_FALSE(best.extra_forward(-far - 1));
    CHECK(best.extra_forward(0).has_value() == (best.least_budget() == 0));
    for (std::int64_t const budget :
         {best.least_budget(), (best.least_budget() + model.store_all_peak()) / 2, model.store_all_peak(), far}) {
      auto const extra = best.extra_forward(budget);
      REQUIRE(extra);
      auto const cost = cairn::replay(c, best.actions(budget));
      CHECK(cost.extra_forward == *extra);
      CHECK(cost.peak <= budget);
    }
  }
}

TEST_CASE("equal stages share what is found", "[plan][chain][long]") {
  chain const c = chains::make(chains::kind::uniform, 300, 1);
  chain_model const model{c, "test"};
  persistent_optimum best{model};
  std::int64_t const budget = model.store_all_peak() / 20;
  auto const extra = best.extra_forward(budget);
  REQUIRE(extra);
  require_plan(c, best, budget, *extra);
  CHECK(best.known() < 100'000);
}

TEST_CASE("chains too long for the exact optimum are refused", "[plan][chain]") {
  std::size_t const stages = std::size_t(persistent_optimum::most_stages) + 1;
  chain const c{.x = std::vector<std::int64_t>(stages + 1, 1),
                .s = std::vector<std::int64_t>(stages, 1),
                .u = std::vector<std::int64_t>(stages, 1)};
  chain_model const model{c, "test"};
  CHECK_THROWS_AS(persistent_optimum{model}, cairn::invalid_plan);
}
