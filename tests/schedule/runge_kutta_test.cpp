// SPDX-License-Identifier: Apache-2.0
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/runge_kutta.hpp>
#include "support/catch.hpp"
#include "support/csv.hpp"
#include "support/schedule_text.hpp"
#include "support/unit_search.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Extra steps of the plan, by a walk that is compared with all that the plan says about itself.
wide walked_advances(runge_kutta const& plan) {
  auto const found = check(plan);
  INFO(describe(found.reason) << " at action " << text_of(found.number) << ": " << text_of(found.culprit));
  REQUIRE(found);
  CHECK(found.counts == plan.counts());
  CHECK(found.counts.peak_slots == plan.slots());
  CHECK(found.counts.peak_tapes == plan.tapes());
  CHECK(plan.forward_steps() == found.counts.advances + wide(plan.steps()));
  return found.counts.advances;
}

}  // namespace

static_assert(schedule<runge_kutta> && counted_schedule<runge_kutta>);

TEST_CASE("stages of stiffly accurate methods do what the oracles say", "[schedule][runge_kutta][oracle]") {
  for (auto const& row : csv::oracle("cams_sa.csv")) {
    auto const n = step_index(csv::number(row.at("n")));
    auto const units = slot_index(csv::number(row.at("units_incl_initial")));
    auto const count = slot_index(csv::number(row.at("stages")));
    CAPTURE(n, units, count);
    auto const advances = walked_advances(runge_kutta{n, units, {.stages = count}});
    CHECK(advances == csv::number(row.at("min_extra_advances_recorded_excluded")));
    if (!row.at("peer_cams_SA").empty()) CHECK(advances <= csv::number(row.at("peer_cams_SA")));
  }
}

TEST_CASE("no machine takes fewer steps than stages, for stiffly accurate methods and for others",
          "[schedule][runge_kutta][brute][long]") {
  for (int n = 0; n <= 7; ++n)
    for (int units = n < 2 ? 0 : 1; units <= (n < 7 ? 9 : 6); ++units)
      for (int count = 1; count <= 4; ++count)
        for (bool const accurate : {true, false}) {
          CAPTURE(n, units, count, accurate);
          auto const advances = walked_advances(runge_kutta{n, units, {.stages = count, .stiffly_accurate = accurate}});
          CHECK(advances + wide(n) == wide(brute::fewest_runs({n, units, count, accurate})));
        }
}

TEST_CASE("giving up the solution after kept stages takes fewer steps than the published recurrence",
          "[schedule][runge_kutta]") {
  CHECK(walked_advances(runge_kutta{40, 10, {.stages = 2}}) == 43);  // 47 there
}

TEST_CASE("stages are mixed with tapes of so many units", "[schedule][runge_kutta]") {
  for (slot_index const units : {1, 5, 30, 200})
    for (slot_index const count : {1, 2, 6}) {
      CAPTURE(units, count);
      CHECK(runge_kutta{70, units, {.stages = count}}.counts() ==
            mixed{70, units, {.tape_units = count, .tapes_restart = true}}.counts());
      CHECK(runge_kutta{70, units, {.stages = count, .stiffly_accurate = false}}.counts() ==
            mixed{70, units, {.tape_units = count}}.counts());
      CHECK(runge_kutta{70, units, {.stages = count}}.counts().advances <= revolve::advances(70, units));
    }
}

TEST_CASE("a stiffly accurate method takes no more steps than one that is not", "[schedule][runge_kutta]") {
  for (slot_index units = 1; units < 60; ++units)
    CHECK(runge_kutta{50, units, {.stages = 3}}.forward_steps() <= runge_kutta{50, units, {3, false}}.forward_steps());
}

TEST_CASE("stages refuse what they cannot do before they make a table", "[schedule][runge_kutta]") {
  CHECK_THROWS_WITH((runge_kutta{-1, 3}),
                    ContainsSubstring("cairn::runge_kutta: a loop cannot have a negative number of steps"));
  CHECK_THROWS_WITH((runge_kutta{10, 0}),
                    ContainsSubstring("cairn::runge_kutta: too few units") && ContainsSubstring("least units = 1"));
  CHECK_THROWS_WITH((runge_kutta{10, 1, {.stages = 0}}), ContainsSubstring("a tape takes 1 unit or more"));
  CHECK_THROWS_WITH((runge_kutta{100'000, 100'000, {.stages = 2}}),
                    ContainsSubstring("the table of this plan does not fit"));
}
