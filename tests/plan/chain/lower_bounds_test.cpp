// SPDX-License-Identifier: Apache-2.0
// Bounds for every schedule of a chain, against the search over all of them.
#include <cairn/plan/chain/detail/lower_bounds.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_oracles.hpp"
#include "support/chain_search.hpp"

using cairn::chain;
using cairn::detail::chain_model;
using cairn::detail::extra_forward_bound;
using cairn::detail::least_peak_bound;

namespace {

struct tightness {
  int pairs = 0, recomputing = 0;
  double sum = 0;  // of bound / optimum, where something is run again
};

/// Random chains of up to `most_stages` stages at random budgets, bounds against the fastest of all schedules.
void compare_with_all_schedules(tightness& seen, chains::kind of, bool self_contained, bool odd_adjoints,
                                int most_stages, unsigned seed) {
  std::mt19937_64 numbers{seed};
  chain c = chains::make(of, 1 + int(numbers() % unsigned(most_stages)), seed);
  if (odd_adjoints) c = chains::with_odd_adjoints(c, seed);
  if (of == chains::kind::tiny &&
      seed % 3 == 0)  // stages without time, tapes that are no more than the output, states without bytes
    for (std::size_t i = 0; i < c.s.size(); ++i) {
      if (numbers() % 3 == 0) c.u[i] = 0;
      if (numbers() % 4 == 0) c.x[i + 1] = 0;
      if (numbers() % 3 == 0) c.s[i] = c.x[i + 1];
    }
  c.self_contained_tape = self_contained;
  chain_model const model{c, "test"};
  brute::chain_search search{c};
  std::int64_t const enough = model.store_all_peak(), least = least_peak_bound(model);
  CAPTURE(chains::name_of(of), seed, self_contained, odd_adjoints, c.stages(), enough);
  REQUIRE(least <= enough);
  if (least > 0) REQUIRE(!search.makespan(least - 1));
  for (int k = 0; k < 5; ++k) {
    std::int64_t const budget = least + std::int64_t(numbers() % std::uint64_t(enough - least + 1));
    auto const fastest = search.makespan(budget);
    if (!fastest) continue;
    std::int64_t const again = *fastest - model.store_all_time();
    for (std::int64_t const effort : {4'000'000, 40, 0}) {
      std::int64_t const bound = extra_forward_bound(model, budget, effort);
      CAPTURE(budget, effort);
      REQUIRE(bound >= 0);
      REQUIRE(bound <= again);
      if (effort < 4'000'000) continue;
      ++seen.pairs;
      if (again > 0) ++seen.recomputing, seen.sum += double(bound) / double(again);
    }
  }
}

/// The bound once more, word for word and slowly: every subset of tapes instead of a knapsack, every source.
std::int64_t slow_bound(chain_model const& c, std::int64_t budget) {
  int const stages = int(c.stages);
  auto const at = [](int i) { return std::size_t(i); };
  auto const kept = [&](int from, int to, std::int64_t room) {
    std::int64_t most = 0;
    for (unsigned set = 0; set < 1u << std::max(0, to - from); ++set) {
      std::int64_t bytes = 0, time = 0;
      for (int i = from; i < to; ++i)
        if (set >> (i - from) & 1u) bytes += c.s[at(i)], time += c.u[at(i)];
      if (bytes <= room) most = std::max(most, time);
    }
    return most;
  };
  std::vector<std::int64_t> again(at(stages) + 1);
  for (int a = 1; a <= stages; ++a)
    for (int b = 0; b < a; ++b) {
      std::optional<std::int64_t> least;
      auto const consider = [&](std::int64_t time) { least = least ? std::min(*least, time) : time; };
      bool const is_loss = a == stages, needs_state = is_loss || !c.self_contained_tape;
      std::int64_t const room = budget - (is_loss ? c.b[at(a)] : c.s[at(a)] + c.g[at(a) + 1] + c.b[at(a)]);
      for (int in_tape = 0; in_tape <= int(needs_state); ++in_tape) {
        int const end = a - in_tape;
        std::int64_t const free = room - (!needs_state ? 0 : in_tape ? c.s[at(a) - 1] : c.x[at(a)]);
        if (free < 0) continue;
        if (b == end) {
          consider(0);
          continue;
        }
        if (c.s[at(b)] <= free) consider(c.run(b + 1, end) - kept(b + 1, end, free - c.s[at(b)]));
        for (int k = 0; k <= b; ++k)
          if (std::int64_t const state = k > 0 ? c.x[at(k)] : 0; state <= free)
            consider(c.run(k, end) - kept(b + 1, end, free - state));
      }
      again[at(a)] = std::max(again[at(a)], again[at(b)] + least.value_or(0));
    }
  return again.back();
}

}  // namespace

