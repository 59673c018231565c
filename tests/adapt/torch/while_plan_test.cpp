// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <algorithm>
#include <cairn/adapt/torch/loop/loop_plan.hpp>

namespace while_plan_tests {

using cairn::wide;
using cl::detail::bytes_of_while;
using cl::detail::choose_while;
using cl::detail::while_plan;

cl::loop_costs costs_of(double tape_in_states, double call_seconds) {
  auto const tape = wide(1000 * tape_in_states);
  return {.state_bytes = 1000,
          .generator_bytes = 10,
          .step_bytes = 1500,
          .block_bytes = tape + 2000,
          .pair_bytes = 2 * tape + 2500,
          .tape_bytes = tape,
          .gradient_bytes = 700,
          .other_bytes = 2500,
          .step_seconds = 1,
          .vjp_seconds = 2.5,
          .call_seconds = call_seconds};
}

TEST_CASE("a plan for any length is 1.01 times as slow as one made for the length on average, and 1.55 times at worst",
          "[torch]") {
  double worst = 1, sum = 0;
  int count = 0;
  for (double tape = 1; tape < 60; tape *= 1.3)
    for (double const call : {0.0, 0.25, 0.5, 1.0, 2.0, 4.0})
      for (double more = 0; more < 20'000; more = 1.15 * more + 0.1) {  // tapes beyond the least
        auto costs = costs_of(tape, call);
        auto const limit = bytes_of_while(costs, {1, 1}) + wide(1000 * tape * more);
        auto const plan = choose_while(costs, limit);
        CAPTURE(tape, call, more, plan.checkpoints, plan.block_size);
        bool const is_full =
            plan.checkpoints == 4096 || bytes_of_while(costs, {plan.checkpoints + 1, plan.block_size}) > limit;
        if (bytes_of_while(costs, plan) > limit || !is_full) FAIL("the limit is not used, or not kept");
        for (cairn::step_index const steps : {10, 30, 100, 300, 1000, 10'000, 100'000, 1'000'000}) {
          costs.steps = steps;
          double const slowdown = cl::detail::seconds_of_loop(costs, plan.block_size, plan.checkpoints) /
                                  cl::choose_loop(costs, limit).seconds;
          worst = std::max(worst, slowdown);
          sum += slowdown;
          ++count;
        }
      }
  CHECK(worst < 1.55);
  CHECK(worst > 1.2);  // to know the length is worth something
  CHECK(sum / count < 1.01);
}

TEST_CASE("a plan for any length has its ends", "[torch]") {
  auto const costs = costs_of(1, 0.5);
  auto const least = choose_while(costs, bytes_of_while(costs, {1, 1}));
  CHECK(least.checkpoints == 1);
  CHECK(least.block_size == 1);
  auto const most = choose_while(costs, ~wide{0});
  CHECK(most.checkpoints == 4096);
  CHECK(most.block_size > 900);
  CHECK(most.block_size <= 1024);
  auto const weightless = choose_while({.block_bytes = 4, .pair_bytes = 8, .tape_bytes = 4, .vjp_seconds = 1}, 4);
  CHECK(weightless.checkpoints == 4096);
  CHECK(weightless.block_size == 1);
  auto const timeless =
      choose_while({.state_bytes = 1, .block_bytes = 4, .pair_bytes = 8, .tape_bytes = 4, .step_seconds = 0}, 100);
  CHECK(bytes_of_while({.state_bytes = 1, .block_bytes = 4, .pair_bytes = 8, .tape_bytes = 4}, timeless) <= 100);
}

TEST_CASE("a dearer call of the engine makes larger blocks of a loop of unknown length", "[torch]") {
  auto const limit = bytes_of_while(costs_of(1, 0), {1, 1}) + 30'000;
  CHECK(choose_while(costs_of(1, 0), limit).block_size < choose_while(costs_of(1, 20), limit).block_size);
}

}  // namespace while_plan_tests
