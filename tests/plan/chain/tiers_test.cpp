// SPDX-License-Identifier: Apache-2.0
// Plans that keep states on tiers, against a search over everything that a machine with tiers could do.
#include <cairn/plan/chain/detail/tiers.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include <cairn/plan/chain/replay.hpp>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_recursion.hpp"
#include "support/chain_oracles.hpp"

using cairn::chain;
using cairn::chain_tier;
using cairn::tier;
using cairn::detail::chain_model;
using cairn::detail::endless;
using cairn::detail::tier_chain_table;

namespace {

/// The least makespan with one tier, by Dijkstra's search over (adjoint, states in memory, tapes, states on the tier).
/// No recurrence, and not replay. \pre up to 5 stages
std::optional<std::int64_t> searched(chain_model const& c, std::int64_t budget, chain_tier const& far) {
  int const stages = int(c.stages);
  unsigned const all = (1u << stages) - 1;
  std::vector<std::int64_t> state_bytes(std::size_t(all) + 1), tape_bytes(std::size_t(all) + 1);
  for (unsigned set = 0; set <= all; ++set)
    for (int i = 0; i < stages; ++i)
      if (set >> i & 1u) state_bytes[set] += c.x[std::size_t(i) + 1], tape_bytes[set] += c.s[std::size_t(i)];
  // Bit i of the sets: state i+1 in memory, tape i, state i+1 on the tier.
  struct place { int adjoint; unsigned states, tapes, saved; };
  auto const number = [&](place at) {
    return ((((std::size_t(at.adjoint) << stages) | at.states) << stages | at.tapes) << stages) | at.saved;
  };
  std::vector<std::int64_t> best(std::size_t(stages + 2) << (3 * stages), endless);
  using entry = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<entry, std::vector<entry>, std::greater<>> next;
  auto const bytes = [&](place at) {
    return state_bytes[at.states] + tape_bytes[at.tapes] +
           (at.adjoint > 0 && at.adjoint <= stages ? c.g[std::size_t(at.adjoint)] : 0);
  };
  auto const reach = [&](std::int64_t time, place at) {
    if (bytes(at) > budget || time >= best[number(at)]) return;
    best[number(at)] = time;
    next.push({time, number(at)});
  };
  auto const time_of = [](std::vector<std::int64_t> const& list, int i) {
    return list.empty() ? 0 : list[std::size_t(i)];
  };
  reach(0, {stages + 1, 0, 0, 0});
  while (!next.empty()) {
    auto const [time, code] = next.top();
    next.pop();
    if (best[code] < time) continue;
    place const at{int(code >> (3 * stages)), unsigned(code >> (2 * stages)) & all, unsigned(code >> stages) & all,
                   unsigned(code) & all};
    if (at.adjoint == 0) return time;
    std::int64_t const held = bytes(at);
    auto const at_hand = [&](int i) { return i == 0 || ((at.states | at.tapes) >> (i - 1) & 1u); };
    for (int i = 0; i < stages; ++i) {
      unsigned const bit = 1u << i;
      std::size_t const k = std::size_t(i);
      if (at.states & bit) reach(time, {at.adjoint, at.states & ~bit, at.tapes, at.saved});
      if (at.tapes & bit) reach(time, {at.adjoint, at.states, at.tapes & ~bit, at.saved});
      if (at.saved & bit) {
        reach(time, {at.adjoint, at.states, at.tapes, at.saved & ~bit});
        reach(time + time_of(far.read, i + 1), {at.adjoint, at.states | bit, at.tapes, at.saved});
      } else if (at_hand(i + 1) && (far.bytes < 0 || state_bytes[at.saved | bit] <= far.bytes)) {
        reach(time + time_of(far.write, i + 1), {at.adjoint, at.states, at.tapes, at.saved | bit});
      }
      if (i >= at.adjoint || !at_hand(i)) continue;
      if (!(at.states & bit) && held + c.x[k + 1] + c.f[k] <= budget)
        reach(time + c.u[k], {at.adjoint, at.states | bit, at.tapes, at.saved});
      if (!(at.tapes & bit) && held + c.s[k] + c.f[k] <= budget)
        reach(time + c.u[k], {at.adjoint, at.states & ~bit, at.tapes | bit, at.saved});
    }
    int const i = at.adjoint - 1;
    bool const is_loss = i == stages;
    if (!is_loss && !(at.tapes >> i & 1u)) continue;
    if ((is_loss || !c.self_contained_tape) && !at_hand(i)) continue;
    if (held + c.b[std::size_t(i)] > budget) continue;
    place after{i, at.states, is_loss ? at.tapes : at.tapes & ~(1u << i), at.saved};
    if (is_loss ? i > 0 : true) after.states &= ~(1u << (is_loss ? i - 1 : i));
    if (i > 0 && !is_loss) after.states &= ~(1u << (i - 1));
    reach(time + c.v[std::size_t(i)], after);
  }
  return {};
}

chain_tier some_tier(std::int64_t stages, std::int64_t bytes, std::int64_t most_time, unsigned seed,
                     tier where = tier::disk) {
  std::mt19937_64 numbers{seed};
  chain_tier one{.where = where, .bytes = bytes};
  for (std::int64_t i = 0; i <= stages; ++i) {
    one.write.push_back(most_time == 0 ? 0 : std::int64_t(numbers() % std::uint64_t(most_time + 1)));
    one.read.push_back(most_time == 0 ? 0 : std::int64_t(numbers() % std::uint64_t(most_time + 1)));
  }
  return one;
}
/// Replays the plan of a feasible table; answers its cost.
cairn::chain_cost replayed(chain const& c, tier_chain_table const& table, std::int64_t budget,
                           std::vector<chain_tier> const& tiers) {
  auto const cost = cairn::replay(c, table.actions(), tiers);
  CHECK(cost.peak <= budget);
  CHECK(cost.makespan == table.makespan());
  return cost;
}

}  // namespace

