// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/disk_revolve.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/multistage.hpp>
#include <cairn/schedule/revolve.hpp>
#include "support/catch.hpp"
#include "support/csv.hpp"
#include "support/heap.hpp"
#include "support/tier_search.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr step_index longest = std::numeric_limits<step_index>::max();

/// The plan, walked: its cost is that of the walk, and its slots on disk are those that are in use at once.
disk_revolve walked(step_index steps, slot_index ram, disk_revolve_options const& costs) {
  disk_revolve const plan{steps, ram, costs};
  auto const counts = verify(plan);
  auto const& disk = counts.on(tier::disk);
  CHECK(plan.cost_without_turns() == double(counts.advances) * costs.advance_cost +
                                         double(disk.saves) * costs.disk_write + double(disk.loads) * costs.disk_read);
  CHECK(plan.cost() == plan.cost_without_turns() + double(steps) * costs.turn_cost);
  CHECK(counts.on(tier::memory).peak <= ram);
  slot_index on_disk = 0;
  for (slot_index slot = 0; slot < plan.slots(); ++slot) on_disk += plan.slot_tier(slot) == tier::disk;
  CHECK(disk.peak == on_disk);
  return plan;
}

void compare_with_search(int cases, int most_steps, unsigned seed) {
  std::mt19937_64 draw{seed};
  auto const from = [&](int least, int most) { return std::uniform_int_distribution<int>{least, most}(draw); };
  for (int k = 0; k < cases; ++k) {
    int const n = from(0, most_steps), ram = from(0, 3), write = from(0, 9), read = from(0, 9), advance = from(0, 4);
    INFO(n << " steps, " << ram << " slots, write " << write << ", read " << read << ", advance " << advance);
    auto const plan = walked(
        n, ram,
        {.disk_write = double(write), .disk_read = double(read), .advance_cost = double(advance), .turn_cost = 7});
    CHECK(plan.cost_without_turns() == double(tiers::least_cost(n, {{ram, 0, 0}, {n, write, read}}, advance)));
  }
}

}  // namespace

static_assert(schedule<disk_revolve> && !counted_schedule<disk_revolve>);

TEST_CASE("disk_revolve costs what the oracles say", "[schedule][disk_revolve][oracle]") {
  for (auto const& row : csv::oracle("diskrevolve.csv")) {
    auto const n = step_index(csv::number(row.at("n")));
    auto const ram = slot_index(csv::number(row.at("ram_slots")));
    disk_revolve_options const costs{.disk_write = std::stod(row.at("disk_write")),
                                     .disk_read = std::stod(row.at("disk_read")),
                                     .advance_cost = std::stod(row.at("advance_cost"))};
    INFO(n << " steps, " << ram << " slots, write " << costs.disk_write << ", read " << costs.disk_read << ", advance "
           << costs.advance_cost);
    auto const plan = walked(n, ram, costs);
    CHECK(plan.cost_without_turns() == std::stod(row.at("min_cost_unlimited_disk")));
    CHECK(plan.cost() <= std::stod(row.at("min_cost_each_disk_checkpoint_read_once")));
  }
}

TEST_CASE("no machine reverses a loop at less cost than disk_revolve", "[schedule][disk_revolve][brute][long]") {
  compare_with_search(400, 7, 1);
}

TEST_CASE("no machine reverses a loop at less cost than disk_revolve, thousands of cases",
          "[schedule][disk_revolve][brute][.soak]") {
  compare_with_search(3000, 9, 2);
}

TEST_CASE("disk_revolve reads a state on disk more than once where that pays", "[schedule][disk_revolve]") {
  auto const plan = walked(8, 1, {.disk_write = 3, .disk_read = 1});
  CHECK(plan.cost() == 19);  // 20 if each is read once
  auto const disk = verify(plan).on(tier::disk);
  CHECK(disk.loads > disk.saves);
}

TEST_CASE("disk_revolve is hrevolve with a slot on disk for every state", "[schedule][disk_revolve]") {
  for (step_index n = 0; n <= 120; n += n < 10 ? 1 : 11)
    for (slot_index ram : {1, 2, 5})
      for (double write : {0.0, 1.0, 20.0})
        for (double read : {0.0, 3.0}) {
          INFO(n << " steps, " << ram << " slots, write " << write << ", read " << read);
          auto const plan = walked(n, ram, {.disk_write = write, .disk_read = read, .advance_cost = 2});
          CHECK(plan.cost() == hrevolve{n, {{ram}, {n < 1 ? 1 : n, write, read}}, {.advance_cost = 2}}.cost());
        }
}

