// SPDX-License-Identifier: Apache-2.0
// Plans of one level: those of Chen et al., and the best of all.
#include <cairn/plan/chain/detail/chen.hpp>
#include <cairn/plan/chain/detail/single_level.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include <cairn/plan/chain/detail/slot_table.hpp>
#include <cairn/plan/chain/replay.hpp>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_search.hpp"

using cairn::chain;
using cairn::action;
using cairn::detail::chain_model;
using cairn::detail::chain_segment;
using namespace cairn::chain_actions;

namespace {

/// Calls f with every choice of segments.
void all_choices(std::int64_t stages, std::function<void(cairn::detail::value_list<chain_segment> const&)> const& f) {
  cairn::detail::value_list<chain_segment> again;
  std::function<void(std::int64_t)> const choose = [&](std::int64_t at) {
    if (at == stages) return f(again);
    choose(at + 1);
    for (std::int64_t last = at + 1; last <= stages; ++last) {
      again.push_back({at, last});
      choose(last);
      again.pop_back();
    }
  };
  choose(0);
}
/// Stages recorded before the loss, and runs that record nothing.
struct shape { std::int64_t first_records = 0, forwards = 0; };
shape shape_of(std::vector<action> const& plan) {
  shape seen;
  bool before = true;
  for (auto const& a : plan) {
    if (a.kind == cairn::action_kind::turn) before = false;
    if (a.kind == cairn::action_kind::record && before) ++seen.first_records;
    if (a.kind == cairn::action_kind::advance) ++seen.forwards;
  }
  return seen;
}

/// The same chain with working bytes that outweigh what is kept.
chain with_large_work(chain c, unsigned seed) {
  std::mt19937_64 numbers{seed};
  std::int64_t const most = 3 * *std::max_element(c.s.begin(), c.s.end());
  for (auto& bytes : c.f) bytes = numbers() % 2 ? 0 : std::int64_t(numbers() % std::uint64_t(most + 1));
  for (auto& bytes : c.b) bytes = numbers() % 2 ? 0 : std::int64_t(numbers() % std::uint64_t(most + 1));
  return c;
}

}  // namespace

TEST_CASE("segments of the square root run all but the last segment twice", "[plan][chain]") {
  struct row { int stages; std::int64_t kept; };
  // 10 stages: 3 segments of 3, 3 and 4; 7: of 2, 2 and 3; 12: three of 4.
  for (auto const& [stages, kept] : {row{0, 0}, row{1, 1}, row{2, 2}, row{3, 2}, row{4, 2}, row{7, 3}, row{9, 3},
                                     row{10, 4}, row{12, 4}, row{100, 10}}) {
    CAPTURE(stages);
    chain const c = chains::make(chains::kind::uniform, stages, 1);
    auto const plan = cairn::detail::chen_sqrt(chain_model{c, "test"});
    CHECK(shape_of(plan).first_records == kept);
    CHECK(cairn::replay(c, plan).extra_forward == 1000 * (stages - kept));
  }
}

TEST_CASE("greedy segments fit the budget and are the fastest of all closings", "[plan][chain][long]") {
  int fitting = 0;
  for (auto const of : chains::all_kinds)
    for (int stages = 0; stages <= 10; ++stages)
      for (unsigned seed = 0; seed < 4; ++seed) {
        chain const c =
            seed % 2 ? chains::with_odd_adjoints(chains::make(of, stages, seed), seed) : chains::make(of, stages, seed);
        chain_model const model{c, "test"};
        std::int64_t const top = model.store_all_peak();
        for (int part = 0; part <= 10; ++part) {
          std::int64_t const budget = top * part / 10;
          CAPTURE(chains::name_of(of), stages, seed, budget);
          auto const plan = cairn::detail::chen_greedy(model, budget);
          // Every stage count that could be the one where the first segment closes is among the closings, so all of
          // these are.
          std::optional<std::int64_t> best;
          std::vector<std::int64_t> closings{-1};
          for (std::size_t i = 0; i < c.s.size(); ++i)
            for (std::size_t j = i + 1; j <= c.s.size(); ++j) {
              std::int64_t sum = 0;
              for (std::size_t k = i; k < j; ++k) sum += c.s[k];
              closings.push_back(sum);
            }
          for (auto const most : closings) {
            auto const cost = cairn::replay(c, cairn::detail::chen_greedy_at(model, most));
            if (cost.peak <= budget && (!best || cost.makespan < *best)) best = cost.makespan;
          }
          REQUIRE(plan.has_value() == best.has_value());
          if (!plan) continue;
          ++fitting;
          auto const cost = cairn::replay(c, *plan);
          CHECK(cost.peak <= budget);
          CHECK(cost.makespan == *best);
        }
        REQUIRE(cairn::detail::chen_greedy(model, top));
        CHECK(cairn::replay(c, *cairn::detail::chen_greedy(model, top)).extra_forward == 0);
        CHECK(!cairn::detail::chen_greedy(model, -1));
      }
  CHECK(fitting > 800);
}

