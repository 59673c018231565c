// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>
#include <cairn/plan/loop/detail/plan_search.hpp>
#include <cairn/planning.hpp>
#include "support/catch.hpp"

using namespace cairn;

namespace {

workload loop(step_index n) {
  return {.steps = n,
          .state_bytes = 100'000,
          .state_inline_bytes = 24,
          .adjoint_bytes = 100'000,
          .step_seconds = 1e-3,
          .adjoint_seconds = 2e-3};
}
/// Each is larger and faster than the one before.
void check_front(std::vector<planned> const& front, workload const& work) {
  REQUIRE_FALSE(front.empty());
  CHECK(front.front().cost.memory_bytes == detail::smallest_plan(work, "test").cost.memory_bytes);
  for (std::size_t k = 1; k < front.size(); ++k) {
    CHECK(front[k - 1].cost.memory_bytes < front[k].cost.memory_bytes);
    CHECK(front[k - 1].cost.seconds > front[k].cost.seconds);
  }
}

}  // namespace

TEST_CASE("a short loop's front has every plan that no other one beats", "[plan][pareto]") {
  auto const work = loop(30);
  auto const front = pareto(work);
  check_front(front, work);
  CHECK(front.size() == 29);  // Revolve with 0 to 28 slots beside the initial state
  for (slot_index slots = 0; slots < 29; ++slots) {
    auto const sum = estimate(any_schedule{revolve{30, slots, {.free_initial = true}}}, work);
    CHECK(std::any_of(front.begin(), front.end(), [&](planned const& plan) {
      return plan.cost.memory_bytes <= sum.memory_bytes && plan.cost.seconds <= sum.seconds;
    }));
  }
}

TEST_CASE("a long loop's front has as many plans as are asked for, from the smallest to the fastest",
          "[plan][pareto]") {
  for (step_index const n : {step_index{1000}, step_index{1'000'000}, step_index{1} << 62}) {
    auto const work = loop(n);
    auto const front = pareto(work, 12);
    check_front(front, work);
    CHECK(front.size() > 8);
    CHECK(front.size() <= 12);
  }
  CHECK(pareto(loop(1000), 12).back().cost.extra_steps == 0);
}

TEST_CASE("a front is of all planners and tiers, and of leaves and tapes where the adjoint takes them",
          "[plan][pareto]") {
  auto const names = [](std::vector<planned> const& front) {
    std::vector<std::string> all;
    for (auto const& plan : front) all.emplace_back(name_of(plan.by));
    return all;
  };
  auto work = loop(200);
  work.tiers.disk = {.write_seconds = 2e-3, .read_seconds = 1e-3, .bytes = unlimited_bytes};
  check_front(pareto(work, 15), work);
  CHECK_THAT(names(pareto(work, 15)),
             Catch::Matchers::VectorContains(std::string{"disk_revolve"}) &&
             Catch::Matchers::VectorContains(std::string{"revolve"}));
  work = loop(100);
  work.form.adjoint = adjoint_form::recorded;
  work.tape_bytes = 200'000;
  check_front(pareto(work, 15), work);
  CHECK_THAT(names(pareto(work, 15)),
             Catch::Matchers::VectorContains(std::string{"mixed"}) &&
             Catch::Matchers::VectorContains(std::string{"revolve"}));
  work.form.adjoint = adjoint_form::leaf;
  work.tape_step_bytes = 20'000;
  auto const front = pareto(work, 15);
  check_front(front, work);
  CHECK(std::any_of(front.begin(), front.end(), [](planned const& plan) { return plan.with.leaf > 1; }));
}

TEST_CASE("loops of 0, 1 and 2 steps have fronts, too", "[plan][pareto]") {
  for (step_index const n : {0, 1, 2}) check_front(pareto(loop(n)), loop(n));
  CHECK_THROWS_AS(pareto({}), invalid_plan);
  CHECK_THROWS_AS(pareto(loop(5), 1), invalid_plan);
}