TEST_CASE("bounds on peak and time agree with the oracles of chains", "[plan][chain][oracle][long]") {
  for (auto const& known : chains::oracles()) {
    chain_model const model{known.chain, "test"};
    CAPTURE(known.name);
    CHECK(least_peak_bound(model) == known.lb_peak_any_schedule);
    for (auto const& row : known.rows) {
      CAPTURE(row.budget);
      std::int64_t const bound = extra_forward_bound(model, row.budget);
      CHECK(double(bound) >= row.lb_recompute_any - 1e-6);
      CHECK(known.no_checkpoint_makespan + bound <= row.opt_persistent);
      if (row.opt_any_schedule) CHECK(known.no_checkpoint_makespan + bound <= *row.opt_any_schedule);
    }
  }
}

TEST_CASE("no schedule is faster than its bound, nor lower", "[plan][chain][long]") {
  tightness plain, self_contained;
  for (unsigned seed = 1; seed <= 60; ++seed)
    for (bool const odd : {false, true})
      for (auto const of : {chains::kind::tiny, chains::kind::with_input, chains::kind::random}) {
        compare_with_all_schedules(plain, of, false, odd, 5, seed);
        compare_with_all_schedules(self_contained, of, true, odd, 5, seed);
      }
  CHECK(plain.recomputing > 500);
  CHECK(plain.sum / plain.recomputing > 0.8);
  CHECK(self_contained.sum / self_contained.recomputing > 0.6);
}

TEST_CASE("no schedule of thousands of chains is faster than its bound", "[.soak][plan][chain]") {
  for (bool const flag : {false, true}) {
    tightness seen;
    for (unsigned seed = 1; seed <= 100; ++seed)
      for (bool const odd : {false, true})
        for (auto const of : chains::all_kinds) compare_with_all_schedules(seen, of, flag, odd, 6, 1000 + seed);
    WARN((flag ? "self-contained tapes: " : "plain: ")
         << seen.pairs << " pairs, bound / optimum " << seen.sum / seen.recomputing << " in the mean of "
         << seen.recomputing);
  }
}

TEST_CASE("the bound is the one its argument describes", "[plan][chain]") {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    std::mt19937_64 numbers{seed};
    chain c = chains::make(seed % 2 ? chains::kind::tiny : chains::kind::random, 1 + int(numbers() % 9), seed);
    if (seed % 3 == 0) c = chains::with_odd_adjoints(c, seed);
    c.self_contained_tape = seed % 5 < 2;
    chain_model const model{c, "test"};
    std::int64_t const least = least_peak_bound(model), enough = model.store_all_peak();
    CAPTURE(seed, c.stages());
    for (std::int64_t k = 0; k < 8; ++k) {
      std::int64_t const budget = least + (enough - least) * k / 8;
      if (budget < enough) CHECK(extra_forward_bound(model, budget) == slow_bound(model, budget));
    }
  }
}

TEST_CASE("less effort and less memory never lower and raise a bound", "[plan][chain][long]") {
  for (auto const of : chains::large_kinds)
    for (bool const flag : {false, true}) {
      chain c = chains::make(of, 40, 3);
      c.self_contained_tape = flag;
      chain_model const model{c, "test"};
      std::int64_t before = std::numeric_limits<std::int64_t>::max();
      CAPTURE(chains::name_of(of), flag);
      for (int percent = 5; percent <= 105; percent += 5) {
        std::int64_t const budget = model.store_all_peak() / 100 * percent;
        if (budget < least_peak_bound(model)) continue;
        std::int64_t const relaxed = extra_forward_bound(model, budget, 0),
                           closer = extra_forward_bound(model, budget, 40'000'000);
        CHECK(relaxed <= closer);
        CHECK(relaxed <= before);
        before = relaxed;
      }
      CHECK(before == 0);
    }
}

