// SPDX-License-Identifier: Apache-2.0
// Chains of the largest sizes and budgets that there can be: no sum of theirs overflows. Undefined arithmetic ends this
// program.
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/chain/detail/slot_division.hpp>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "support/catch.hpp"

using cairn::chain;
using cairn::chain_method;
using cairn::chain_planner;

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// Stages whose bytes are nearly all that a chain may have together, alike or in any mixture.
chain large(std::mt19937_64& numbers, int stages, bool alike) {
  std::size_t const count = std::size_t(stages);
  std::int64_t const share = (std::int64_t{1} << 62) / std::int64_t(4 * (count + 2));
  auto const size = [&] { return share - std::int64_t(numbers() % (numbers() % 2 ? 1000 : std::uint64_t(share))); };
  chain c;
  std::int64_t const x = size() / 2, s = x + size() / 2, work = size();
  for (std::size_t i = 0; i <= count; ++i) c.x.push_back(alike ? x : size() / 2), c.b.push_back(alike ? work : size());
  for (std::size_t i = 0; i < count; ++i) {
    c.s.push_back(alike ? s : c.x[i + 1] + size() / 2);
    c.f.push_back(alike ? work : size());
    c.u.push_back(alike ? 3 : std::int64_t(numbers() % 100));
  }
  return c;
}

}  // namespace

TEST_CASE("a slot of a budget of 2^63-1 bytes has its size without overflow", "[plan][chain]") {
  cairn::detail::chain_model const model{{.x = {5, 3, 7}, .s = {9, 8}, .u = {1, 1}}, "test"};
  for (std::int64_t const budget : {most, most - 1, most / 2, most / 5 * 4, std::int64_t{0}})
    for (std::int64_t const slots : {0, 1, 2, 3, 1000}) {
      CAPTURE(budget, slots);
      auto const unit = cairn::detail::unit_of({.slots = slots}, model, budget, cairn::detail::rounding::up, "test");
      CHECK(unit >= 1);
      if (slots > 0) CHECK(budget / unit <= slots);
    }
}

TEST_CASE("the largest chains are planned within the largest budgets", "[plan][chain]") {
  std::mt19937_64 numbers{5};
  for (int round = 0; round < 40; ++round) {
    bool const alike = round % 2 == 0;
    chain const work = large(numbers, 1 + round % 9, alike);
    for (auto const by :
         {chain_method::automatic, chain_method::persistent, chain_method::slots, chain_method::non_persistent,
          chain_method::revolve, chain_method::sqrt, chain_method::greedy,
          chain_method::single_level, chain_method::store_all}) {
      if (by == chain_method::revolve && !alike) continue;
      chain_planner planner{work, {.by = by, .slots = round % 3 == 0 ? 0 : 1 + round % 7}};
      for (std::int64_t const budget :
           {most, most - 1, most / 2, planner.store_all_peak(), planner.store_all_peak() / 2,
            planner.store_all_peak() / 16, std::int64_t{0}, std::int64_t{-1}, -most - 1}) {
        CAPTURE(round, name_of(by), budget);
        try {
          auto const plan = planner.plan(budget);
          CHECK(plan.cost.peak <= budget);
          CHECK(plan.cost.makespan >= planner.store_all_time());
        } catch (cairn::infeasible_budget const&) {
          CHECK((round % 3 > 0 ||
                 budget < planner.least_bytes()));  // so few slots may fit no budget: then there is no least one
        } catch (cairn::invalid_plan const&) {
          // more slots than a table has
        }
      }
    }
  }
}