TEST_CASE("disk_revolve keeps all in memory where the disk is too dear or not needed", "[schedule][disk_revolve]") {
  for (step_index n = 0; n <= 60; ++n)
    for (slot_index s = 1; s <= 9; ++s) {
      disk_revolve const plan{n, s, {.disk_write = 1e6, .disk_read = 1e6}};
      CHECK(verify(plan) == revolve{n, s}.counts());
      CHECK(plan.shared_table_bytes() < 400);
    }
  disk_revolve const far{longest, longest, {.disk_write = 1, .disk_read = 1}};
  CHECK(far.cost() == double(longest - 1));
  CHECK(far.slots() == longest - 1);
}

TEST_CASE("disk_revolve walks long loops at the cost that it predicts", "[schedule][disk_revolve]") {
  walked(10'000, 5, {.disk_write = 20, .disk_read = 20, .turn_cost = 3});
  walked(10'000, 1, {.disk_write = 1, .disk_read = 1});
  walked(10'000, 0, {.disk_write = 3, .disk_read = 2});
  walked(5000, 50, {.disk_write = 400, .disk_read = 300});
}

TEST_CASE("disk_revolve says how large its table would be, before it is made", "[schedule][disk_revolve]") {
  CHECK_THROWS_WITH((disk_revolve{1'000'000'000, 3, {.disk_write = 1, .disk_read = 1}}),
                    ContainsSubstring("cairn::disk_revolve") && ContainsSubstring("table bytes = 28000000028"));
  CHECK_THROWS_AS((disk_revolve{longest, 3, {}}), invalid_plan);
  CHECK_THROWS_AS((disk_revolve{1000, 3, {.most_table_bytes = 28027}}), invalid_plan);
  CHECK_NOTHROW(disk_revolve{1000, 3, {.most_table_bytes = 28028}});
  CHECK_THROWS_WITH((disk_revolve{step_index{1} << 31, 3, {.most_table_bytes = ~wide{0}}}),
                    ContainsSubstring("less than 2^31 steps"));
}

TEST_CASE("disk_revolve refuses numbers of no meaning before it does anything", "[schedule][disk_revolve]") {
  CHECK_THROWS_WITH((disk_revolve{-1, 3, {}}),
                    ContainsSubstring("cairn::disk_revolve") && ContainsSubstring("steps = -1"));
  CHECK_THROWS_WITH((disk_revolve{10, -1, {}}), ContainsSubstring("ram slots = -1"));
  for (double const cost : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CHECK_THROWS_WITH((disk_revolve{10, 1, {.disk_write = cost}}), ContainsSubstring("not negative"));
    CHECK_THROWS_AS((disk_revolve{10, 1, {.disk_read = cost}}), invalid_plan);
    CHECK_THROWS_AS((disk_revolve{10, 1, {.advance_cost = cost}}), invalid_plan);
    CHECK_THROWS_AS((disk_revolve{10, 1, {.turn_cost = cost}}), invalid_plan);
  }
  CHECK_THROWS_AS((disk_revolve{50, 1, {.disk_write = 1e308, .disk_read = 1e308, .advance_cost = 1e308}}),
                  overflow_error);
}

namespace {

/// `make(most)` makes a plan whose table may take so many bytes.
template <class Make>
void takes_what_it_tells(wide needed, Make make) {
  CHECK_THROWS_AS(make(needed - 1), invalid_plan);
  heap::mark const before;
  auto const plan = make(needed);
  CHECK(heap::held - before.before == std::size_t(plan.shared_table_bytes()));
  CHECK(before.rise() <= std::size_t(needed) + 400);  // the object that holds the table
  heap::mark const walk;
  auto cursor = plan.walk();
  while (cursor.next().kind != action_kind::done) {}
  CHECK(walk.rise() == std::size_t(plan.table_bytes()));
  heap::mark const again;
  cursor = plan.walk();
  while (cursor.next().kind != action_kind::done) {}
  CHECK(again.allocated() == 0);
}

}  // namespace

TEST_CASE("plans with tables allocate what they predict, and no more than they may while they are made",
          "[schedule][disk_revolve][hrevolve][multistage]") {
  takes_what_it_tells(28 * 301, [](wide most) {
    return disk_revolve{300, 3, {.disk_write = 2, .disk_read = 2, .most_table_bytes = most}};
  });
  takes_what_it_tells((4 * 4 + 24) * 301, [](wide most) { return multistage{300, 3, 4, {.most_table_bytes = most}}; });
  takes_what_it_tells((4 * 4 + 32) * 301, [](wide most) {
    return hrevolve{300, {{3}, {4, 2, 2}}, {.most_table_bytes = most}};
  });
  takes_what_it_tells((4 * 7 + 32) * 301, [](wide most) {
    return hrevolve{300, {{3, 1, 1}, {4, 2, 2}}, {.most_table_bytes = most}};
  });
  takes_what_it_tells((2 * 4 * 7 + 32) * 301, [](wide most) {
    return hrevolve{300, {{3, 1, 9}, {4, 2, 2}}, {.most_table_bytes = most}};
  });
}
