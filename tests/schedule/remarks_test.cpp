// SPDX-License-Identifier: Apache-2.0
// Numbers by their names, and what is said of numbers that look swapped.
#include <cairn/plan/text/plan_text.hpp>
#include <cairn/planning.hpp>

#include <string>

#include "support/catch.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Whether both plans walk the same actions.
template <class Plan>
bool is_same(Plan const& one, Plan const& other) {
  auto a = one.walk(), b = other.walk();
  for (;;) {
    action const now = a.next();
    if (now != b.next()) return false;
    if (now.kind == action_kind::done) return one.steps() == other.steps() && one.slots() == other.slots();
  }
}

}  // namespace

static_assert(revolve{{.steps = 1000, .slots = 10}}.counts() == revolve{1000, 10}.counts());
static_assert(revolve{{.steps = 9, .slots = 0}, {.free_initial = true}}.counts() ==
              revolve{9, 0, {.free_initial = true}}.counts());
static_assert(two_level{{.steps = 57, .period = 8, .extra_slots = 3}}.counts() == two_level{57, 8, 3}.counts());

TEST_CASE("numbers by their names make the plan of numbers by their places", "[schedule]") {
  CHECK(is_same(revolve{{.steps = 57, .slots = 4}}, revolve{57, 4}));
  CHECK(is_same(two_level{{.steps = 57, .period = 8, .extra_slots = 3}}, two_level{57, 8, 3}));
  CHECK(is_same(multistage{{.steps = 57, .ram_slots = 2, .disk_slots = 3}}, multistage{57, 2, 3}));
  CHECK(is_same(disk_revolve{{.steps = 57, .ram_slots = 2}, {.disk_write = 3, .disk_read = 1}},
                disk_revolve{57, 2, {.disk_write = 3, .disk_read = 1}}));
  CHECK(is_same(mixed{{.steps = 57, .units = 9}, {.tape_units = 2}}, mixed{57, 9, {.tape_units = 2}}));
  CHECK(is_same(bptt{{.steps = 57, .units = 9}, {.tape_units = 2}}, bptt{57, 9, {.tape_units = 2}}));
  CHECK(is_same(runge_kutta{{.steps = 57, .units = 9}, {.stages = 2}}, runge_kutta{57, 9, {.stages = 2}}));
}

TEST_CASE("a number that is left out is refused", "[schedule]") {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
  CHECK_THROWS_AS((revolve{{.slots = 4}}), invalid_plan);
  CHECK_THROWS_AS((revolve{{.steps = 4}}), invalid_plan);
  CHECK_THROWS_AS((multistage{{.steps = 4, .ram_slots = 1}}), invalid_plan);
  CHECK_THROWS_AS((two_level{{.steps = 4, .extra_slots = 1}}), invalid_plan);
  CHECK_THROWS_AS((mixed{{.steps = 4}}), invalid_plan);
#pragma GCC diagnostic pop
}

TEST_CASE("estimate says where steps and slots look swapped, through every wrapper", "[schedule][plan]") {
  auto const said = [](auto const& plan) { return std::string{estimate(plan).remark}; };
  auto const swapped = ContainsSubstring("swapped?");
  revolve const wrong{20, 1'000'000};
  CHECK_THAT(said(wrong), swapped);
  CHECK_THAT(said(any_schedule{wrong}), swapped);
  CHECK_THAT(said(leaves{100, 5, wrong}), swapped);
  CHECK_THAT(said(any_schedule{leaves{100, 5, any_schedule{wrong}}}), swapped);
  CHECK_THAT(said(verified{wrong}), swapped);
  CHECK_THAT(said(revolve{20, 21, {.free_initial = true}}), swapped);
  CHECK_THAT(said(multistage{20, 1000, 3}), swapped);
  CHECK_THAT(said(multistage{20, 3, 1000}), swapped);
  CHECK_THAT(said(disk_revolve{20, 1000, {}}), swapped);
  CHECK_THAT(said(two_level{20, 1000, 3}), swapped);
  CHECK_THAT(said(mixed{20, 1000, {.tape_units = 3}}), swapped);
  CHECK_THAT(said(bptt{20, 1000}), swapped);
  CHECK_THAT(said(runge_kutta{20, 1000}), swapped);
  auto const text =
      explanation_text(explain(planned{wrong, planner::revolve, {}, estimate(wrong, {.state_bytes = 8}), {}, {}},
                               {.steps = 20, .state_bytes = 8}));
  CHECK_THAT(text, swapped);
}

TEST_CASE("nothing is said of as many slots as there are states, and of no limit", "[schedule][plan]") {
  auto const said = [](auto const& plan) { return std::string{estimate(plan).remark}; };
  for (step_index const n : {0, 1, 2, 20}) {
    slot_index const all = n > 1 ? n : 1;
    CAPTURE(n);
    CHECK(said(revolve{n, all}).empty());
    CHECK(said(any_schedule{revolve{n, all}}).empty());
    CHECK(said(store_all(n)).empty());
    CHECK(said(multistage{n, 1, unlimited_slots}).empty());
    CHECK(said(two_level{n, all, 3}).empty());
    CHECK(said(mixed{n, 3 * all, {.tape_units = 3}}).empty());
  }
  for (auto const& plan : pareto({.steps = 40, .state_bytes = 8})) CHECK(std::string{plan.cost.remark}.empty());
}
