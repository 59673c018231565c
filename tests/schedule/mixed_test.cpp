// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <random>
#include <vector>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/revolve.hpp>
#include "support/catch.hpp"
#include "support/csv.hpp"
#include "support/schedule_text.hpp"
#include "support/unit_search.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr step_index longest = std::numeric_limits<step_index>::max();

wide forward_steps(schedule_counts const& counts) {
  return counts.advances + counts.recorded + counts.reversals - counts.taped;
}

std::vector<action> actions(mixed const& plan) {
  std::vector<action> all;
  auto cursor = plan.walk();
  do all.push_back(cursor.next());
  while (all.back().kind != action_kind::done);
  return all;
}

/// Walks the plan and compares all that it says about itself.
schedule_counts walked(mixed const& plan) {
  auto const found = check(plan);
  INFO(describe(found.reason) << " at action " << text_of(found.number) << ": " << text_of(found.culprit));
  REQUIRE(found);
  CHECK(found.counts == plan.counts());
  CHECK(forward_steps(found.counts) == plan.forward_steps());
  CHECK(found.counts.peak_slots == plan.slots());
  CHECK(found.counts.peak_tapes == plan.tapes());
  CHECK((found.counts.restarts > 0) == plan.tapes_restart());
  return found.counts;
}

struct options_of_all {
  bool restarts, free_initial;
};
constexpr options_of_all all_options[] = {{false, false}, {false, true}, {true, false}, {true, true}};

void compare_with_search(int steps, int most_units) {
  for (auto const [restarts, free_initial] : all_options)
    for (int units = free_initial || steps < 2 ? 0 : 1; units <= most_units; ++units)
      for (int tape = 1; tape <= 4; ++tape) {
        CAPTURE(steps, units, tape, restarts, free_initial);
        mixed const plan{steps, units, {.tape_units = tape, .tapes_restart = restarts, .free_initial = free_initial}};
        CHECK(walked(plan).reversals == wide(steps));
        CHECK(plan.forward_steps() == wide(brute::fewest_runs({steps, units, tape, restarts, free_initial})));
      }
}

}  // namespace

static_assert(schedule<mixed> && counted_schedule<mixed>);

TEST_CASE("mixed does what the oracles say, with tapes that restart and with others", "[schedule][mixed][oracle]") {
  for (auto const& row : csv::oracle("mixed.csv")) {
    auto const n = step_index(csv::number(row.at("n")));
    auto const units = slot_index(csv::number(row.at("units")));
    auto const tape = slot_index(csv::number(row.at("dep_units_alpha")));
    CAPTURE(n, units, tape);
    CHECK(forward_steps(walked(mixed{n, units, {.tape_units = tape}})) ==
          csv::number(row.at("min_forward_incl_recorded_dep_cannot_restart")));
    CHECK(forward_steps(walked(mixed{n, units, {.tape_units = tape, .tapes_restart = true}})) ==
          csv::number(row.at("min_forward_incl_recorded_dep_restarts")));
    CHECK(wide(n) + revolve::advances(n, units) == csv::number(row.at("revolve_forward_incl_recorded_same_units")));
  }
}

TEST_CASE("no machine takes fewer runs than mixed", "[schedule][mixed][brute][long]") {
  for (int n = 0; n <= 6; ++n) compare_with_search(n, 9);
  compare_with_search(7, 5);
}

TEST_CASE("no machine takes fewer runs than mixed in longer loops", "[schedule][mixed][brute][.soak]") {
  compare_with_search(7, 14);
  compare_with_search(8, 9);
}

TEST_CASE("no nested order takes fewer runs than mixed, which skips most of them", "[schedule][mixed][brute][long]") {
  constexpr int most_steps = 230, most_units = 24;
  for (int const tape : {1, 2, 3, 7}) {
    brute::nested_units const best{most_steps, most_units, tape};
    std::mt19937 random{unsigned(tape)};
    for (int k = 0; k < 150; ++k) {
      int const n = int(random() % (most_steps + 1));
      int const units = 1 + int(random() % most_units);
      CAPTURE(n, units, tape);
      for (bool const free_initial : {false, true}) {
        CHECK(walked(mixed{n, units, {.tape_units = tape, .free_initial = free_initial}}).reversals == wide(n));
        CHECK(mixed{n, units, {.tape_units = tape, .free_initial = free_initial}}.forward_steps() ==
              wide(best.once(n, units, free_initial)));
        CHECK(walked(mixed{n, units, {.tape_units = tape, .tapes_restart = true, .free_initial = free_initial}})
                  .reversals == wide(n));
        CHECK(mixed{n, units, {.tape_units = tape, .tapes_restart = true, .free_initial = free_initial}}
                  .forward_steps() == wide(best.restarting(n, units, free_initial)));
      }
    }
  }
}

TEST_CASE("mixed keeps nothing longer than it is of use", "[schedule][mixed]") {
  std::mt19937 random{5};
  for (int k = 0; k < 400; ++k) {
    auto const [restarts, free_initial] = all_options[random() % 4];
    mixed const plan{step_index(random() % 60),
                     1 + slot_index(random() % 12),
                     {1 + slot_index(random() % 4), restarts, free_initial}};
    CAPTURE(plan.steps(), plan.units(), plan.tape_units(), restarts, free_initial);
    auto const all = actions(plan);
    for (std::size_t at = 0; at < all.size(); ++at) {
      if (all[at].kind != action_kind::drop) continue;
      action const& before = all[at - 1];
      auto const last_use = all[at].what == content::tape ? action_kind::reverse : action_kind::load;
      if (before.kind != last_use || before.what != all[at].what || before.slot != all[at].slot)
        FAIL("dropped late: action " << at);
    }
  }
}

