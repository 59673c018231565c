// SPDX-License-Identifier: Apache-2.0
#include <cairn/schedule/fingerprint.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/graph/graph_plan.hpp>
#include <cairn/plan/text/actions_csv.hpp>
#include <cairn/schedule/detail/plan_numbers.hpp>
#include "support/catch.hpp"
#include "support/plans.hpp"

using namespace cairn;

namespace {

constexpr step_index longest = std::numeric_limits<step_index>::max();

/// a * b modulo 2^127 - 1 by doubling, with none of the library's arithmetic.
wide slow_product(wide a, wide b) {
  constexpr wide prime = (wide{1} << 127) - 1;
  wide sum = 0;
  for (int bit = 126; bit >= 0; --bit) {
    sum = sum * 2 % prime;
    if (b >> bit & 1) sum = (sum + a) % prime;
  }
  return sum;
}

/// Hands over each plan of many kinds for loops of up to `longest_loop` steps, as an any_schedule.
template <class See>
void each_plan(step_index longest_loop, slot_index most_slots, See see) {
  for (step_index n = 0; n <= longest_loop; ++n) {
    for (slot_index s = 1; s <= most_slots; ++s) {
      see(any_schedule{revolve{n, s}});
      see(any_schedule{revolve{n, s - 1, {.free_initial = true}}});
      see(any_schedule{online{s}.stopping_at(n)});
      see(any_schedule{multistage{n, s, 2}});
      see(any_schedule{hrevolve{n, {{.slots = s}, {.slots = 2, .write = 2, .read = 1}}}});
      see(any_schedule{disk_revolve{n, s, {.disk_write = 3, .disk_read = 2}}});
      see(any_schedule{mixed{n, s, {.tape_units = 2}}});
      see(any_schedule{bptt{n, s, {.tape_units = 2}}});
      see(any_schedule{runge_kutta{n, s, {.stages = 2}}});
      see(any_schedule{two_level{n, s, 2}});
      see(any_schedule{two_level{n, s + 3, s - 1, {.periods_on = tier::host, .extra_on = tier::device}}});
      if (s <= std::max<step_index>(n, 1)) see(any_schedule{uniform{n, {.block = s}}});
      if (s <= n) see(any_schedule{uniform{n, {.checkpoints = s}}});
      for (step_index const k : {2, 3}) see(any_schedule{leaves{n, k, revolve{(n + k - 1) / k, s}}});
    }
    see(any_schedule{store_all(n)});
    see(any_schedule{all_tapes(n)});
  }
}

struct key_spread {
  std::size_t operator()(std::pair<std::uint64_t, std::uint64_t> const& key) const noexcept {
    return std::size_t(key.first ^ key.second);
  }
};

/// All plans of `each_plan`: those with equal fingerprints have equal actions, and the other way round. Returns how
/// many pairs of different plans were compared.
wide compared_pairs(step_index longest_loop, slot_index most_slots) {
  std::unordered_map<std::string, plan_fingerprint> by_actions;
  std::unordered_map<std::pair<std::uint64_t, std::uint64_t>, std::string, key_spread> by_print;
  each_plan(longest_loop, most_slots, [&](any_schedule const& plan) {
    std::string actions;
    detail::each_action(plan, [&](action const& a) {
      for (std::int64_t const part : {std::int64_t(a.kind), std::int64_t(a.where), std::int64_t(a.what), a.slot, a.from,
                                      a.to})
        actions.append(reinterpret_cast<char const*>(&part), sizeof part);
    });
    auto const print = fingerprint(plan);
    auto const [with_actions, is_new] = by_actions.try_emplace(actions, print);
    REQUIRE(with_actions->second == print);
    auto const [with_print, is_new_print] = by_print.try_emplace(std::pair{print.high, print.low}, actions);
    REQUIRE(with_print->second == actions);
    REQUIRE(is_new == is_new_print);
  });
  return wide(by_actions.size()) * (by_actions.size() - 1) / 2;
}

}  // namespace

