// SPDX-License-Identifier: Apache-2.0
// Plans that may give states up early: never over budget, never slower than persistent ones, and nearly as fast as the
// fastest of all schedules.
#include <cairn/plan/chain/detail/non_persistent.hpp>
#include <cairn/plan/chain/detail/non_persistent_optimum.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/slot_table.hpp>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_oracles.hpp"
#include "support/chain_search.hpp"

using cairn::chain;
using cairn::detail::chain_model;
using cairn::detail::endless;
using cairn::detail::non_persistent_optimum;
using cairn::detail::non_persistent_table;
using cairn::detail::rounding;

namespace {

/// A chain of one kind in all the shapes that the recurrences distinguish.
chain shaped(chains::kind of, int stages, unsigned seed, bool odd_adjoints, bool self_contained) {
  chain c = chains::make(of, stages, seed);
  if (odd_adjoints) c = chains::with_odd_adjoints(std::move(c), seed);
  c.self_contained_tape = self_contained;
  return c;
}
/// Working bytes are large, sizes and times often 0, adjoints of any size.
chain wild(int stages, unsigned seed, bool self_contained) {
  std::mt19937_64 numbers{seed};
  auto const below = [&](std::uint64_t end) { return numbers() % 3 == 0 ? 0 : std::int64_t(numbers() % end); };
  chain c;
  for (int i = 0; i <= stages; ++i)
    c.x.push_back(below(9)), c.g.push_back(below(12)), c.b.push_back(below(15)), c.v.push_back(below(5));
  for (int i = 0; i < stages; ++i)
    c.s.push_back(c.x[std::size_t(i) + 1] + below(12)), c.f.push_back(below(20)), c.u.push_back(below(9));
  c.self_contained_tape = self_contained;
  return c;
}
/// Budgets from the least that any schedule has to that of storing everything.
std::vector<std::int64_t> budgets(std::int64_t least, std::int64_t most, int count) {
  std::vector<std::int64_t> list;
  for (int k = 0; k < count; ++k) list.push_back(least + (most - least) * k / count);
  return list;
}
/// Replays a plan: within the budget, and as long as was said.
std::int64_t checked(chain_model const& model, std::vector<cairn::action> const& plan, std::int64_t budget,
                     std::int64_t extra_forward) {
  auto const cost = cairn::detail::replay(model, plan, {}, "test");
  CHECK(cost.peak <= budget);
  CHECK(cost.extra_forward == extra_forward);
  return cost.makespan;
}

struct gaps {
  long pairs = 0;
  double persistent = 0, ours = 0, worst = 0;