TEST_CASE("without tiers the plan is the persistent optimum", "[plan][chain]") {
  for (auto const of : {chains::kind::tiny, chains::kind::with_input, chains::kind::uniform})
    for (int stages = 0; stages <= 8; ++stages)
      for (unsigned seed = 0; seed < 4; ++seed) {
        chain c = chains::make(of, stages, seed + 30);
        if (seed % 2) c = chains::with_odd_adjoints(c, seed);
        if (seed == 3 && stages > 0) c = chains::with_large_work(c, seed);
        chain_model const model{c, "test"};
        brute::chain_recursion exact{model};
        for (std::int64_t budget = -1; budget <= model.store_all_peak() + 1;
             budget += 1 + model.store_all_peak() / 16) {
          CAPTURE(chains::name_of(of), stages, seed, budget);
          tier_chain_table const table{model, budget, {}, {.unit = 1}};
          std::int64_t const wanted = exact.extra_forward(0, stages, budget);
          REQUIRE(table.feasible() == (wanted < endless));
          if (!table.feasible()) {
            CHECK(table.actions().empty());
            continue;
          }
          CHECK(table.makespan() == model.store_all_time() + wanted);
          replayed(c, table, budget, {});
        }
      }
}

TEST_CASE("with one tier machines are faster only where states go early, and never where the tier is free",
          "[plan][chain][long]") {
  int pairs = 0, equal = 0, only_searched = 0, transfers = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    int const stages = int(seed % 5);
    chain c = chains::make(seed % 2 ? chains::kind::tiny : chains::kind::with_input, stages, seed);
    if (seed % 3 == 0) c = chains::with_odd_adjoints(c, seed);
    if (seed % 5 == 0 && stages > 0) c = chains::with_large_work(c, seed);
    if (seed % 7 == 0) c.self_contained_tape = true;
    chain_model const model{c, "test"};
    std::int64_t all = 0;
    for (int i = 1; i <= stages; ++i) all += model.x[std::size_t(i)];
    for (std::int64_t const most_time : {0, 3, 20})
      for (std::int64_t const bytes : {std::int64_t{-1}, all / 3, all * 2 / 3}) {
        chain_tier const disk = some_tier(stages, bytes, most_time, seed);
        for (std::int64_t budget = 0; budget <= model.store_all_peak(); budget += 1 + model.store_all_peak() / 10) {
          CAPTURE(stages, seed, most_time, bytes, budget);
          tier_chain_table const table{model, budget, {disk}, {.unit = 1}};
          auto const best = searched(model, budget, disk);
          if (!best) {
            CHECK(!table.feasible());
            continue;
          }
          ++pairs;
          if (!table.feasible()) {
            ++only_searched;
            continue;
          }
          CHECK(table.makespan() >= *best);
          equal += table.makespan() == *best;
          if (most_time == 0 && bytes < 0) CHECK(table.makespan() == *best);
          transfers += replayed(c, table, budget, {disk}).transfer > 0;
        }
      }
  }
  CAPTURE(pairs, equal, only_searched, transfers);
  CHECK(pairs > 1000);
  CHECK(transfers > 50);
  CHECK(equal > pairs * 8 / 10);
  CHECK(only_searched < pairs / 50);
}

