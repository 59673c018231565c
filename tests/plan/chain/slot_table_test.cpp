// SPDX-License-Identifier: Apache-2.0
// Tables in slots: exact where the unit divides, a plan within the budget above the optimum, a bound below it; against
// a recursion in bytes.
#include <cairn/plan/chain/detail/slot_table.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_recursion.hpp"
#include "support/chain_oracles.hpp"

using cairn::chain;
using namespace cairn::detail;

namespace {

constexpr std::int64_t impossible = endless;

/// Small chains of every odd shape, by number.
chain small_chain(unsigned seed) {
  std::mt19937_64 numbers{seed};
  auto const kind = numbers() % 2 ? chains::kind::tiny : chains::kind::with_input;
  chain c = chains::make(kind, int(numbers() % 9), seed);
  if (numbers() % 3 == 0) c = chains::with_odd_adjoints(c, seed);
  if (numbers() % 3 == 0)
    for (auto& f : c.f) f *= 4;  // runs that need more than tapes
  if (numbers() % 5 == 0)
    for (auto& u : c.u) u = u > 5 ? 0 : u;
  if (numbers() % 7 == 0)
    for (auto& x : c.x) x = 0;
  if (numbers() % 11 == 0) c.f.clear(), c.b.clear();
  return c;
}

/// Plays the plan: in bytes and times it must be what the table says.
void check_plan(chain_model const& model, slot_table const& table, std::int64_t budget) {
  if (!table.feasible()) {
    CHECK(table.actions().empty());
    CHECK(table.extra_forward() == endless);
    return;
  }
  auto const cost = replay(model, table.actions(), {}, "test");
  CHECK(cost.peak <= budget);
  CHECK(cost.extra_forward == table.extra_forward());
}

}  // namespace

TEST_CASE("with slots of one byte the table is the optimum of persistent plans", "[plan][chain][long]") {
  int feasible = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    chain const c = small_chain(seed);
    chain_model const model{c, "test"};
    brute::chain_recursion search{chain_model{c, "test"}};
    for (std::int64_t budget = 0; budget <= model.store_all_peak() + 1; ++budget) {
      CAPTURE(seed, budget);
      auto const exact = search.extra_forward(budget).value_or(impossible);
      slot_table const up{model, budget, {.unit = 1}, rounding::up}, down{model, budget, {.unit = 1}, rounding::down};
      REQUIRE(up.feasible() == (exact < impossible));
      REQUIRE(down.feasible() == up.feasible());
      check_plan(model, up, budget);
      if (!up.feasible()) continue;
      ++feasible;
      REQUIRE(up.extra_forward() == exact);
      REQUIRE(down.extra_forward() == exact);
    }
  }
  CHECK(feasible > 2000);
}

TEST_CASE("chains of many tiles are exact, too", "[plan][chain][long]") {
  for (int const stages : {15, 16, 17, 26, 40}) {
    chain c = chains::with_odd_adjoints(
        chains::make(stages % 2 ? chains::kind::tiny : chains::kind::with_input, stages, 4), 8);
    // Runs and adjoints here and there that need more than tapes.
    for (std::size_t i = 0; i < std::size_t(stages); i += 5) c.f[i] = 25, c.g[i + 1] = 20;
    chain_model const model{c, "test"};
    for (std::int64_t const percent : {25, 60}) {
      std::int64_t const budget = model.store_all_peak() * percent / 100;
      CAPTURE(stages, percent);
      slot_table const up{model, budget, {.unit = 1}, rounding::up}, down{model, budget, {.unit = 1}, rounding::down};
      check_plan(model, up, budget);
      CHECK(up.extra_forward() ==
            brute::chain_recursion{chain_model{c, "test"}}.extra_forward(budget).value_or(impossible));
      CHECK(down.extra_forward() == up.extra_forward());
    }
  }
}

