// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <string>
#include <vector>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/uniform.hpp>
#include "support/brute_force.hpp"
#include "support/catch.hpp"
#include "support/csv.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr step_index longest = std::numeric_limits<step_index>::max();

std::vector<int> block_lengths(uniform const& plan) {
  std::vector<int> lengths;
  step_index start = 0;
  for (step_index k = 0; k < plan.checkpoints(); ++k) {
    lengths.push_back(int(plan.checkpoint(k) - start));
    start = plan.checkpoint(k);
  }
  lengths.push_back(int(plan.steps() - start));
  return lengths;
}

}  // namespace

static_assert(schedule<uniform> && counted_schedule<uniform>);
static_assert(uniform{1000}.slots() == 62 && uniform{1000}.checkpoints() == 31);
static_assert(verify(uniform{30}) == uniform{30}.counts(), "uniform walks in a constant expression");
static_assert(verify(store_all(12)).advances == 11);

TEST_CASE("uniform does what the oracles say", "[schedule][uniform][oracle]") {
  for (auto const& row : csv::oracle("uniform_block.csv")) {
    uniform const plan{step_index(csv::number(row.at("n"))), {.block = step_index(csv::number(row.at("block")))}};
    INFO(row.at("n") << " steps in blocks of " << row.at("block"));
    auto const walked = verify(plan);
    CHECK(walked == plan.counts());
    CHECK(walked.advances == csv::number(row.at("advances_turns_excluded_last_block_kept")));
    CHECK(plan.blocks() == step_index(csv::number(row.at("num_blocks"))));
    auto const reserved = slot_index(csv::number(row.at("peak_states_incl_initial")));
    CHECK(walked.peak_slots <= reserved);
    CHECK(walked.peak_slots >= reserved - 2);
  }
}

TEST_CASE("a thousand steps have 31 checkpoints at 31, 62, 93 and so on", "[schedule][uniform][seed]") {
  uniform const plan{1000};
  CHECK(plan.checkpoints() == 31);
  CHECK(plan.blocks() == 32);
  step_index const first[] = {31, 62, 93, 124};
  for (step_index k = 0; k < 4; ++k) CHECK(plan.checkpoint(k) == first[k]);
  CHECK(plan.checkpoint(30) == 968);
  CHECK(verify(plan).peak_slots == 62);
}

TEST_CASE("slots are the most states that the walk keeps at once", "[schedule][uniform]") {
  for (step_index n = 0; n <= 90; ++n) {
    for (step_index k = 0; k <= n; ++k) {
      uniform const plan{n, {.checkpoints = k}};
      INFO(n << " steps, " << k << " checkpoints");
      auto const walked = verify(plan);
      CHECK(walked == plan.counts());
      CHECK(walked.peak_slots == plan.slots());
      CHECK(plan.checkpoints() == (k < n ? k : n > 0 ? n - 1 : 0));
      if (n == 0) continue;
      auto const found = brute::walked_blocks(block_lengths(plan));
      CHECK(walked.advances == wide(found.advances));
      CHECK(walked.peak_slots == found.peak);
    }
    for (step_index b = 1; b <= n + 1; ++b) {
      uniform const plan{n, {.block = b}};
      INFO(n << " steps in blocks of " << b);
      auto const walked = verify(plan);
      CHECK(walked == plan.counts());
      CHECK(walked.peak_slots == plan.slots());
      if (n == 0) continue;
      auto const found = brute::walked_blocks(block_lengths(plan));
      CHECK(walked.advances == wide(found.advances));
      CHECK(walked.peak_slots == found.peak);
    }
  }
}

TEST_CASE("given a number of checkpoints the blocks are balanced with the short ones first", "[schedule][uniform]") {
  for (step_index n = 1; n <= 60; ++n)
    for (step_index k = 0; k < n; ++k) {
      auto const lengths = block_lengths(uniform{n, {.checkpoints = k}});
      REQUIRE(step_index(lengths.size()) == k + 1);
      for (std::size_t j = 1; j < lengths.size(); ++j) CHECK(lengths[j] >= lengths[j - 1]);
      CHECK(lengths.back() - lengths.front() <= 1);
      CHECK(lengths.front() >= 1);
    }
}

TEST_CASE("given a block all blocks are that long but the last", "[schedule][uniform]") {
  for (int n = 1; n <= 60; ++n)
    for (int b = 1; b <= n + 2; ++b) {
      auto const lengths = block_lengths(uniform{n, {.block = b}});
      for (std::size_t j = 0; j + 1 < lengths.size(); ++j) CHECK(lengths[j] == b);
      CHECK(lengths.back() <= b);
      CHECK(lengths.back() >= 1);
    }
}

