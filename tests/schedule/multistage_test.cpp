// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <string>
#include <vector>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/multistage.hpp>
#include <cairn/schedule/revolve.hpp>
#include "support/catch.hpp"
#include "support/csv.hpp"
#include "support/tier_search.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr step_index longest = std::numeric_limits<step_index>::max();

wide traffic(schedule_counts const& counts) { return counts.on(tier::disk).saves + counts.on(tier::disk).loads; }

/// The counts of a walk that stays within its slots and takes the fewest advances.
schedule_counts walked(step_index steps, slot_index ram, slot_index disk) {
  multistage const plan{steps, ram, disk};
  auto const counts = verify(plan);
  CHECK(counts.advances == revolve::advances(steps, ram + disk));
  CHECK(counts.on(tier::memory).peak <= ram);
  CHECK(counts.on(tier::disk).peak <= disk);
  CHECK(counts.peak_slots <= plan.slots());
  return counts;
}

/// Advances, then disk traffic, then saves on disk, by search over all machines.
void compare_with_search(int most_steps, int most_ram, int most_disk) {
  constexpr std::int64_t advance = 1'000'000, moved = 1000;
  for (int n = 0; n <= most_steps; ++n)
    for (int ram = 0; ram <= most_ram; ++ram)
      for (int disk = ram == 0 ? 1 : 0; disk <= most_disk; ++disk) {
        INFO(n << " steps, " << ram << " slots in memory, " << disk << " on disk");
        auto const counts = walked(n, ram, disk);
        auto const least = tiers::least_cost(n, {{ram, 0, 0}, {disk, moved + 1, moved}}, advance);
        CHECK(std::int64_t(counts.advances) * advance + std::int64_t(traffic(counts)) * moved +
                  std::int64_t(counts.on(tier::disk).saves) ==
              least);
      }
}

}  // namespace

static_assert(schedule<multistage> && !counted_schedule<multistage>);

TEST_CASE("multistage moves what the oracles say", "[schedule][multistage][oracle]") {
  for (auto const& row : csv::oracle("multistage.csv")) {
    auto const n = step_index(csv::number(row.at("n")));
    auto const ram = slot_index(csv::number(row.at("ram_slots"))), disk = slot_index(csv::number(row.at("disk_slots")));
    INFO(n << " steps, " << ram << " slots in memory, " << disk << " on disk");
    auto const counts = walked(n, ram, disk);
    CHECK(counts.advances == csv::number(row.at("min_advances")));
    CHECK(traffic(counts) == csv::number(row.at("min_disk_writes_plus_reads_at_min_advances")));
    CHECK(counts.on(tier::disk).saves == csv::number(row.at("min_disk_writes_alone_at_min_advances")));
  }
}

TEST_CASE(
    "no machine takes fewer advances, or as many and less disk traffic, or as much and fewer saves, than multistage",
    "[schedule][multistage][brute]") {
  compare_with_search(7, 3, 3);
}

TEST_CASE("no machine does better than multistage on longer loops", "[schedule][multistage][brute][.soak]") {
  compare_with_search(9, 3, 3);
}

TEST_CASE("multistage moves no more than H-Revolve's recurrence with advances above all", "[schedule][multistage]") {
  for (int n = 2; n <= 60; n += n < 12 ? 1 : 7)
    for (int ram : {0, 1, 2, 4})
      for (int disk : {1, 2, 5}) {
        INFO(n << " steps, " << ram << " slots in memory, " << disk << " on disk");
        auto const counts = walked(n, ram, disk);
        constexpr double advance = 1e8, moved = 1e4;
        double const cost =
            double(counts.advances) * advance + double(traffic(counts)) * moved + double(counts.on(tier::disk).saves);
        if (ram > 0) CHECK(cost == tiers::nested_cost(n, {ram, disk}, {0, moved + 1}, {0, moved}, advance));
        else CHECK(cost == tiers::nested_cost(n, {disk}, {moved + 1}, {moved}, advance));
      }
}

