// SPDX-License-Identifier: Apache-2.0
// Chains of stages that are all alike: the plan without a table against tables that know nothing of its argument.
#include <cairn/plan/chain/detail/uniform_chain.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/schedule/revolve.hpp>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_recursion.hpp"
#include "support/chain_search.hpp"
#include "support/csv.hpp"

using cairn::chain;
using cairn::detail::chain_model;
using cairn::detail::endless;
using cairn::detail::is_uniform;
using cairn::detail::uniform_plan;

namespace {

/// Sizes and times of every stage, and what the loss takes.
struct alike { std::int64_t x, g, s, f, b, u, loss; };

chain chain_of(alike const& one, std::int64_t stages, std::int64_t first = 3) {
  std::size_t const count = std::size_t(stages);
  chain c{.x = std::vector<std::int64_t>(count + 1, one.x),
          .g = std::vector<std::int64_t>(count + 1, one.g),
          .s = std::vector<std::int64_t>(count, one.s),
          .f = std::vector<std::int64_t>(count, one.f),
          .b = std::vector<std::int64_t>(count + 1, one.b),
          .u = std::vector<std::int64_t>(count, one.u)};
  c.x[0] = c.g[0] = first;
  c.b.back() = one.loss;
  return c;
}
class dice {
 public:
  explicit dice(unsigned seed) : numbers_{seed} {}
  std::int64_t operator()(std::int64_t least, std::int64_t most) {
    return least + std::int64_t(numbers_() % std::uint64_t(most - least + 1));
  }
  alike stages() {
    dice& roll = *this;
    std::int64_t const x = roll(0, 6), s = x + roll(0, roll(0, 1) ? 4 : 24), f = roll(0, 5), b = roll(0, 6),
                       g = roll(0, 1) ? x : roll(0, 8);
    return {x, g, s, f, b, roll(0, 15) ? roll(1, 5) : 0, roll(0, 1) ? roll(0, 5) : roll(0, 45)};
  }

 private:
  std::mt19937_64 numbers_;
};

/// The least runs, by a table over (kept states, stages): longer chains than the recursion can, with all splits tried.
/// Tapes first or split first is what the table takes from the argument of the plan; how splits are chosen it does not.
std::int64_t tabled_runs(alike const& a, int stages, std::int64_t budget) {
  std::int64_t const need = a.g + a.s + std::max(a.f, a.b), tail_need = a.s + std::max(a.f, a.g + a.b);
  int const last = budget < need ? -1 : int(std::min<std::int64_t>(stages, (budget - need) / a.x));
  auto const room = [&](int kept) { return budget - kept * a.x; };
  auto const tapes = [&](int kept) { return 1 + (room(kept) - need) / a.s; };
  auto const tail = [&](int kept) {
    return room(kept) < a.loss      ? -1
           : room(kept) < tail_need ? 0
                                    : std::min(1 + (room(kept) - tail_need) / a.s, (room(kept) - a.loss) / a.s);
  };
  using row = std::vector<std::int64_t>;
  std::vector<row> inner(std::size_t(last + 3), row(std::size_t(stages) + 1, endless)), outer = inner;
  for (int kept = last; kept >= 0; --kept)
    for (std::size_t n = 1; n <= std::size_t(stages); ++n) {
      std::int64_t& best = inner[std::size_t(kept)][n];
      if (std::int64_t(n) <= tapes(kept)) best = 0;
      else
        for (std::size_t i = 1; i < n; ++i)
          best = std::min(
              {best, endless, std::int64_t(i) + inner[std::size_t(kept)][i] + inner[std::size_t(kept) + 1][n - i]});
    }
  for (int kept = last + 1; kept >= 0; --kept)
    for (std::size_t n = 0; n <= std::size_t(stages); ++n) {
      std::int64_t& best = outer[std::size_t(kept)][n];
      if (std::int64_t(n) <= tail(kept)) best = 0;
      else
        for (std::size_t i = 1; i <= n; ++i)
          best = std::min(
              {best, endless, std::int64_t(i) + inner[std::size_t(kept)][i] + outer[std::size_t(kept) + 1][n - i]});
    }
  return outer[0][std::size_t(stages)];
}

struct tally { int pairs = 0, feasible = 0, unproven = 0, worse = 0; };

/// Compares the plan with `wanted`, and with what it costs when it is played.
void compare(chain_model const& model, std::int64_t budget, bool keeps_tapes, std::int64_t wanted, tally& sum) {
  ++sum.pairs;
  auto const plan = uniform_plan(model, budget, keeps_tapes);
  REQUIRE(plan.has_value() == (wanted < endless));
  if (!plan) return;
  ++sum.feasible;
  auto const cost = cairn::detail::replay(model, plan->actions(), {}, "test");
  CHECK(cost.peak <= budget);
  CHECK(cost.extra_forward == plan->extra_forward());
  CHECK(plan->extra_forward() >= wanted);
  if (plan->is_exact()) CHECK(plan->extra_forward() == wanted);
  sum.unproven += !plan->is_exact();
  sum.worse += plan->extra_forward() > wanted;
  if (!keeps_tapes) CHECK(plan->is_exact());
}
void compare_with_recursion(unsigned first_seed, unsigned count, int most_stages, int budgets, tally& sum) {
  for (unsigned seed = first_seed; seed < first_seed + count; ++seed) {
    dice roll{seed};
    alike const a = roll.stages();
    std::int64_t const stages = roll(0, most_stages);
    chain_model const model{chain_of(a, stages, roll(0, 9)), "test"};
    std::int64_t const top = model.store_all_peak() + 2, step = std::max<std::int64_t>(1, top / budgets);
    for (bool const keeps_tapes : {true, false}) {
      brute::chain_recursion exact{model, keeps_tapes};
      for (std::int64_t budget = -1 + roll(0, step); budget <= top; budget += step) {
        CAPTURE(seed, stages, a.x, a.g, a.s, a.f, a.b, a.loss, budget, keeps_tapes);
        compare(model, budget, keeps_tapes, exact.extra_forward(0, stages, budget), sum);
      }
    }
  }
}
void compare_with_table(unsigned first_seed, unsigned count, int stages, tally& sum) {
  for (unsigned seed = first_seed; seed < first_seed + count; ++seed) {
    dice roll{seed};
    alike a = roll.stages();
    a.x = roll(1, 12), a.s = a.x + roll(0, 4 * a.x), a.u = 1;
    std::int64_t const budget =
        a.g + a.s + std::max(a.f, a.b) + roll(0, std::int64_t(std::sqrt(2.2 * double(stages * a.x * a.s))));
    CAPTURE(seed, stages, a.x, a.g, a.s, a.f, a.b, a.loss, budget);
    compare(chain_model{chain_of(a, stages), "test"}, budget, true, tabled_runs(a, stages, budget), sum);
  }
}

}  // namespace