  [[nodiscard]] double closed() const { return persistent > 0 ? 1 - ours / persistent : 1; }
  gaps& operator+=(gaps const& more) {
    pairs += more.pairs, persistent += more.persistent, ours += more.ours, worst = std::max(worst, more.worst);
    return *this;
  }
};
/// Compares with the fastest of all schedules and with the persistent optimum; gaps are in parts of the time that
/// storing everything takes.
gaps gaps_of(chain const& c, int points) {
  gaps sum;
  chain_model const model{c, "test"};
  brute::chain_search search{c};
  non_persistent_optimum ours{model};
  std::int64_t const most = model.store_all_peak(), unit = std::max<std::int64_t>(1, cairn::detail::exact_unit(model));
  for (auto const budget : budgets(search.least_peak(most), most, points)) {
    CAPTURE(budget);
    auto const fastest = search.makespan(budget);
    auto const found = ours.extra_forward(budget);
    std::optional<std::int64_t> persistent;
    // Slots of the unit that divides all sizes; where those are too many, sizes are small numbers in no other kind.
    if (budget / unit < 100'000)
      if (cairn::detail::slot_table const table{model, budget, {.unit = unit}, rounding::up}; table.feasible())
        persistent = table.extra_forward();
    ++sum.pairs;
    if (!found) {
      CHECK_FALSE(persistent);
      continue;
    }
    REQUIRE(fastest);
    std::int64_t const makespan = checked(model, ours.actions(budget), budget, *found);
    CHECK(makespan >= *fastest);
    if (!persistent) continue;
    CHECK(*found <= *persistent);
    double const all = double(model.store_all_time()), gap = double(makespan - *fastest) / all;
    sum.persistent += double(*persistent + model.store_all_time() - *fastest) / all;
    sum.ours += gap;
    sum.worst = std::max(sum.worst, gap);
  }
  return sum;
}
/// Sizes of random chains in units of which there are few.
chain coarse(chain c) {
  if (*std::max_element(c.x.begin(), c.x.end()) < 1'000'000) return c;
  for (auto* list : {&c.x, &c.g, &c.s, &c.f, &c.b})
    for (auto& bytes : *list) bytes /= 262'144;
  return c;
}
std::vector<gaps> campaign(bool self_contained, int chains_of_each, int points) {
  std::vector<gaps> of_kind;
  for (auto const of : chains::all_kinds) {
    gaps sum;
    for (int seed = 0; seed < chains_of_each; ++seed)
      for (bool const odd : {false, true}) {
        CAPTURE(chains::name_of(of), seed, odd, self_contained);
        sum += gaps_of(coarse(shaped(of, 2 + seed % 5, unsigned(seed) + 1, odd, self_contained)), points);
      }
    of_kind.push_back(sum);
  }
  return of_kind;
}

}  // namespace

TEST_CASE("most of the gap to the fastest schedule is closed", "[plan][chain][brute][long]") {
  for (bool const self_contained : {false, true}) {
    gaps all;
    for (auto const& one : campaign(self_contained, 20, 4)) all += one;
    INFO("self_contained " << self_contained << ", pairs " << all.pairs << ", closed " << all.closed());
    CHECK(all.pairs > 1000);
    CHECK(all.persistent > 0);
    CHECK(all.closed() >= (self_contained ? 0.95 : 0.85));
  }
}

TEST_CASE("most of the gap to the fastest schedule is closed for every kind of chain", "[.soak][plan][chain][brute]") {
  for (bool const self_contained : {false, true}) {
    gaps all;
    auto const of_kind = campaign(self_contained, 200, 4);
    for (std::size_t k = 0; k < of_kind.size(); ++k) {
      auto const& one = of_kind[k];
      std::printf(
          "%-14s %-10s pairs %5ld  gap of the persistent optimum %7.3f  ours %6.3f  closed %6.2f %%  worst %.3f\n",
          self_contained ? "self-contained" : "plain", std::string{chains::name_of(chains::all_kinds[k])}.c_str(),
          one.pairs, one.persistent, one.ours, 100 * one.closed(), one.worst);
      CHECK(one.closed() >= (self_contained ? 0.95 : 0.85));
      all += one;
    }
    std::printf(
        "%-14s %-10s pairs %5ld  gap of the persistent optimum %7.3f  ours %6.3f  closed %6.2f %%  worst %.3f\n",
        self_contained ? "self-contained" : "plain", "all", all.pairs, all.persistent, all.ours, 100 * all.closed(),
        all.worst);
    CHECK(all.pairs >= 10'000);
    CHECK(all.closed() >= (self_contained ? 0.95 : 0.85));
  }
}

TEST_CASE("chains of odd needs keep within the budget and above the fastest schedule", "[plan][chain][brute][long]") {
  for (unsigned seed = 0; seed < 400; ++seed)
    for (bool const self_contained : {false, true}) {
      CAPTURE(seed, self_contained);
      chain const c = wild(int(seed % 6), seed, self_contained);
      chain_model const model{c, "test"};
      brute::chain_search search{c};
      non_persistent_optimum ours{model};
      std::int64_t const most = model.store_all_peak();
      CHECK(ours.least_budget() >= search.least_peak(most));
      CHECK(ours.least_budget() <= most);
      CHECK(ours.extra_forward(most) == 0);
      CHECK(ours.extra_forward(ours.least_budget()));
      CHECK_FALSE(ours.extra_forward(ours.least_budget() - 1));
      CHECK(ours.actions(ours.least_budget() - 1).empty());
      for (auto const budget : budgets(0, most + 2, 4)) {
        CAPTURE(budget);
        non_persistent_table const table{model, budget, {.unit = 1}, rounding::up};
        auto const found = ours.extra_forward(budget);
        REQUIRE(found.has_value() == table.feasible());
        CHECK(table.extra_forward() == found.value_or(endless));
        if (cairn::detail::slot_table const persistent{model, budget, {.unit = 1}, rounding::up};
            persistent.feasible()) {
          REQUIRE(found);
          CHECK(*found <= persistent.extra_forward());
        }
        if (!found) continue;
        CHECK(checked(model, table.actions(), budget, *found) >= search.makespan(budget));
        checked(model, ours.actions(budget), budget, *found);
      }
    }
}

TEST_CASE("a table whose unit divides all sizes is exact in bytes", "[plan][chain]") {
  std::mt19937_64 numbers{7};
  int slower = 0;
  for (auto const of : {chains::kind::tiny, chains::kind::with_input, chains::kind::uniform, chains::kind::resnet,
                        chains::kind::transformer, chains::kind::lstm})
    for (int seed = 1; seed <= 6; ++seed)
      for (bool const self_contained : {false, true}) {
        int const stages = 3 + 2 * seed;
        chain c = shaped(of, stages, unsigned(seed), seed % 2 == 0, self_contained);
        // Working bytes, adjoints and the budget are no multiples of the unit.
        if (of == chains::kind::tiny)
          for (auto* list : {&c.x, &c.s})
            for (auto& bytes : *list) bytes *= 5;
        chain_model const model{c, "test"};
        non_persistent_optimum exact{model};
        std::int64_t const least = exact.least_budget(), most = model.store_all_peak(),
                           unit = cairn::detail::exact_unit(model);
        for (int k = 0; k < 4; ++k) {
          std::int64_t const budget = least + std::int64_t(numbers() % std::uint64_t(most - least + 1));
          CAPTURE(chains::name_of(of), seed, self_contained, budget, unit);
          auto const wanted = exact.extra_forward(budget);
          for (auto const by : {rounding::up, rounding::down})
            CHECK(non_persistent_table{model, budget, {.unit = unit}, by}.extra_forward() == wanted);
          non_persistent_table const table{model, budget, {.unit = unit}, rounding::up};
          CHECK(table.quantum() == 1);
          checked(model, table.actions(), budget, *wanted);
          slower += cairn::detail::slot_table{model, budget, {.unit = unit}, rounding::up}.extra_forward() > *wanted;
        }
      }
  CHECK(slower > 100);
}

TEST_CASE("coarse slots plan above the optimum and bound it from below", "[plan][chain]") {
  int apart = 0;
  for (auto const of : {chains::kind::tiny, chains::kind::with_input})
    for (int seed = 1; seed <= 20; ++seed)
      for (bool const self_contained : {false, true}) {
        chain_model const model{shaped(of, 4 + seed % 8, unsigned(seed), seed % 2 == 0, self_contained), "test"};
        non_persistent_optimum exact{model};
        for (auto const budget : budgets(exact.least_budget() - 1, model.store_all_peak() + 3, 5))
          for (std::int64_t const unit : {2, 3, 7}) {
            CAPTURE(chains::name_of(of), seed, self_contained, budget, unit);
            auto const wanted = exact.extra_forward(budget);
            non_persistent_table const up{model, budget, {.unit = unit}, rounding::up},
                down{model, budget, {.unit = unit}, rounding::down};
            CHECK(up.extra_forward() >= wanted.value_or(endless));
            CHECK(down.extra_forward() <= wanted.value_or(endless));
            if (!up.feasible()) CHECK(up.actions().empty());
            else checked(model, up.actions(), budget, up.extra_forward());
            apart += up.extra_forward() > down.extra_forward();
          }
      }
  CHECK(apart > 200);
}

TEST_CASE("chains of no, one and two stages", "[plan][chain]") {
  for (bool const self_contained : {false, true}) {
    chain const none{.x = {7}, .s = {}, .b = {5}, .u = {}, .self_contained_tape = self_contained};
    chain const one{
        .x = {9, 4}, .g = {9, 3}, .s = {6}, .f = {2}, .b = {3, 1}, .u = {8}, .self_contained_tape = self_contained};
    // Either tape fits with its adjoint, both do not.
    chain const two{.x = {9, 2, 2}, .s = {6, 6}, .u = {3, 5}, .self_contained_tape = self_contained};
    struct wanted {
      chain c;
      std::int64_t budget, extra_forward;
    };
    for (auto const& [c, budget, extra_forward] : std::initializer_list<wanted>{{none, 4, endless},
                                                                                {none, 5, 0},
                                                                                {one, 11, endless},
                                                                                {one, 12, 0},
                                                                                {two, 0, endless},
                                                                                {two, 7, endless},
                                                                                {two, 9, self_contained ? 3 : endless},
                                                                                {two, 10, 3},
                                                                                {two, 13, 3},
                                                                                {two, 14, 0},
                                                                                {two, 1000, 0}}) {
      chain_model const model{c, "test"};
      CAPTURE(c.stages(), budget);
      non_persistent_optimum optimum{model};
      CHECK(optimum.extra_forward(budget).value_or(endless) == extra_forward);
      for (auto const by : {rounding::up, rounding::down})
        CHECK(non_persistent_table{model, budget, {.unit = 1}, by}.extra_forward() == extra_forward);
      CHECK_FALSE(non_persistent_table{model, -1, {}, rounding::up}.feasible());
      CHECK_FALSE(optimum.extra_forward(-1));
    }
  }
  // Nothing takes bytes or time.
  chain_model const empty{chain{.x = {0, 0, 0}, .s = {0, 0}, .u = {0, 0}}, "test"};
  non_persistent_table const table{empty, 0, {}, rounding::up};
  CHECK(table.extra_forward() == 0);
  checked(empty, table.actions(), 0, 0);
  CHECK(non_persistent_optimum{empty}.least_budget() == 0);
}

TEST_CASE("a tape outlives its state until the state comes back on the way of others", "[plan][chain]") {
  using namespace cairn::chain_actions;
  // In 10 bytes state 1 and tape 2 do not fit beside tape 1, so that a plan that keeps state 1 runs stage 1 twice; one
  // that gives it up runs stage 0 again, which is short.
  chain const c{.x = {1, 4, 4, 1}, .g = {0, 1, 1, 1}, .s = {5, 5, 1}, .u = {1, 10, 100}};
  chain_model const model{c, "test"};
  brute::chain_search search{c};
  non_persistent_optimum ours{model};
  CHECK(ours.extra_forward(10) == 2);
  CHECK(cairn::detail::slot_table{model, 10, {.unit = 1}, rounding::up}.extra_forward() == 11);
  for (std::int64_t budget = ours.least_budget(); budget < model.store_all_peak(); ++budget) {
    auto const found = ours.extra_forward(budget);
    REQUIRE(found);
    CHECK(search.makespan(budget) == *found + model.store_all_time());
  }
  std::vector<cairn::action> const plan{advance(0), record(1),  drop(1), record(2), turn(3),   reverse(2),
                                        advance(0), reverse(1), drop(1), record(0), reverse(0)};
  CHECK(ours.actions(10) == plan);
}

TEST_CASE("the non-persistent optimum lies between those of the oracles", "[plan][chain][oracle]") {
  int rows = 0, faster = 0;
  for (auto const& known : chains::oracles()) {
    if (known.chain.stages() > 20) continue;
    chain_model const model{known.chain, "test"};
    non_persistent_optimum ours{model};
    CHECK(ours.least_budget() <= known.min_peak_persistent);
    CHECK(ours.least_budget() >= known.lb_peak_any_schedule);
    for (auto const& row : known.rows) {
      CAPTURE(known.name, row.budget);
      auto const found = ours.extra_forward(row.budget);
      REQUIRE(found);
      std::int64_t const makespan = checked(model, ours.actions(row.budget), row.budget, *found);
      CHECK(makespan <= row.opt_persistent);
      if (row.opt_any_schedule) CHECK(makespan >= *row.opt_any_schedule);
      faster += makespan < row.opt_persistent;
      ++rows;
    }
  }
  CHECK(rows > 300);
  CHECK(faster > 50);
}

TEST_CASE("tables of long chains keep within the budget and near their bound", "[plan][chain][long]") {
  for (auto const of : chains::large_kinds)
    for (bool const self_contained : {false, true})
      for (double const part : {0.2, 0.5}) {
        CAPTURE(chains::name_of(of), self_contained, part);
        chain_model const model{shaped(of, 60, 3, self_contained, self_contained), "test"};
        auto const budget = std::int64_t(part * double(model.store_all_peak()));
        non_persistent_table const up{model, budget, {.slots = 600}, rounding::up},
            down{model, budget, {.slots = 600}, rounding::down};
        REQUIRE(up.feasible());
        checked(model, up.actions(), budget, up.extra_forward());
        CHECK(down.extra_forward() <= up.extra_forward());
        CHECK(double(up.extra_forward() - down.extra_forward()) <= 0.02 * double(model.store_all_time()));
        CHECK(up.bytes() < 20'000'000);
        cairn::detail::slot_table const persistent{model, budget, {.unit = up.scale().unit()}, rounding::up};
        CHECK(double(up.extra_forward()) <= double(persistent.extra_forward()) * (1 + 1e-5));
      }
}

TEST_CASE("times are counted in quanta where they are large or many", "[plan][chain]") {
  // At the least budget the first stages run some thirty times: more quanta than the first try has room for.
  chain_model const small{chains::make(chains::kind::uniform, 60, 1), "test"};
  chain c = chains::make(chains::kind::uniform, 60, 1);
  for (auto& time : c.u) time <<= 40;
  chain_model const large{c, "test"};
  non_persistent_optimum exact{small};
  std::int64_t const least = exact.least_budget();
  for (auto const budget : {least, least + 4, least + 20}) {
    CAPTURE(budget);
    auto const wanted = exact.extra_forward(budget);
    REQUIRE(wanted);
    non_persistent_table const up{large, budget, {.unit = 1}, rounding::up},
        down{large, budget, {.unit = 1}, rounding::down};
    CHECK(up.extra_forward() == *wanted << 40);
    CHECK(down.extra_forward() <= up.extra_forward());
    CHECK(double(down.extra_forward()) >= 0.999 * double(up.extra_forward()));
    CHECK(up.quantum() > 1);
    checked(large, up.actions(), budget, up.extra_forward());
  }
  chain huge{.x = {1, std::int64_t{1} << 58, 1}, .s = {std::int64_t{1} << 58, 1}, .u = {std::int64_t{1} << 59, 1}};
  chain_model const model{huge, "test"};
  CHECK_FALSE(non_persistent_table{model, 1000, {.unit = 1}, rounding::up}.feasible());
  CHECK(non_persistent_table{model, model.store_all_peak(), {.slots = 100}, rounding::down}.extra_forward() == 0);
}

TEST_CASE("what is known of one budget serves the next", "[plan][chain]") {
  chain_model const model{chains::make(chains::kind::tiny, 12, 5), "test"};
  non_persistent_optimum shared{model};
  std::int64_t before = endless;
  for (std::int64_t budget = shared.least_budget(); budget <= model.store_all_peak(); ++budget) {
    non_persistent_optimum fresh{model};
    auto const found = shared.extra_forward(budget);
    CHECK(found == fresh.extra_forward(budget));
    CHECK(*found <= before);
    before = *found;
  }
  for (std::int64_t budget = model.store_all_peak(); budget >= shared.least_budget(); --budget) {
    non_persistent_optimum fresh{model};
    CHECK(shared.extra_forward(budget) == fresh.extra_forward(budget));
  }
}

TEST_CASE("a search that takes too many steps gives up, and goes on where it may take more", "[plan][chain]") {
  chain_model const model{chains::make(chains::kind::random, 20, 2), "test"};
  non_persistent_optimum limited{model}, fresh{model};
  std::int64_t const budget = model.store_all_peak() / 2;
  limited.limit_effort(100);
  CHECK_FALSE(limited.extra_forward(budget));
  CHECK(limited.gave_up());
  CHECK(limited.actions(budget).empty());
  int tries = 0;
  while (!limited.extra_forward(budget)) REQUIRE(++tries < 100'000);
  CHECK_FALSE(limited.gave_up());
  CHECK(limited.extra_forward(budget) == fresh.extra_forward(budget));
  limited.limit_effort(0);
  checked(model, limited.actions(budget), budget, *fresh.extra_forward(budget));
}

TEST_CASE("tables that cannot be are refused", "[plan][chain]") {
  chain_model const model{chains::make(chains::kind::random, 30, 2), "test"};
  std::int64_t const budget = model.store_all_peak() / 3;
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH((non_persistent_table{model, budget, {.slots = 500}, rounding::up, 100'000}),
                    ContainsSubstring("the table of this chain does not fit"));
  CHECK_THROWS_AS((non_persistent_table{model, budget, {.unit = 1}, rounding::up}), cairn::invalid_plan);
  CHECK_THROWS_AS((non_persistent_table{model, budget, {.slots = -1}, rounding::up}), cairn::invalid_plan);
  CHECK(non_persistent_table{model, budget, {.slots = 500}, rounding::up, 5'000'000}.bytes() <= 5'000'000);
}