TEST_CASE("multistage without a disk is revolve", "[schedule][multistage]") {
  for (step_index n = 0; n <= 60; ++n)
    for (slot_index s = 1; s <= 9; ++s) {
      INFO(n << " steps, " << s << " slots");
      CHECK(verify(multistage{n, s, 0}) == revolve{n, s}.counts());
      auto const disk = walked(n, 0, s);
      CHECK(disk.saves >= revolve{n, s}.counts().saves);
      CHECK(disk.on(tier::memory) == tier_counts{});
    }
}

TEST_CASE("multistage with as many slots as are of use keeps every state once", "[schedule][multistage]") {
  for (step_index n = 2; n <= 40; ++n)
    for (slot_index ram : {0, 1, 3, 50}) {
      INFO(n << " steps, " << ram << " slots in memory");
      auto const counts = verify(multistage{n, ram, unlimited_slots});
      CHECK(counts.advances == wide(n - 1));
      CHECK(counts.on(tier::disk).saves == wide(ram < n - 1 ? n - 1 - ram : 0));
      CHECK(counts.on(tier::disk).loads == counts.on(tier::disk).saves);
      CHECK(multistage{n, ram, unlimited_slots}.slots() == n - 1);
    }
}

TEST_CASE("multistage walks long loops within its slots", "[schedule][multistage]") {
  walked(5000, 3, 4);
  walked(3000, 1, 40);
  walked(2000, 40, 1);
}

TEST_CASE("multistage needs no table where every state is kept or no disk is there", "[schedule][multistage]") {
  for (step_index const n : {step_index{1} << 31, step_index{1} << 32, step_index{1} << 53, longest - 1, longest}) {
    for (slot_index const ram : {slot_index{1}, slot_index{10}, slot_index{1'000'000}, n - 2, n - 1, n}) {
      multistage const all{n, ram, unlimited_slots};
      CHECK(all.slots() == n - 1);
      CHECK(all.shared_table_bytes() < 400);
      CHECK(all.slot_tier(0) == tier::memory);
      if (ram < n - 1) CHECK(all.slot_tier(n - 2) == tier::disk);
    }
    auto cursor = multistage{n, 3, 0}.walk();
    interpreter machine{{n, 3}};
    for (int k = 0; k < 10'000; ++k) REQUIRE(machine.obey(cursor.next()) == flaw::none);
  }
}

TEST_CASE("multistage says how large its table would be, before it is made", "[schedule][multistage]") {
  CHECK_THROWS_WITH((multistage{1'000'000'000, 3, 4}),
                    ContainsSubstring("cairn::multistage") && ContainsSubstring("table bytes = 40000000040"));
  CHECK_THROWS_AS((multistage{longest, 3, longest / 2}), invalid_plan);
  CHECK_THROWS_AS((multistage{1000, 3, 4, {.most_table_bytes = 40039}}), invalid_plan);
  CHECK_NOTHROW(multistage{1000, 3, 4, {.most_table_bytes = 40040}});
  CHECK_THROWS_WITH((multistage{step_index{1} << 31, 3, 1, {.most_table_bytes = ~wide{0}}}),
                    ContainsSubstring("less than 2^31 steps"));
  CHECK(multistage{1000, 3, 4}.table_bytes() == 7 * 32);
}

TEST_CASE("multistage refuses negative numbers and no slots before it does anything", "[schedule][multistage]") {
  CHECK_THROWS_WITH((multistage{-1, 3, 3}), ContainsSubstring("cairn::multistage") && ContainsSubstring("steps = -1"));
  CHECK_THROWS_WITH((multistage{10, -1, 3}), ContainsSubstring("ram slots = -1"));
  CHECK_THROWS_AS((multistage{10, 3, -1}), invalid_plan);
  CHECK_THROWS_WITH((multistage{10, 0, 0}), ContainsSubstring("too few slots"));
}