TEST_CASE("mixed is revolve where no tape fits, for loops of any length", "[schedule][mixed]") {
  for (step_index const n :
       {step_index{0}, step_index{1}, step_index{2}, step_index{3}, step_index{50}, step_index{1} << 40, longest})
    for (slot_index const units : {1, 3, 40})
      for (bool const free_initial : {false, true}) {
        mixed const plan{n, units, {.tape_units = 41, .tapes_restart = true, .free_initial = free_initial}};
        revolve const same{n, units, {.free_initial = free_initial}};
        CAPTURE(n, units, free_initial);
        CHECK(plan.counts() == same.counts());
        CHECK(plan.forward_steps() == same.counts().advances + wide(n));
        CHECK(plan.tapes() == 0);
        CHECK_FALSE(plan.tapes_restart());
        CHECK(plan.shared_table_bytes() < 512);
        if (n < 100) CHECK(verify(plan) == plan.counts());
      }
}

TEST_CASE("mixed runs no step twice where all tapes fit, and needs no table", "[schedule][mixed]") {
  for (step_index const n :
       {step_index{0}, step_index{1}, step_index{2}, step_index{3}, step_index{50}, step_index{1} << 40, longest})
    for (slot_index const tape : {slot_index{1}, slot_index{3}}) {
      if (n > longest / tape) continue;
      for (bool const restarts : {false, true}) {
        mixed const plan{n, n * tape, {.tape_units = tape, .tapes_restart = restarts}};
        CAPTURE(n, tape, restarts);
        CHECK(plan.forward_steps() == wide(n));
        CHECK(plan.slots() == 0);
        CHECK(plan.tapes() == (n > 1 ? n - 1 : 0));
        CHECK(plan.shared_table_bytes() < 512);
        CHECK_FALSE(plan.tapes_restart());
        if (n < 100) CHECK(walked(plan).taped == wide(plan.tapes()));
      }
    }
}

TEST_CASE("a unit more never costs a run, and tapes that restart save some", "[schedule][mixed][long]") {
  for (slot_index const tape : {1, 2, 5}) {
    wide saved = 0;
    for (slot_index units = 2; units < 130; ++units) {
      mixed const once{150, units, {.tape_units = tape}}, fewer{150, units - 1, {.tape_units = tape}};
      mixed const again{150, units, {.tape_units = tape, .tapes_restart = true}},
          fewer_again{150, units - 1, {.tape_units = tape, .tapes_restart = true}};
      CHECK(once.forward_steps() <= fewer.forward_steps());
      CHECK(again.forward_steps() <= fewer_again.forward_steps());
      CHECK(again.forward_steps() <= once.forward_steps());
      saved += once.forward_steps() - again.forward_steps();
    }
    CHECK(saved > 0);
  }
}

TEST_CASE("tables of 32 and of 64 bits choose the same", "[schedule][mixed]") {
  for (bool const restarts : {false, true}) {
    detail::unit_rules const rules{.tape_units = 2, .restarts = restarts, .holds_initial = true};
    detail::unit_rows<std::uint32_t> const narrow{"test", 300, 9, rules, {}};
    detail::unit_rows<std::uint64_t> const broad{"test", 300, 9, rules, {}};
    for (std::size_t n = 2; n <= 300; ++n)
      for (std::size_t m = 1; m <= 9; ++m)
        for (bool const held : {false, true})
          if (restarts || !held || m == 9) CHECK(narrow.choice(n, m, held) == broad.choice(n, m, held));
  }
}

TEST_CASE("mixed walks a loop whose runs need a table of 64 bits", "[schedule][mixed]") {
  mixed const plan{40'000, 1};
  CHECK(plan.shared_table_bytes() > 8 * 2 * 40'000);
  CHECK(plan.forward_steps() == wide{40'000} * 40'001 / 2 - 1);  // the tape of step 0 spares its second run
}

TEST_CASE("mixed refuses what it cannot do before it makes a table", "[schedule][mixed]") {
  CHECK_THROWS_AS((mixed{-1, 3}), invalid_plan);
  CHECK_THROWS_WITH((mixed{-1, 3}), ContainsSubstring("cairn::mixed: a loop cannot have a negative number of steps") &&
                                        ContainsSubstring("steps = -1"));
  CHECK_THROWS_WITH((mixed{10, 0}),
                    ContainsSubstring("cairn::mixed: too few units") && ContainsSubstring("least units = 1"));
  CHECK_THROWS_WITH((mixed{10, -1, {.free_initial = true}}), ContainsSubstring("least units = 0"));
  CHECK_THROWS_WITH((mixed{10, 3, {.tape_units = 0}}),
                    ContainsSubstring("a tape takes 1 unit or more") && ContainsSubstring("tape units = 0"));
  CHECK_THROWS_WITH(
      (mixed{1000, 10, {.most_table_bytes = 40'000}}),
      ContainsSubstring("the table of this plan does not fit") && ContainsSubstring("table bytes = 44044"));
  CHECK(mixed{1000, 10, {.most_table_bytes = 44'044}}.forward_steps() > 1000);
  for (step_index const n : {step_index{1} << 31, (step_index{1} << 32) + 1, step_index{1} << 53, longest})
    for (slot_index const units : {slot_index{2}, slot_index{1} << 31})
      CHECK_THROWS_AS((mixed{n, units, {.tape_units = 2, .most_table_bytes = ~wide{0}}}), invalid_plan);
  CHECK(mixed{1, 0}.forward_steps() == 1);
  CHECK(mixed{0, 0}.forward_steps() == 0);
}