TEST_CASE("a run that does not fit beside a large adjoint makes a budget infeasible", "[plan][chain][long]") {
  // The adjoint of stage 24 leaves no place for a second state, and that of state 22 none for the run of stage 3.
  chain c{.x = std::vector<std::int64_t>(27, 10),
          .s = std::vector<std::int64_t>(26, 10),
          .f = std::vector<std::int64_t>(26, 0),
          .b = std::vector<std::int64_t>(27, 0),
          .u = std::vector<std::int64_t>(26, 1)};
  for (std::size_t i = 22; i <= 26; ++i) c.x[i] = 1;
  c.g = c.x;
  c.f[3] = 60, c.g[22] = 50, c.b[24] = 100;
  chain_model const model{c, "test"};
  int feasible = 0, infeasible = 0;
  for (std::int64_t budget = 104; budget <= 136; budget += 2) {
    CAPTURE(budget);
    slot_table const up{model, budget, {.unit = 1}, rounding::up}, rounded{model, budget, {.unit = 3}, rounding::up};
    check_plan(model, up, budget);
    check_plan(model, rounded, budget);
    auto const exact = brute::chain_recursion{chain_model{c, "test"}}.extra_forward(budget).value_or(impossible);
    CHECK(up.extra_forward() == exact);
    ++(exact < impossible ? feasible : infeasible);
  }
  CHECK(feasible > 2);
  CHECK(infeasible > 2);
}

TEST_CASE("in larger slots the plan is above the optimum and the bound below it", "[plan][chain][long]") {
  int between = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    chain const c = small_chain(seed);
    chain_model const model{c, "test"};
    brute::chain_recursion search{chain_model{c, "test"}};
    for (std::int64_t budget = 0; budget <= model.store_all_peak() + 1; budget += 2)
      for (std::int64_t const unit : {2, 3, 7, 1000}) {
        CAPTURE(seed, budget, unit);
        auto const exact = search.extra_forward(budget).value_or(impossible);
        slot_table const up{model, budget, {.unit = unit}, rounding::up},
            down{model, budget, {.unit = unit}, rounding::down};
        check_plan(model, up, budget);
        if (exact == impossible) REQUIRE(!up.feasible());
        REQUIRE(up.extra_forward() >= exact);
        if (exact < impossible) REQUIRE(down.extra_forward() <= exact);
        if (exact < impossible && up.feasible() && down.extra_forward() < exact && exact < up.extra_forward())
          ++between;
      }
  }
  CHECK(between > 10);
}

TEST_CASE("slots that divide every size are exact for all budgets and needs", "[plan][chain]") {
  std::mt19937_64 numbers{11};
  for (unsigned seed = 0; seed < 60; ++seed) {
    chain c = small_chain(seed);
    for (auto* list : {&c.x, &c.s})
      for (auto& bytes : *list) bytes *= 16;
    for (auto* list : {&c.f, &c.b, &c.g})
      for (auto& bytes : *list) bytes = bytes * 16 + std::int64_t(numbers() % 16);
    chain_model const model{c, "test"};
    if (exact_unit(model) > 0) CHECK(exact_unit(model) % 16 == 0);
    brute::chain_recursion search{chain_model{c, "test"}};
    for (int k = 0; k < 20; ++k) {
      std::int64_t const budget = std::int64_t(numbers() % std::uint64_t(model.store_all_peak() + 2));
      CAPTURE(seed, budget);
      auto const exact = search.extra_forward(budget).value_or(impossible);
      for (auto const division : {slot_division{.unit = 16}, slot_division{.slots = 1000}, slot_division{}}) {
        slot_table const up{model, budget, division, rounding::up}, down{model, budget, division, rounding::down};
        check_plan(model, up, budget);
        REQUIRE(up.feasible() == (exact < impossible));
        REQUIRE(down.feasible() == up.feasible());
        if (!up.feasible()) continue;
        REQUIRE(up.extra_forward() == exact);
        REQUIRE(down.extra_forward() == exact);
      }
    }
  }
}

