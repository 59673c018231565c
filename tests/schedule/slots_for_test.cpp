// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/slots_for.hpp>
#include <cairn/schedule/uniform.hpp>
#include "support/catch.hpp"

using namespace cairn;

static_assert(slots_for_slowdown(1000, 5) == 7);

TEST_CASE("the fewest slots for a slow-down are the first that reach it", "[schedule][slots_for]") {
  for (step_index n = 2; n <= 60; ++n)
    for (double const slowdown : {1.0, 1.1, 1.25, 1.5, 2.0, 2.7, 4.0, 9.0, 30.0, 99.0}) {
      slot_index brute = 1;
      while (estimate(revolve{n, brute}).forward_evaluations_per_step > slowdown) ++brute;
      CAPTURE(n, slowdown);
      CHECK(slots_for_slowdown(n, slowdown) == brute);
    }
}

TEST_CASE("the fewest slots are exact at the largest numbers", "[schedule][slots_for]") {
  for (step_index const n : {step_index{1} << 31, (step_index{1} << 53) + 1, step_index{1'000'000'000'000'000'000},
                             std::numeric_limits<step_index>::max()})
    for (double const slowdown : {1.0, 1.5, 3.0, 16.0, 1e6}) {
      auto const slots = slots_for_slowdown(n, slowdown);
      auto const most = wide(slowdown * 2) * wide(n) / 2 - 1;  // these slow-downs are halves: exact
      CAPTURE(n, slowdown, slots);
      CHECK(revolve::advances(n, slots) <= most);
      if (slots > 1) CHECK(revolve::advances(n, slots - 1) > most);
    }
  CHECK(slots_for_slowdown(std::numeric_limits<step_index>::max(), 1e300) == 1);
}

TEST_CASE("a slow-down of 1 takes the slots of storing all, and less is refused", "[schedule][slots_for]") {
  for (step_index n = 2; n <= 100; ++n) CHECK(slots_for_slowdown(n, 1) == store_all(n).slots());
  CHECK(slots_for_slowdown(0, 1) == 1);
  CHECK(slots_for_slowdown(1, 1) == 1);
  CHECK_THROWS_AS(slots_for_slowdown(100, 0.99), invalid_plan);
  CHECK_THROWS_AS(slots_for_slowdown(100, std::numeric_limits<double>::quiet_NaN()), invalid_plan);
  CHECK_THROWS_AS(slots_for_slowdown(-1, 3), invalid_plan);
}