TEST_CASE("given slots no uniform plan within them takes fewer advances", "[schedule][uniform][brute]") {
  for (int n = 1; n <= 80; ++n) {
    std::vector<brute::block_walk> all;
    for (int b = 1; b <= n; ++b) {  // every block length, and every number of balanced blocks, by their own formulas
      std::vector<int> equal, balanced;
      for (int start = 0; start < n; start += b) equal.push_back(std::min(b, n - start));
      for (int j = 0; j < b; ++j) balanced.push_back(n * (j + 1) / b - n * j / b);
      std::sort(balanced.begin(), balanced.end());
      all.push_back(brute::walked_blocks(equal));
      all.push_back(brute::walked_blocks(balanced));
    }
    std::int64_t least_peak = all.front().peak;
    for (auto const& one : all) least_peak = std::min(least_peak, one.peak);
    for (slot_index s = 0; s <= n + 1; ++s) {
      INFO(n << " steps, " << s << " slots");
      std::int64_t best = -1;
      for (auto const& one : all)
        if (one.peak <= s && (best < 0 || one.advances < best)) best = one.advances;
      if (best < 0) {
        CHECK_THROWS_WITH((uniform{n, {.slots = s}}), ContainsSubstring("least slots = " + std::to_string(least_peak)));
        continue;
      }
      uniform const plan{n, {.slots = s}};
      auto const walked = verify(plan);
      CHECK(walked.advances == wide(best));
      CHECK(walked.peak_slots <= s);
      CHECK(walked == plan.counts());
    }
  }
}

TEST_CASE("where balanced blocks fit no blocks of any lengths take fewer advances", "[schedule][uniform][brute]") {
  for (int n = 1; n <= 13; ++n) {
    auto const all = brute::compositions(n);
    for (slot_index s = slot_index(detail::ceil_sqrt(4 * wide(n))) - 2; s <= n; ++s) {
      std::int64_t best = -1;
      for (auto const& lengths : all)
        if (auto const one = brute::walked_blocks(lengths); one.peak <= s && (best < 0 || one.advances < best))
          best = one.advances;
      INFO(n << " steps, " << s << " slots");
      CHECK(uniform{n, {.slots = s}}.counts().advances == wide(best));
    }
  }
}

TEST_CASE("a checkpoint is the first state of a block other than the first", "[schedule][uniform]") {
  for (step_index n = 0; n <= 40; ++n)
    for (step_index b = 1; b <= n + 1; ++b)
      for (bool const balanced : {false, true}) {
        uniform const plan = balanced ? uniform{n, {.checkpoints = b < n ? b : n}} : uniform{n, {.block = b}};
        std::vector<bool> is(std::size_t(n) + 1, false);
        for (step_index k = 0; k < plan.checkpoints(); ++k) is[std::size_t(plan.checkpoint(k))] = true;
        for (step_index i = 0; i <= n; ++i)
          if (plan.is_checkpoint(i) != is[std::size_t(i)]) FAIL(n << " steps, option " << b << ", state " << i);
        CHECK_FALSE(plan.is_checkpoint(-1));
        CHECK_FALSE(plan.is_checkpoint(n + 1));
      }
}

TEST_CASE("store_all keeps every state as a checkpoint and runs no step twice", "[schedule][uniform]") {
  for (step_index n = 0; n <= 50; ++n) {
    auto const plan = store_all(n);
    auto const walked = verify(plan);
    CHECK(walked.advances + walked.turned == wide(n));
    CHECK(plan.slots() == (n > 0 ? n - 1 : 0));
    for (step_index i = 1; i < n; ++i) CHECK(plan.is_checkpoint(i));
  }
}