TEST_CASE("bounds hold for every part of a chain and all bytes that it is asked for", "[plan][chain]") {
  std::int64_t tight = 0, asked = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    chain const c = small_chain(seed);
    chain_model const model{c, "test"};
    brute::chain_recursion search{chain_model{c, "test"}};
    std::int64_t const budget = model.store_all_peak() * 2 / 3;
    for (std::int64_t const unit : {1, 3}) {
      slot_table const down{model, budget, {.unit = unit}, rounding::down};
      std::int64_t tapes = 0;
      for (std::int64_t s = 0; s <= model.stages; ++s) {
        for (std::int64_t t = s; t <= model.stages; ++t)
          for (std::int64_t m = 0; m <= budget - (s > 0 ? c.x[std::size_t(s)] : 0); ++m) {
            CAPTURE(seed, unit, s, t, m);
            auto const exact = search.extra_forward(s, t, m), bound = down.bound(s, t, m);
            REQUIRE(bound <= exact);
            // What one is left with where all tapes before are kept; more is never taken.
            bool const reached = s == 0 ? m == budget : m >= budget - tapes;
            if (unit == 1 && reached && down.feasible()) REQUIRE(bound == exact);
            tight += bound == exact, ++asked;
          }
        if (s < model.stages) tapes += c.s[std::size_t(s)];
      }
    }
  }
  CHECK(double(tight) > 0.8 * double(asked));
}

TEST_CASE("plans in slots keep within the oracles' budgets and bounds below their optima", "[plan][chain][oracle]") {
  int rows = 0;
  for (auto const& known : chains::oracles()) {
    chain_model const model{known.chain, "test"};
    if (model.stages > 60) continue;
    for (auto const& row : known.rows) {
      CAPTURE(known.name, row.budget);
      ++rows;
      std::int64_t const exact = row.opt_persistent - known.no_checkpoint_makespan;
      slot_table const up{model, row.budget, {.slots = 500}, rounding::up},
          down{model, row.budget, {.slots = 500}, rounding::down};
      check_plan(model, up, row.budget);
      CHECK(up.extra_forward() >= exact);
      REQUIRE(down.feasible());
      CHECK(down.extra_forward() <= exact);
      if (up.scale().unit() <= exact_unit(model)) {
        CHECK(up.extra_forward() == exact);
        CHECK(down.extra_forward() + model.stages * model.stages * down.quantum() >= exact);
      }
    }
  }
  CHECK(rows > 100);
}

TEST_CASE("both kernels give the same bits", "[plan][chain]") {
  std::mt19937_64 numbers{3};
  std::vector<std::int32_t> left(300), right(300), row(300);
  for (auto* list : {&left, &right, &row})
    for (auto& cost : *list) cost = std::int32_t(numbers() % (1u << 29));
  for (std::size_t count = 0; count < 70; ++count)
    for (std::size_t offset = 0; offset < 9; ++offset) {
      auto plain = row, usual = row;
      plain_kernel.both(&plain[offset], &left[3], &right[2 * offset], 12345, count);
      usual_kernel().both(&usual[offset], &left[3], &right[2 * offset], 12345, count);
      REQUIRE(plain == usual);
      plain_kernel.one(&plain[offset], &right[offset + 1], 54321, count);
      usual_kernel().one(&usual[offset], &right[offset + 1], 54321, count);
      REQUIRE(plain == usual);
    }
  for (auto const kind : chains::large_kinds)
    for (auto const by : {rounding::up, rounding::down}) {
      chain_model const model{chains::make(kind, 50, 2), "test"};
      slot_table const plain{model, model.store_all_peak() / 3, {.slots = 1200}, by, {.kernel = &plain_kernel}};
      slot_table const usual{model, model.store_all_peak() / 3, {.slots = 1200}, by, {.kernel = &usual_kernel()}};
      CHECK(std::ranges::equal(plain.costs(), usual.costs()));
      CHECK(plain.actions() == usual.actions());
    }
}

