// SPDX-License-Identifier: Apache-2.0
// Plans whose tapes live only during their own adjoint, against Revolve and a search over all machines that may do no
// more.
#include <cairn/plan/chain/detail/own_tapes.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include <cairn/plan/chain/replay.hpp>
#include <cairn/schedule/revolve.hpp>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_recursion.hpp"
#include "support/csv.hpp"

using cairn::chain;
using cairn::detail::chain_model;
using cairn::detail::endless;
using cairn::detail::own_tape_table;
using cairn::detail::rounding;

namespace {

/// The least extra forward time of any machine that keeps states as it likes and records a stage only to run its
/// adjoint next. No recurrence.
std::optional<std::int64_t> searched(chain_model const& c, std::int64_t budget) {
  using place = std::pair<std::int64_t, unsigned>;  // the state whose adjoint lives, the states kept (bit i: state i)
  using entry = std::pair<std::int64_t, place>;
  std::priority_queue<entry, std::vector<entry>, std::greater<>> next;
  std::map<place, std::int64_t> best;
  auto const bytes = [&](place at) {
    std::int64_t sum = at.first > 0 && at.first <= c.stages ? c.g[std::size_t(at.first)] : 0;
    for (std::size_t i = 1; i <= std::size_t(c.stages); ++i) sum += (at.second >> i & 1u) ? c.x[i] : 0;
    return sum;
  };
  auto const reach = [&](std::int64_t time, place at) {
    auto const [found, fresh] = best.try_emplace(at, time);
    if (!fresh && found->second <= time) return;
    found->second = time;
    next.push({time, at});
  };
  reach(0, {c.stages + 1, 1u});
  while (!next.empty()) {
    auto const [time, at] = next.top();
    next.pop();
    if (best[at] < time) continue;
    if (at.first == 0) return time - c.sum_u.back();
    std::int64_t const held = bytes(at);
    for (std::size_t i = 0; i <= std::size_t(c.stages); ++i) {
      if (!(at.second >> i & 1u)) continue;
      if (i > 0) reach(time, {at.first, at.second & ~(1u << i)});
      bool const is_loss = i == std::size_t(c.stages);
      if (!is_loss && std::int64_t(i) + 1 < at.first && !(at.second >> (i + 1) & 1u) &&
          held + c.x[i + 1] + c.f[i] <= budget)
        reach(time + c.u[i], {at.first, at.second | 2u << i});
      if (at.first != std::int64_t(i) + 1) continue;
      // The state after the stage may be kept beside the tape for nothing, so it has been dropped if that matters.
      if (held + (is_loss ? c.b[i] : c.s[i] + std::max(c.f[i], c.b[i])) <= budget)
        reach(time + c.u[i], {std::int64_t(i), at.second & ((1u << i) | ((1u << i) - 1))});
    }
  }
  return {};
}

}  // namespace

TEST_CASE("with sizes and times of one, own tapes take Revolve's advances", "[plan][chain][oracle]") {
  // The loss stands for Revolve's last step, and the live state and its record each for a byte.
  auto const unit_chain = [](int stages) {
    std::size_t const count = std::size_t(stages);
    chain c{.x = std::vector<std::int64_t>(count + 1, 1),
            .g = std::vector<std::int64_t>(count + 1, 0),
            .s = std::vector<std::int64_t>(count, 1),
            .u = std::vector<std::int64_t>(count, 1)};
    c.b.assign(count + 1, 0);
    c.b.back() = 1;
    return c;
  };
  int rows = 0;
  for (auto const& row : csv::oracle("revolve_small.csv")) {
    int const steps = std::stoi(row.at("n")), slots = std::stoi(row.at("s"));
    if (steps > 40) continue;
    chain const c = unit_chain(steps - 1);
    chain_model const model{c, "test"};
    own_tape_table const table{model, slots + 1};
    CAPTURE(steps, slots);
    CHECK(table.is_exact());
    CHECK(table.extra_forward() == std::stoll(row.at("min_advances")));
    CHECK(cairn::replay(c, table.actions()).extra_forward == table.extra_forward());
    ++rows;
  }
  CHECK(rows > 100);
  for (int const slots : {1, 2, 3, 7}) {
    chain const c = unit_chain(99);
    chain_model const model{c, "test"};
    CHECK(own_tape_table(model, slots + 1).extra_forward() ==
          std::int64_t(cairn::revolve(100, slots).counts().advances));
  }
}