TEST_CASE("the stage that binds is named with its parts", "[plan][chain]") {
  chain c{.x = {9, 4, 2}, .g = {9, 5, 3}, .s = {6, 7}, .f = {1, 2}, .b = {3, 2, 1}, .u = {10, 20}, .v = {30, 40, 50}};
  auto const need = cairn::detail::binding_need(chain_model{c, "test"});
  CHECK(need.stage == 1);
  CHECK(need.is_backward);
  CHECK(need.state == 4);
  CHECK(need.tape == 7);
  CHECK(need.adjoint == 3);
  CHECK(need.work == 2);
  CHECK(need.bytes == 16);
  c.self_contained_tape = true;
  auto const recorded = cairn::detail::binding_need(chain_model{c, "test"});
  CHECK(recorded.bytes ==
        14);  // the adjoint of stage 0, without a state, just as much as the recorded run of stage 1 and no later
  CHECK(recorded.stage == 0);
  CHECK(recorded.is_backward);
  c.b[2] = 100;
  auto const at_loss = cairn::detail::binding_need(chain_model{c, "test"});
  CHECK(at_loss.stage == 2);
  CHECK(at_loss.is_backward);
  CHECK(at_loss.bytes == 102);
  CHECK(at_loss.bytes == at_loss.state + at_loss.tape + at_loss.adjoint + at_loss.work);
}

TEST_CASE("bounds of chains without stages, times or bytes are finite", "[plan][chain]") {
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  chain const none{.x = {7}, .s = {}, .b = {5}, .u = {}, .v = {3}};
  chain const free{.x = {0, 0, 0, 0}, .s = {0, 0, 0}, .u = {5, 0, 7}};
  chain const still{.x = {1, 2, 3}, .s = {4, 5}, .u = {0, 0}};
  chain const wide{.x = {1, std::int64_t{1} << 58, std::int64_t{1} << 58},
                   .s = {std::int64_t{1} << 59, std::int64_t{1} << 58},
                   .u = {std::int64_t{1} << 58, std::int64_t{1} << 59}};
  for (auto const& c : {none, free, still, wide})
    for (std::int64_t const budget :
         {-far - 1, std::int64_t{-1}, std::int64_t{0}, std::int64_t{5}, std::int64_t{8}, std::int64_t{1} << 60, far}) {
      chain_model const model{c, "test"};
      std::int64_t const bound = extra_forward_bound(model, budget);
      CHECK(bound >= 0);
      CHECK(bound <= model.run(0, model.stages) * model.stages);
      if (budget >= model.store_all_peak()) CHECK(bound == 0);
    }
  CHECK(least_peak_bound(chain_model{none, "test"}) == 5);
  CHECK(least_peak_bound(chain_model{free, "test"}) == 0);
}

TEST_CASE("a knapsack is worth what its best subset is", "[plan][chain]") {
  std::mt19937_64 numbers{5};
  for (int round = 0; round < 400; ++round) {
    cairn::detail::value_list<cairn::detail::knapsack_item> items(std::size_t(numbers() % 11));
    for (auto& item : items) item = {std::int64_t(numbers() % 8), std::int64_t(numbers() % 8)};
    std::stable_sort(items.begin(), items.end(), cairn::detail::denser);
    std::int64_t const room = std::int64_t(numbers() % 40);
    std::int64_t best = 0;
    for (unsigned set = 0; set < 1u << items.size(); ++set) {
      std::int64_t bytes = 0, value = 0;
      for (std::size_t i = 0; i < items.size(); ++i)
        if (set >> i & 1u) bytes += items[i].weight, value += items[i].value;
      if (bytes <= room) best = std::max(best, value);
    }
    cairn::detail::knapsack const all{items, room};
    cairn::detail::growing_knapsack growing{items};
    for (std::size_t place = items.size(); place-- > 0;) growing.add(place);
    CHECK(all.relaxed() >= best);
    CHECK(growing.relaxed(room) >= all.relaxed());
    CHECK(growing.relaxed(room) <= best + growing.largest());
    std::int64_t effort = 10'000;
    CHECK(all.most(effort) == best);
    std::int64_t none = 0, little = 3, plenty = 10'000;
    CHECK(all.most(none) >= best);
    CHECK(growing.most(room, little) >= best);
    CHECK(growing.most(room, plenty) == best);
  }
}