TEST_CASE("stages that repeat share rows and cost the same", "[plan][chain][long]") {
  for (int const stages : {7, 40, 83}) {
    // Three stages again and again, but for one near the end.
    chain const pattern = chains::make(chains::kind::random, 4, 9);
    chain c = chains::make(chains::kind::random, stages, 9);
    for (std::size_t i = 0; i < std::size_t(stages); ++i) {
      std::size_t const k = i + 3 == std::size_t(stages) ? 3 : i % 3;
      c.x[i + 1] = pattern.x[k + 1], c.s[i] = pattern.s[k], c.f[i] = pattern.f[k], c.b[i] = pattern.b[k],
              c.u[i] = pattern.u[k];
    }
    for (chain const& one :
         {c, chains::make(chains::kind::uniform, stages, 1), chains::make(chains::kind::lstm, stages, 1)})
      for (auto const by : {rounding::up, rounding::down})
        for (std::int64_t const percent : {15, 30, 60}) {
          chain_model const model{one, "test"};
          std::int64_t const budget = model.store_all_peak() * percent / 100;
          CAPTURE(stages, percent, by == rounding::up);
          slot_table const shared{model, budget, {.unit = budget / 700 + 1}, by},
              single{model, budget, {.unit = budget / 700 + 1}, by, {.share_rows = false}};
          CHECK(shared.feasible() == single.feasible());
          CHECK(shared.extra_forward() == single.extra_forward());
          CHECK(shared.actions() == single.actions());
          if (by == rounding::up) check_plan(model, shared, budget);
          if (stages > 7) CHECK(shared.rows() * 3 < single.rows());
          if (!shared.feasible()) continue;
          for (std::int64_t s = 1; s <= stages; s += 3)
            for (std::int64_t t = s; t <= stages; t += 2)
              for (std::int64_t m = 0; m <= budget - model.x[std::size_t(s)]; m += budget / 37 + 1)
                if (by == rounding::down) CHECK(shared.bound(s, t, m) >= single.bound(s, t, m));
        }
  }
}

TEST_CASE("classes of intervals are those of equal stages", "[plan][chain]") {
  std::mt19937_64 numbers{21};
  for (int k = 0; k < 300; ++k) {
    std::vector<std::int32_t> types(1 + numbers() % 14);
    auto const alphabet = 1 + numbers() % 4;
    for (auto& type : types) type = std::int32_t(numbers() % alphabet);
    interval_classes const classes{types};
    std::map<std::vector<std::int32_t>, std::size_t> seen;
    for (std::size_t length = 0; length < types.size(); ++length)
      for (std::size_t s = 0; s + length < types.size(); ++s) {
        std::size_t const number = classes.of(s, s + length);
        std::vector<std::int32_t> const word(types.begin() + std::ptrdiff_t(s),
                                             types.begin() + std::ptrdiff_t(s + length + 1));
        auto const [found, is_new] = seen.try_emplace(word, number);
        REQUIRE(found->second == number);
        REQUIRE(number >= classes.first(length));
        REQUIRE(number < classes.first(length + 1));
        if (is_new) REQUIRE(classes.from(number, length) == s);
      }
    REQUIRE(seen.size() == classes.count());
    REQUIRE(classes.shared() == (classes.count() < types.size() * (types.size() + 1) / 2));
  }
  interval_classes const single{5};
  CHECK(single.count() == 15);
  CHECK(!single.shared());
  CHECK(single.of(2, 4) == single.first(2) + 2);
}

TEST_CASE("stages that are alike have one type, and inputs distinguish them where they matter", "[plan][chain]") {
  chain const c{.x = {9, 4, 4, 2, 4}, .s = {5, 5, 5, 5}, .u = {1, 1, 1, 1}};
  chain_model const model{c, "test"};
  std::vector<std::int32_t> const times{1, 1, 1, 1, 0};
  auto const without = stage_types(model, times, false), with = stage_types(model, times, true);
  CHECK(without[0] == without[1]);
  CHECK(without[1] != without[2]);
  CHECK(without[3] == without[0]);
  CHECK(without[4] != without[0]);
  CHECK(with[0] != with[1]);
  CHECK(with[3] != with[1]);

  chain const same{
      .x = {4, 4, 4, 4}, .g = {4, 4, 4, 4}, .s = {5, 5, 5}, .f = {1, 1, 1}, .b = {1, 1, 1, 1}, .u = {1, 1, 1}};
  std::vector<std::int32_t> const one_each{1, 1, 1, 0};
  CHECK(std::ranges::equal(stage_types(chain_model{same, "test"}, one_each, false), one_each));
  auto const differs = [&](std::vector<std::int64_t> chain::*list, std::size_t k) {
    chain other = same;
    ++(other.*list)[k];
    auto const types = stage_types(chain_model{other, "test"}, one_each, false);
    CHECK(types[1] != types[0]);
    CHECK(types[2] == types[0]);
  };
  differs(&chain::x, 2), differs(&chain::g, 2), differs(&chain::s, 1), differs(&chain::f, 1), differs(&chain::b, 1);
  auto const slower = stage_types(chain_model{same, "test"}, std::vector<std::int32_t>{1, 2, 1, 0}, false);
  CHECK(slower[1] != slower[0]);
}