TEST_CASE("chains of stages that are alike are recognised", "[plan][chain]") {
  alike const a{4, 5, 10, 1, 2, 3, 7};
  auto const is = [](chain const& c) { return is_uniform(chain_model{c, "test"}); };
  for (std::int64_t const stages : {0, 1, 2, 9}) CHECK(is(chain_of(a, stages)));
  chain const good = chain_of(a, 4);
  auto const spoilt = [&](auto spoil) {
    chain c = good;
    spoil(c);
    CHECK(!is(c));
  };
  spoilt([](chain& c) { ++c.x[4]; });
  spoilt([](chain& c) { ++c.g[4]; });
  spoilt([](chain& c) { ++c.s[3]; });
  spoilt([](chain& c) { ++c.f[1]; });
  spoilt([](chain& c) { ++c.b[3]; });
  spoilt([](chain& c) { ++c.b[0]; });
  spoilt([](chain& c) { ++c.u[2]; });
  chain c = good;
  c.x[0] = 90, c.g[0] = 80, c.b[4] = 70, c.v = {1, 2, 3, 4, 5};
  CHECK(is(c));
  CHECK(is(chains::make(chains::kind::uniform, 20, 1)));
  CHECK(!is(chains::make(chains::kind::random, 20, 1)));
}

TEST_CASE("chains of items cover what is wanted with the fewest items", "[plan][chain]") {
  int covers = 0, unproven = 0;
  for (unsigned seed = 1; seed <= 2'000; ++seed) {
    dice roll{seed};
    std::size_t const count = std::size_t(roll(1, 4));
    cairn::detail::value_list<std::int64_t> worth, heads;
    for (std::size_t i = 0; i < count; ++i) worth.push_back(roll(5, 9)), heads.push_back(roll(0, 2));
    // best[n]: the most worth of n items. Item i is taken at most as often as the one before and the chains that begin
    // with it.
    std::vector<std::int64_t> best(40, -1);
    auto const choose = [&](auto const& self, std::size_t i, std::int64_t before, std::int64_t items,
                            std::int64_t sum) -> void {
      if (i == count) {
        best[std::size_t(items)] = std::max(best[std::size_t(items)], sum);
        return;
      }
      for (std::int64_t times = 0; times <= before + heads[i]; ++times)
        self(self, i + 1, times, items + times, sum + times * worth[i]);
    };
    choose(choose, 0, 0, 0, 0);
    for (std::int64_t wanted = 1; wanted <= *std::max_element(best.begin(), best.end()) + 2; ++wanted) {
      auto const fewest = std::find_if(best.begin(), best.end(), [&](std::int64_t sum) { return sum >= wanted; });
      cairn::detail::chain_cover const cover{worth, heads, wanted};
      CAPTURE(seed, wanted);
      REQUIRE(cover.is_enough() == (fewest != best.end()));
      if (!cover.is_enough()) continue;
      std::int64_t items = 0, sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        std::int64_t const times = cover.taken()[i];
        REQUIRE(times >= 0);
        REQUIRE(times <= heads[i] + (i > 0 ? cover.taken()[i - 1] : 0));
        items += times;
        sum += times * worth[i];
      }
      CHECK(sum >= wanted);
      CHECK(items == fewest - best.begin());
      unproven += !cover.is_least();
      ++covers;
    }
  }
  CHECK(covers > 50'000);
  CHECK(unproven < covers / 20);
}

