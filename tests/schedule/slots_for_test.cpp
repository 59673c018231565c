// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/slots_for.hpp>
#include "support/catch.hpp"

using namespace cairn;

static_assert(slots_for_slowdown(1000, 5) == 9);

TEST_CASE("the fewest slots for a slow-down are the first that reach it", "[schedule][slots_for]") {
  for (step_index n = 2; n <= 60; ++n)
    for (double const slowdown : {2.0, 2.1, 2.25, 2.5, 3.0, 3.7, 5.0, 10.0, 31.0, 100.0}) {
      slot_index brute = 1;
      while (double(revolve::advances(n, brute) + wide(n)) > slowdown * double(n)) ++brute;
      CAPTURE(n, slowdown);
      CHECK(slots_for_slowdown(n, slowdown) == brute);
    }
}

TEST_CASE("the fewest slots are exact at the largest numbers", "[schedule][slots_for]") {
  for (step_index const n : {step_index{1} << 31, (step_index{1} << 53) + 1, step_index{1'000'000'000'000'000'000},
                             std::numeric_limits<step_index>::max()})
    for (double const slowdown : {2.0, 2.5, 4.0, 17.0, 1e6}) {
      auto const slots = slots_for_slowdown(n, slowdown);
      auto const most = wide((slowdown - 1) * 2) * wide(n) / 2;  // these slow-downs are halves: exact
      CAPTURE(n, slowdown, slots);
      CHECK(revolve::advances(n, slots) <= most);
      if (slots > 1) CHECK(revolve::advances(n, slots - 1) > most);
    }
  CHECK(slots_for_slowdown(std::numeric_limits<step_index>::max(), 1e300) == 1);
}

TEST_CASE("a slow-down that no slots reach is refused", "[schedule][slots_for]") {
  CHECK(slots_for_slowdown(0, 1) == 1);
  CHECK(slots_for_slowdown(1, 1) == 1);
  CHECK(slots_for_slowdown(100, 1.995) == 99);
  CHECK_THROWS_AS(slots_for_slowdown(100, 1.985), invalid_plan);
  CHECK_THROWS_AS(slots_for_slowdown(100, 0.5), invalid_plan);
  CHECK_THROWS_AS(slots_for_slowdown(100, std::numeric_limits<double>::quiet_NaN()), invalid_plan);
  CHECK_THROWS_AS(slots_for_slowdown(-1, 3), invalid_plan);
}