TEST_CASE("times beyond 32 bits are counted in quanta, and plans of very little memory too", "[plan][chain][long]") {
  // At the least budget each adjoint runs the loop from its start: more than the finest quanta hold.
  chain c = chains::make(chains::kind::uniform, 40, 1);
  for (auto& u : c.u) u = (std::int64_t{1} << 40) + 12345;
  chain_model const model{c, "test"};
  brute::chain_recursion search{chain_model{c, "test"}};
  std::int64_t least = 0;
  while (search.extra_forward(least).value_or(impossible) == impossible) ++least;
  for (std::int64_t const budget : {least - 1, least, least + 4, 2 * least, std::int64_t{200}}) {
    CAPTURE(budget);
    auto const exact = search.extra_forward(budget).value_or(impossible);
    slot_table const up{model, budget, {.unit = 1}, rounding::up}, down{model, budget, {.unit = 1}, rounding::down};
    REQUIRE(up.feasible() == (exact < impossible));
    if (!up.feasible()) continue;
    check_plan(model, up, budget);
    CHECK(up.extra_forward() == exact);  // the stages are alike, so rounding changes no comparison
    CHECK(down.extra_forward() <= exact);
    CHECK(double(down.extra_forward()) > 0.9999 * double(exact));
    if (budget == least) CHECK(exact > 9 * model.sum_u.back());
  }
}

TEST_CASE("chains of no, one and two stages and budgets of nothing are planned", "[plan][chain]") {
  chain const none{.x = {7}, .s = {}, .b = {5}, .u = {}};
  for (auto const division : {slot_division{.unit = 2}, slot_division{.slots = 3}, slot_division{}}) {
    chain_model const model{none, "test"};
    CHECK(!slot_table{model, 0, division, rounding::up}.feasible());
    CHECK(!slot_table{model, 4, division, rounding::down}.feasible());
    slot_table const table{model, 5, division, rounding::up};
    CHECK(table.actions() == std::vector<cairn::action>{cairn::chain_actions::turn(0)});
  }
  chain const free{.x = {0, 0, 0}, .s = {0, 0}, .u = {0, 0}};
  chain_model const model{free, "test"};
  slot_table const table{model, 0, {}, rounding::up};
  CHECK(table.extra_forward() == 0);
  CHECK(table.actions().size() == 5);
}

TEST_CASE("what no table can hold is refused before it is made", "[plan][chain][long]") {
  chain_model const model{chains::make(chains::kind::random, 200, 1), "test"};
  std::int64_t const budget = model.store_all_peak() / 2;
  using Catch::Matchers::ContainsSubstring;
  auto const refusal = [&](slot_division division, std::int64_t most) -> std::string {
    try {
      (void)slot_table{model, budget, division, rounding::up, {.most_bytes = most}};
    } catch (cairn::invalid_plan const& e) {
      return e.what();
    }
    return "";
  };
  constexpr std::int64_t usual = std::int64_t{1} << 31;
  CHECK_THAT(refusal({.unit = 1}, usual), ContainsSubstring("the budget has too many slots"));
  CHECK_THAT(refusal({.unit = 100}, usual),
             ContainsSubstring("the table of this chain does not fit (stages = 200, slots = "));
  CHECK_THAT(refusal({.slots = 500}, 1000), ContainsSubstring("the table of this chain does not fit"));
  CHECK_THAT(refusal({.unit = -1}, usual), ContainsSubstring("a number of slots or bytes a slot is negative"));
  CHECK_THAT(refusal({.slots = -1}, usual), ContainsSubstring("a number of slots or bytes a slot is negative"));
  slot_table const table{model, budget, {.slots = 500}, rounding::up};
  CHECK(table.bytes() > std::size_t{1} << 20);
  CHECK(refusal({.slots = 500}, std::int64_t(table.bytes()) + 201 * 201 * 8) == "");
  CHECK(refusal({.slots = 500}, std::int64_t(table.bytes()) + 201 * 201 * 8 - 1) != "");
}