TEST_CASE("residues are those modulo 2^127 - 1", "[schedule][fingerprint]") {
  constexpr wide prime = (wide{1} << 127) - 1;
  std::vector<wide> const numbers{0, 1, 2, prime - 1, prime - 2, prime / 2, wide{1} << 64, (wide{1} << 64) - 1,
                                  wide{1} << 63, detail::hash_point.value(), detail::hash_to.value()};
  auto const residue_of = [](wide number) {
    return detail::residue{std::uint64_t(number >> 64), std::uint64_t(number)};
  };
  for (wide const a : numbers)
    for (wide const b : numbers) {
      REQUIRE((residue_of(a) * residue_of(b)).value() == slow_product(a, b));
      REQUIRE((residue_of(a) + residue_of(b)).value() == (a + b) % prime);
    }
  REQUIRE((detail::residue{-1} + detail::residue{1}).value() == 0);
  REQUIRE((detail::residue{std::numeric_limits<std::int64_t>::min()} + detail::residue{longest} + detail::residue{1})
              .value() == 0);
}

TEST_CASE("plans of different makers with the same actions have the same fingerprint", "[schedule][fingerprint]") {
  each_plan(14, 4, [](any_schedule const& plan) {
    auto const print = fingerprint(plan);
    auto const all = actions_of(plan);
    REQUIRE(fingerprint(action_list_from(plan)) == print);
    REQUIRE(fingerprint(all.data(), all.size()) == print);
    REQUIRE(fingerprint(all.data(), all.size() - 1) == print);  // without `done`
    REQUIRE(fingerprint(verified{plan}) == print);
    REQUIRE(fingerprint(read_actions_csv(actions_csv(plan))) == print);
  });
  REQUIRE(fingerprint(verified{revolve{500, 6}}) == fingerprint(revolve{500, 6}));
  REQUIRE(fingerprint(store_all(5'000)) == fingerprint(revolve{5'000, 5'000}));
  REQUIRE(fingerprint(leaves{longest, longest, revolve{1, 1}}) == fingerprint(leaves{longest, longest, uniform{1}}));
}

TEST_CASE("a fingerprint is over each member of each action", "[schedule][fingerprint]") {
  auto const all = actions_of(revolve{12, 3});
  auto const print = fingerprint(all.data(), all.size());
  for (std::size_t k = 0; k + 1 < all.size(); ++k) {
    auto const differs = [&](auto change) {
      auto other = all;
      change(other[k]);
      return !(fingerprint(other.data(), other.size()) == print);
    };
    REQUIRE(differs([](action& a) { ++a.slot; }));
    REQUIRE(differs([](action& a) { ++a.from; }));
    REQUIRE(differs([](action& a) { --a.to; }));
    REQUIRE(differs([](action& a) { a.where = tier::disk; }));
    REQUIRE(differs([](action& a) { a.what = content::tape; }));
    REQUIRE(differs([](action& a) { a.kind = action_kind(7 - int(a.kind)); }));
    REQUIRE(differs([](action& a) { a = {}; }));  // a list that ends there
    auto other = all;
    std::swap(other[k], other[k + 1]);
    REQUIRE(!(fingerprint(other.data(), other.size()) == print));
  }
}

TEST_CASE("different plans have different fingerprints", "[schedule][fingerprint]") {
  REQUIRE(compared_pairs(25, 5) > 500'000);
}

TEST_CASE("the numbers by which a run knows its plan differ for different plans, and are the same in other hands",
          "[schedule][fingerprint]") {
  auto const numbers_of = [](auto const& plan) {
    std::vector<std::int64_t> all;
    detail::each_plan_number(plan, [&all](std::int64_t number) { all.push_back(number); });
    return all;
  };
  std::map<std::vector<std::int64_t>, plan_fingerprint> seen;
  each_plan(20, 5, [&](any_schedule const& plan) {
    auto const print = fingerprint(plan);
    auto const [known, is_new] = seen.try_emplace(numbers_of(plan), print);
    REQUIRE(known->second == print);
    REQUIRE(numbers_of(any_schedule{plan}) == known->first);
    REQUIRE(numbers_of(verified{plan}) == known->first);
  });
  REQUIRE(seen.size() > 1'000);
  auto const same_in_any = [&](auto const& plan) { return numbers_of(plan) == numbers_of(any_schedule{plan}); };
  for (step_index const n : {step_index{1}, step_index{40}, longest}) {
    REQUIRE(same_in_any(revolve{n, 3}));
    REQUIRE(same_in_any(two_level{n, 9, 2}));
    REQUIRE(same_in_any(leaves{n, 1, revolve{n, 3}}));
    REQUIRE(same_in_any(leaves{n, 1, two_level{n, 9, 2}}));
    REQUIRE(same_in_any(uniform{n}));
  }
  REQUIRE(numbers_of(revolve{40, 100}) == numbers_of(revolve{40, 39}));  // slots that do not help
  REQUIRE(numbers_of(two_level{40, 50, 3}) == numbers_of(two_level{40, 60, 3}));
}

TEST_CASE("very many different plans have different fingerprints", "[.soak][fingerprint]") {
  REQUIRE(compared_pairs(120, 12) > 100'000'000);
}

TEST_CASE("plans for chains, graphs and blocks have the fingerprint of their actions", "[schedule][fingerprint]") {
  chain_plan chain;
  graph_plan graph;
  chain.actions = graph.actions = actions_of(revolve{9, 3});
  REQUIRE(fingerprint(chain) == fingerprint(revolve{9, 3}));
  REQUIRE(fingerprint(graph) == fingerprint(revolve{9, 3}));
  block_plan const equal = block_plan::equal(10, 4), listed{{{0, 4}, {4, 8}, {8, 10}}};
  block_plan const other = block_plan::equal(10, 3);
  std::vector<action> all;
  auto cursor = equal.walk();
  do all.push_back(cursor.next());
  while (all.back().kind != action_kind::done);
  REQUIRE(fingerprint(equal) == fingerprint(all.data(), all.size()));
  REQUIRE(fingerprint(equal) == fingerprint(listed));
  REQUIRE(!(fingerprint(equal) == fingerprint(other)));
}

TEST_CASE("a fingerprint that takes too much work is refused", "[schedule][fingerprint]") {
  auto const list = action_list_from(revolve{100, 3});
  REQUIRE_THROWS_AS(fingerprint(list, {.most_sums = 99}), too_much_work);
  REQUIRE_THROWS_AS(fingerprint(list, {.most_sums = list.size() - 1}), too_much_work);
  REQUIRE(fingerprint(list, {.most_sums = list.size()}) == fingerprint(list));
  // At least 33 leaves of 3 steps, which are counted before any work.
  REQUIRE_NOTHROW(detail::check_least_walk(100, 3, {.most_sums = 33}));
  REQUIRE_THROWS_AS(detail::check_least_walk(100, 3, {.most_sums = 32}), too_much_work);
  REQUIRE_THROWS_AS(fingerprint(revolve{longest, 2}, {.most_sums = 1'000'000}), too_much_work);
  REQUIRE_THROWS_AS(fingerprint(store_all(longest)), too_much_work);
  REQUIRE_THROWS_AS(fingerprint(online{3}.stopping_at(longest)), too_much_work);
}

TEST_CASE("the digits of a fingerprint stay as they are", "[schedule][fingerprint]") {
  REQUIRE(plan_fingerprint{0x0123456789abcdef, 0xfedcba9876543210}.text() == "0123456789abcdeffedcba9876543210");
  REQUIRE(fingerprint(revolve{1000, 10}).text() == "cea4c2537996a79b2a1dc1cc5d982d44");
}