TEST_CASE("uniform is exact at the edges of 32, 53 and 63 bits", "[schedule][uniform]") {
  step_index const edges[] = {(1LL << 31) - 1, 1LL << 31, (1LL << 31) + 1, (1LL << 32) - 1, 1LL << 32, (1LL << 32) + 1,
                              (1LL << 53) - 1, 1LL << 53, (1LL << 53) + 1, longest - 1, longest};
  for (auto const n : edges) {
    INFO(n << " steps");
    uniform const by_root{n};
    auto const k = wide(by_root.checkpoints());
    CHECK(k * k <= wide(n));
    CHECK((k + 1) * (k + 1) > wide(n));
    for (uniform const& plan :
         {by_root, store_all(n), uniform{n, {.checkpoints = 0}}, uniform{n, {.checkpoints = n - 1}},
          uniform{n, {.checkpoints = n / 2}}, uniform{n, {.block = 1}}, uniform{n, {.block = n}},
          uniform{n, {.block = n - 1}}, uniform{n, {.block = longest}}, uniform{n, {.block = 1LL << 31}},
          uniform{n, {.slots = longest}}, uniform{n, {.slots = n / 2}},
          uniform{n, {.slots = uniform::least_slots(n)}}}) {
      auto const counts = plan.counts();
      CHECK(counts.reversals == wide(n));
      CHECK(counts.advances >= wide(n) - 1);
      CHECK(counts.advances <= 2 * wide(n));
      CHECK(counts.saves <= wide(n));
      CHECK(plan.slots() >= 1);
      CHECK(plan.slots() < n);
      if (plan.checkpoints() > 0) {
        auto const last = plan.checkpoint(plan.checkpoints() - 1);
        CHECK(last > 0);
        CHECK(last < n);
        CHECK(plan.is_checkpoint(last));
        CHECK(counts.advances == 2 * wide(n) - wide(plan.blocks()) - wide(n - last));
      }
      interpreter machine{detail::limits_of(plan)};
      auto cursor = plan.walk();
      for (int j = 0; j < 1000; ++j)
        if (auto const bad = machine.obey(cursor.next()); bad != flaw::none) FAIL(describe(bad));
    }
    CHECK_THROWS_AS((uniform{n, {.slots = uniform::least_slots(n) - 1}}), invalid_plan);
    CHECK(uniform{n, {.slots = uniform::least_slots(n)}}.slots() == uniform::least_slots(n));
    auto const within = uniform::least_slots(n) + 1000;
    CHECK(uniform{n, {.slots = within}}.counts().advances == 2 * wide(n) - wide(within) - 2);
  }
}

TEST_CASE("integer square roots are exact", "[schedule]") {
  for (std::uint64_t root = 0; root < 70'000; root += root < 300 ? 1 : 97) {
    wide const square = wide(root) * root;
    CHECK(detail::floor_sqrt(square) == root);
    CHECK(detail::ceil_sqrt(square) == root);
    if (root > 1) {
      CHECK(detail::floor_sqrt(square - 1) == root - 1);
      CHECK(detail::ceil_sqrt(square + 1) == root + 1);
    }
  }
  auto const most = std::numeric_limits<std::uint64_t>::max();
  CHECK(detail::floor_sqrt(~wide{0}) == most);
  CHECK(detail::floor_sqrt(wide(most) * most - 1) == most - 1);
  CHECK(detail::ceil_sqrt(wide(most) * most) == most);
}

TEST_CASE("uniform refuses what it cannot place", "[schedule][uniform]") {
  CHECK_THROWS_AS(uniform{-1}, invalid_plan);
  CHECK_THROWS_AS(store_all(-5), invalid_plan);
  CHECK_THROWS_AS((uniform{10, {.checkpoints = -1}}), invalid_plan);
  CHECK_THROWS_AS((uniform{10, {.checkpoints = 11}}), invalid_plan);
  CHECK_THROWS_AS((uniform{10, {.block = 0}}), invalid_plan);
  CHECK_THROWS_AS((uniform{0, {.block = -3}}), invalid_plan);
  CHECK_THROWS_AS((uniform{10, {.slots = 3}}), invalid_plan);
  CHECK_THROWS_AS((uniform{10, {.slots = -1}}), invalid_plan);
  CHECK_THROWS_AS((uniform{0, {.slots = -1}}), invalid_plan);
  CHECK_THROWS_AS((uniform{10, {.checkpoints = 3, .block = 3}}), invalid_plan);
  CHECK_THROWS_AS((uniform{10, {.block = 3, .slots = 30}}), invalid_plan);
  CHECK_THROWS_WITH((uniform{10, {.checkpoints = 11}}),
                    ContainsSubstring("checkpoints = 11") && ContainsSubstring("steps = 10"));
  CHECK_THROWS_WITH((uniform{1000, {.slots = 20}}),
                    ContainsSubstring("least slots = 61") && ContainsSubstring("cairn::revolve"));
  CHECK(uniform{10, {.checkpoints = 10}}.checkpoints() == 9);
}