TEST_CASE("a long chain's greedy segments are found among few closings", "[plan][chain]") {
  for (auto const of : chains::large_kinds) {
    chain const c = chains::make(of, 400, 3);
    chain_model const model{c, "test"};
    std::int64_t const budget = model.store_all_peak() / 2;
    auto const plan = cairn::detail::chen_greedy(model, budget);
    CAPTURE(chains::name_of(of));
    REQUIRE(plan);
    CHECK(cairn::replay(c, *plan).peak <= budget);
    CHECK(cairn::replay(c, *plan).extra_forward < model.sum_u.back());
  }
}

TEST_CASE("the single level is the best of all choices of segments", "[plan][chain]") {
  int feasible = 0, infeasible = 0;
  for (auto const of : chains::all_kinds)
    for (int stages = 0; stages <= 7; ++stages)
      for (unsigned seed = 0; seed < 4; ++seed) {
        chain c = chains::make(of, stages, seed + 10);
        if (seed % 2) c = chains::with_odd_adjoints(c, seed);
        if (seed >= 2 && stages > 0) c = with_large_work(c, seed);
        if (seed == 3 && stages > 1) c.u[1] = 0, c.x[1] = 0;
        chain_model const model{c, "test"};
        struct point { std::int64_t peak, extra; };
        std::vector<point> known;
        all_choices(stages, [&](auto const& again) {
          auto const cost = cairn::replay(c, cairn::detail::segments_plan(model, again));
          known.push_back({cost.peak, cost.extra_forward});
        });
        std::int64_t const top = model.store_all_peak();
        for (std::int64_t part = -1; part <= 25; ++part) {
          std::int64_t const budget = top * part / 24;
          CAPTURE(chains::name_of(of), stages, seed, budget);
          std::optional<std::int64_t> best;
          for (auto const& one : known)
            if (one.peak <= budget && (!best || one.extra < *best)) best = one.extra;
          cairn::detail::single_level const found{model, budget};
          REQUIRE(found.feasible() == best.has_value());
          ++(best ? feasible : infeasible);
          if (!best) continue;
          CHECK(found.is_exact());
          CHECK(found.extra_forward() == *best);
          auto const cost = cairn::replay(c, found.actions());
          CHECK(cost.peak <= budget);
          CHECK(cost.extra_forward == *best);
        }
      }
  CHECK(feasible > 1500);
  CHECK(infeasible > 500);
}

TEST_CASE("a single level with few choices still keeps within the budget", "[plan][chain]") {
  for (auto const of : chains::large_kinds) {
    chain const c = chains::make(of, 60, 5);
    chain_model const model{c, "test"};
    for (int part = 3; part <= 9; part += 2) {
      std::int64_t const budget = model.store_all_peak() * part / 10;
      cairn::detail::single_level const best{model, budget, 100'000}, quick{model, budget, 16};
      CAPTURE(chains::name_of(of), part);
      REQUIRE(best.feasible() == quick.feasible());
      if (!best.feasible()) continue;
      CHECK(best.extra_forward() <= quick.extra_forward());
      auto const cost = cairn::replay(c, quick.actions());
      CHECK(cost.peak <= budget);
      CHECK(cost.extra_forward == quick.extra_forward());
      auto const greedy = cairn::detail::chen_greedy(model, budget);
      if (greedy && best.is_exact()) CHECK(best.extra_forward() <= cairn::replay(c, *greedy).extra_forward);
    }
  }
}

TEST_CASE("figures of one level against the persistent optimum", "[.soak][plan][chain]") {
  constexpr int stages = 100;
  for (auto const of : chains::large_kinds) {
    double sqrt_sum = 0, greedy_sum = 0, level_sum = 0;
    int sqrt_count = 0, greedy_count = 0, level_count = 0, exact = 0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      chain const c = chains::make(of, stages, seed);
      chain_model const model{c, "test"};
      double const base = double(model.store_all_time());
      for (int part = 2; part <= 8; ++part) {
        std::int64_t const budget = model.store_all_peak() * part / 10;
        cairn::detail::slot_table const table{model, budget, {.slots = 4000}, cairn::detail::rounding::up};
        if (!table.feasible()) continue;
        double const optimum = base + double(table.extra_forward());
        auto const root = cairn::replay(c, cairn::detail::chen_sqrt(model));
        if (root.peak <= budget) sqrt_sum += double(root.makespan) / optimum, ++sqrt_count;
        if (auto const plan = cairn::detail::chen_greedy(model, budget))
          greedy_sum += double(cairn::replay(c, *plan).makespan) / optimum, ++greedy_count;
        cairn::detail::single_level const level{model, budget};
        if (level.feasible())
          level_sum += (base + double(level.extra_forward())) / optimum, ++level_count, exact += level.is_exact();
      }
    }
    std::printf("%s: sqrt %.4f (%d), greedy %.4f (%d), single level %.4f (%d, exact %d) of 21\n",
                chains::name_of(of).data(), sqrt_sum / sqrt_count, sqrt_count, greedy_sum / greedy_count, greedy_count,
                level_sum / level_count, level_count, exact);
  }
}