TEST_CASE("own tapes are the optimum of the recurrence in bytes, and plans replay as predicted",
          "[plan][chain][long]") {
  int feasible = 0, infeasible = 0;
  for (auto const of : chains::all_kinds)
    for (int stages = 0; stages <= 9; ++stages)
      for (unsigned seed = 0; seed < 5; ++seed) {
        chain c = chains::make(of, stages, seed + 20);
        if (seed == 1) c = chains::with_odd_adjoints(c, seed);
        if (seed >= 3 && stages > 0) c = chains::with_large_work(chains::with_odd_adjoints(c, seed), seed);
        if (seed == 2 && stages > 1) c.u[0] = 0, c.x[2] = 0, c.s[1] = 0;
        chain_model const model{c, "test"};
        brute::chain_recursion exact{model, false};
        std::int64_t const top = model.store_all_peak();
        for (std::int64_t part = -1; part <= 20; ++part) {
          std::int64_t const budget = part == 20 ? 2 * top : top * part / 20;
          CAPTURE(chains::name_of(of), stages, seed, budget);
          std::int64_t const wanted = exact.extra_forward(0, stages, budget);
          ++(wanted < endless ? feasible : infeasible);
          own_tape_table const up{model, budget, {.slots = 600}}, down{model, budget, {.slots = 600}, rounding::down};
          CHECK(down.extra_forward() <= wanted);
          CHECK(up.extra_forward() >= wanted);
          if (up.is_exact()) CHECK(up.extra_forward() == wanted);
          if (down.is_exact()) CHECK(down.extra_forward() == wanted);
          CHECK(up.feasible() == (up.extra_forward() < endless));
          if (!up.feasible()) {
            CHECK(up.actions().empty());
            continue;
          }
          auto const cost = cairn::replay(c, up.actions());
          CHECK(cost.peak <= budget);
          CHECK(cost.extra_forward == up.extra_forward());
        }
      }
  CHECK(feasible > 1500);
  CHECK(infeasible > 500);
}

TEST_CASE("no machine that records a stage only for its own adjoint is faster by much", "[plan][chain]") {
  // The search may also let states go early and make them again, which no plan of one split a stretch does; it is
  // seldom of use.
  int equal = 0, pairs = 0;
  for (auto const of : {chains::kind::tiny, chains::kind::with_input, chains::kind::uniform})
    for (int stages = 0; stages <= 6; ++stages)
      for (unsigned seed = 0; seed < 6; ++seed) {
        chain c = chains::make(of, stages, seed);
        if (seed % 2) c = chains::with_odd_adjoints(c, seed);
        if (seed >= 4 && stages > 0) c = chains::with_large_work(c, seed);
        chain_model const model{c, "test"};
        for (std::int64_t budget = 0; budget <= model.store_all_peak(); budget += 1 + model.store_all_peak() / 12) {
          CAPTURE(chains::name_of(of), stages, seed, budget);
          own_tape_table const table{model, budget, {.unit = 1}};
          auto const best = searched(model, budget);
          if (!best) {
            CHECK(!table.feasible());
            continue;
          }
          ++pairs;
          equal += table.extra_forward() == *best;
          CHECK(table.extra_forward() >= *best);
          if (stages <= 2) CHECK(table.extra_forward() == *best);
        }
      }
  CAPTURE(pairs, equal);
  CHECK(pairs > 400);
  CHECK(equal > pairs * 95 / 100);
}

TEST_CASE("runs again beside a large adjoint are charged in full", "[plan][chain][long]") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    int const stages = 3 + int(seed % 3);
    chain const c = chains::with_bare_tapes(stages, seed);
    chain_model const model{c, "test"};
    brute::chain_recursion exact{model, false};
    for (std::int64_t budget = 0; budget <= 50; ++budget) {
      CAPTURE(seed, budget);
      own_tape_table const table{model, budget, {.unit = 1}};
      REQUIRE(table.extra_forward() == exact.extra_forward(0, stages, budget));
      if (table.feasible()) REQUIRE(cairn::replay(c, table.actions()).peak <= budget);
    }
  }
}

TEST_CASE("coarse slots keep within the budget and bound each other", "[plan][chain]") {
  for (auto const of : chains::large_kinds) {
    chain const c = chains::make(of, 40, 7);
    chain_model const model{c, "test"};
    for (int part = 1; part <= 6; part += 2) {
      std::int64_t const budget = model.store_all_peak() * part / 10;
      CAPTURE(chains::name_of(of), part);
      own_tape_table const coarse{model, budget, {.slots = 60}}, fine{model, budget, {.slots = 1000}},
          bound{model, budget, {.slots = 1000}, rounding::down};
      CHECK(bound.extra_forward() <= fine.extra_forward());
      for (auto const* table : {&coarse, &fine}) {
        if (!table->feasible()) continue;
        auto const cost = cairn::replay(c, table->actions());
        CHECK(cost.peak <= budget);
        CHECK(cost.extra_forward == table->extra_forward());
        CHECK(table->extra_forward() >= bound.extra_forward());
      }
    }
  }
  chain const c = chains::make(chains::kind::random, 30, 1);
  chain_model const model{c, "test"};
  CHECK_THROWS_AS(own_tape_table(model, 1000, {.unit = -1}), cairn::invalid_plan);
  CHECK_THROWS_AS(own_tape_table(model, 1000, {.slots = -1}), cairn::invalid_plan);
  CHECK_THROWS_AS(own_tape_table(model, std::int64_t{1} << 28, {.unit = 8}), cairn::invalid_plan);
}