TEST_CASE("plans of uniform chains are the persistent optimum at every budget", "[plan][chain][long]") {
  tally sum;
  compare_with_recursion(1, 250, 12, 60, sum);
  CHECK(sum.feasible > 10'000);
  CHECK(sum.pairs > sum.feasible + 5'000);
  CHECK(sum.worse == 0);
  CHECK(sum.unproven <= sum.feasible / 1000);
}

TEST_CASE("plans of longer uniform chains are the optimum of all splits", "[plan][chain][long]") {
  tally sum;
  compare_with_table(1, 150, 150, sum);
  CHECK(sum.feasible > 100);
  CHECK(sum.worse == 0);
  CHECK(sum.unproven <= 2);
}

TEST_CASE("campaign over uniform chains", "[.soak][plan][chain]") {
  tally small, large;
  compare_with_recursion(10'000, 2'500, 14, 80, small);
  for (int const stages : {60, 200, 350}) compare_with_table(20'000, 1'500, stages, large);
  for (auto const* sum : {&small, &large})
    std::printf("%d pairs, %d feasible, %d not proven, %d worse than the optimum\n", sum->pairs, sum->feasible,
                sum->unproven, sum->worse);
}

TEST_CASE("no schedule of any kind is faster than where tapes all fit", "[plan][chain]") {
  alike const a{2, 2, 5, 1, 2, 3, 1};
  for (std::int64_t stages = 0; stages <= 5; ++stages) {
    chain const c = chain_of(a, stages);
    chain_model const model{c, "test"};
    brute::chain_search search{c};
    for (std::int64_t budget = 0; budget <= model.store_all_peak() + 1; ++budget) {
      auto const best = search.makespan(budget);
      auto const plan = uniform_plan(model, budget);
      CAPTURE(stages, budget);
      if (!best) CHECK(!plan);
      if (plan) CHECK(plan->extra_forward() + model.store_all_time() >= *best);
      if (budget >= model.store_all_peak()) CHECK(plan->extra_forward() == 0);
    }
  }
}

TEST_CASE("without kept tapes uniform chains take Revolve's advances", "[plan][chain][oracle]") {
  int rows = 0;
  for (auto const& row : csv::oracle("revolve_small.csv")) {
    int const steps = std::stoi(row.at("n")), slots = std::stoi(row.at("s"));
    chain_model const model{chain_of({1, 0, 1, 0, 0, 1, 1}, steps - 1), "test"};
    auto const plan = uniform_plan(model, slots + 1, false);
    CAPTURE(steps, slots);
    REQUIRE(plan);
    CHECK(plan->extra_forward() == std::stoll(row.at("min_advances")));
    CHECK(cairn::detail::replay(model, plan->actions(), {}, "test").extra_forward == plan->extra_forward());
    ++rows;
  }
  CHECK(rows > 100);
  for (std::int64_t const slots : {1, 3, 20, 1000})
    CHECK(
        uniform_plan(chain_model{chain_of({1, 0, 1, 0, 0, 1, 1}, 99'999), "test"}, slots + 1, false)->extra_forward() ==
        std::int64_t(cairn::revolve::advances(100'000, slots)));
}

TEST_CASE("a uniform chain of a million stages is planned without a table", "[plan][chain][long]") {
  std::int64_t const stages = 1'000'000;
  chain_model const model{chain_of({4, 4, 11, 1, 2, 3, 4}, stages), "test"};
  std::int64_t before = endless;
  for (std::int64_t const parts : {10'000, 1'000, 100, 3}) {
    std::int64_t const budget = model.store_all_peak() / parts;
    auto const plan = uniform_plan(model, budget);
    REQUIRE(plan);
    CAPTURE(parts);
    CHECK(plan->extra_forward() < before);
    before = plan->extra_forward();
    if (parts != 100) continue;
    auto const cost = cairn::detail::replay(model, plan->actions(), {}, "test");
    CHECK(cost.peak <= budget);
    CHECK(cost.extra_forward == plan->extra_forward());
  }
  // With room for one kept state only, runs are of the order of L^2; they are counted, not listed.
  CHECK(uniform_plan(model, 24)->extra_forward() > stages * stages);
}