TEST_CASE("a tuned unit is the exact one where that is in range, and wastes least elsewhere", "[plan][chain]") {
  chain_model const model{chains::make(chains::kind::resnet, 200, 1), "test"};
  std::int64_t const exact = exact_unit(model), least = exact - exact / 9;
  CHECK(exact > 0);
  CHECK(tuned_unit(model, least, least + least / 4, rounding::up) == exact);
  CHECK(tuned_unit(model, least, least + least / 4, rounding::down) == exact);
  // Where none is exact: no worse than the ends of the range.
  auto const waste = [&](std::int64_t unit) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < 200; ++i)
      sum += (unit - model.x[i + 1] % unit) % unit + 2 * ((unit - model.s[i] % unit) % unit);
    return sum;
  };
  std::int64_t const coarse = 2 * exact + 1, most = coarse + coarse / 4,
                     tuned = tuned_unit(model, coarse, most, rounding::up);
  CHECK(tuned >= coarse);
  CHECK(tuned <= most);
  CHECK(waste(tuned) <= std::min(waste(coarse), waste(most)));
  slot_table const table{model, model.store_all_peak() / 3, {.slots = 300}, rounding::up};
  CHECK(table.scale().slots() <= 300);
  CHECK(table.scale().slots() >= 239);
}

namespace {

/// Plans of random chains with working bytes, in random slots: how many keep within the budget, of how many.
void never_over_budget(unsigned pairs) {
  std::mt19937_64 numbers{77};
  unsigned feasible = 0;
  for (unsigned k = 0; k < pairs; ++k) {
    auto const kind = chains::all_kinds[numbers() % std::size(chains::all_kinds)];
    chain c = chains::make(kind, int(numbers() % 41), k);
    if (k % 3 == 0) c = chains::with_odd_adjoints(c, k);
    for (auto* list : {&c.f, &c.b})
      for (auto& bytes : *list)
        bytes = std::int64_t(numbers() %
                             std::uint64_t((numbers() % 4 ? 2 : 20) * (bytes + c.x[numbers() % c.x.size()]) + 1));
    chain_model const model{c, "test"};
    std::int64_t const budget = std::int64_t(numbers() % std::uint64_t(model.store_all_peak() + 1));
    slot_division const division{.slots = 1 + std::int64_t(numbers() % 120)};
    slot_table const up{model, budget, division, rounding::up}, down{model, budget, division, rounding::down};
    if (!up.feasible()) continue;
    ++feasible;
    auto const cost = replay(model, up.actions(), {}, "test");
    if (cost.peak > budget || cost.extra_forward != up.extra_forward() || !down.feasible() ||
        down.extra_forward() > up.extra_forward()) {
      CAPTURE(k, budget, division.slots, cost.peak, cost.extra_forward, up.extra_forward(), down.extra_forward());
      FAIL("a plan over budget, or not what it says, or below the bound");
    }
  }
  CHECK(feasible > pairs / 3);
  INFO("feasible " << feasible);
}

}  // namespace

TEST_CASE("no plan is over budget", "[plan][chain][long]") { never_over_budget(2'000); }
TEST_CASE("no plan of 100,000 is over budget", "[.soak]") { never_over_budget(100'000); }