TEST_CASE("runs and loads beside a large adjoint are charged in full", "[plan][chain][long]") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    int const stages = 3 + int(seed % 4);
    chain const c = chains::with_bare_tapes(stages, seed);
    chain_model const model{c, "test"};
    brute::chain_recursion exact{model};
    chain_tier const free{.where = tier::host}, narrow = some_tier(stages, 4, 3, seed);  // room for one state
    for (std::int64_t budget = 0; budget <= 50; ++budget) {
      CAPTURE(seed, budget);
      tier_chain_table const none{model, budget, {}, {.unit = 1}}, gratis{model, budget, {free}, {.unit = 1}},
          one{model, budget, {narrow}, {.unit = 1}};
      std::int64_t const wanted = exact.extra_forward(0, stages, budget);
      REQUIRE(none.feasible() == (wanted < endless));
      if (none.feasible()) REQUIRE(none.makespan() == model.store_all_time() + wanted);
      if (gratis.feasible()) REQUIRE(replayed(c, gratis, budget, {free}).peak <= budget);
      if (one.feasible()) REQUIRE(replayed(c, one, budget, {narrow}).peak <= budget);
    }
  }
}

TEST_CASE("more tiers are never slower, and unlimited free ones leave only what cannot be taped",
          "[plan][chain][long]") {
  for (auto const of : {chains::kind::tiny, chains::kind::uniform, chains::kind::resnet, chains::kind::random})
    for (unsigned seed = 0; seed < 4; ++seed) {
      int const stages = 9;
      chain const c = chains::make(of, stages, seed);
      chain_model const model{c, "test"};
      std::int64_t all = 0, average = model.sum_u.back() / stages;
      for (int i = 1; i <= stages; ++i) all += model.x[std::size_t(i)];
      chain_tier const host = some_tier(stages, all / 3, average, seed, tier::host),
                       device = some_tier(stages, all / 4, average / 3, seed + 1, tier::device);
      chain_tier const disk = some_tier(stages, -1, 3 * average, seed + 2), free{.where = tier::disk};
      for (int part = 1; part <= 8; ++part) {
        std::int64_t const budget = model.store_all_peak() * part / 10;
        cairn::detail::slot_division const slots{.slots = 100};
        tier_chain_table const none{model, budget, {}, slots}, one{model, budget, {host}, slots},
            two{model, budget, {host, disk}, slots}, three{model, budget, {device, host, disk}, slots, 5},
            gratis{model, budget, {free}, slots};
        CAPTURE(chains::name_of(of), seed, part);
        auto const time = [](tier_chain_table const& table) { return table.feasible() ? table.makespan() : endless; };
        CHECK(time(one) <= time(none));
        CHECK(time(two) <= time(one));
        CHECK(time(gratis) <= time(two));
        if (none.feasible()) replayed(c, none, budget, {});
        if (one.feasible()) replayed(c, one, budget, {host});
        if (two.feasible()) replayed(c, two, budget, {host, disk});
        if (three.feasible()) replayed(c, three, budget, {device, host, disk});
        if (!gratis.feasible()) continue;
        // With every state on the tier for nothing, no stage is run a third time.
        auto const cost = replayed(c, gratis, budget, {free});
        CHECK(cost.extra_forward <= model.sum_u.back());
      }
    }
}

TEST_CASE("a tier of few bytes holds no more than these", "[plan][chain]") {
  // Replay refuses a plan that keeps more. The unit divides all sizes here, so that the limit is used to the last byte.
  chain const c = chains::make(chains::kind::uniform, 8, 1);
  chain_model const model{c, "test"};
  std::int64_t before = endless;
  for (std::int64_t bytes = 0; bytes <= 32; ++bytes) {
    chain_tier const host{.where = tier::host, .bytes = bytes};
    tier_chain_table const table{model, 20, {host}, {}};
    REQUIRE(table.feasible());
    replayed(c, table, 20, {host});
    CHECK(table.makespan() <= before);
    if (bytes % 4 != 0) CHECK(table.makespan() == before);
    else if (bytes <= 8) CHECK(table.makespan() < before);
    before = table.makespan();
  }
}

TEST_CASE("tiers and divisions that cannot be are refused", "[plan][chain]") {
  chain const c = chains::make(chains::kind::tiny, 6, 1);
  chain_model const model{c, "test"};
  auto const refused = [&](std::vector<chain_tier> tiers, cairn::detail::slot_division division = {},
                           std::int64_t tier_slots = 0) {
    CHECK_THROWS_AS(tier_chain_table(model, 20, tiers, division, tier_slots), cairn::invalid_plan);
  };
  refused({{.where = tier::memory}});
  refused({{.where = tier::disk}, {.where = tier::disk}});
  refused({{.where = tier::disk, .write = {1, 2}}});
  refused({{.where = tier::disk, .read = {1, 1, 1, 1, 1, 1, -1}}});
  refused({}, {.slots = -1});
  refused({{.where = tier::disk, .bytes = 3}}, {}, -1);
  chain const large = chains::make(chains::kind::random, 100, 1);
  chain_model const many{large, "test"};
  CHECK_THROWS_AS(tier_chain_table(many, std::int64_t{1} << 30, {}, {.slots = 1 << 20}), cairn::invalid_plan);
}
