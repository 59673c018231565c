// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <algorithm>
#include <cairn/adapt/torch/loop/loop_estimate.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/plan/loop/estimate.hpp>

namespace loop_plan_tests {

/// The seconds of a loop by the counts of its schedule, and its bytes by a walk over that.
struct by_counts {
  double seconds = 0;
  cairn::wide bytes = 0;
};
by_counts weigh(cl::loop_costs const& costs, cairn::step_index size, cairn::slot_index slots) {
  auto const blocks = costs.steps / size + (costs.steps % size != 0);
  cairn::leaves const plan{costs.steps, size, cairn::revolve{blocks, slots}};
  auto const counts = cairn::estimate(plan).counts;
  auto const runs = double(counts.advances + counts.turned);
  return {runs * costs.step_seconds + double(costs.steps) * costs.vjp_seconds + double(blocks) * costs.call_seconds,
          cl::detail::loop_simulation{costs, plan}.peak()};
}
cl::loop_costs costs_of(cairn::step_index steps, cairn::wide tape, double call_seconds) {
  return {.steps = steps,
          .state_bytes = 10,
          .generator_bytes = 1,
          .step_bytes = 15,
          .block_bytes = tape + 20,
          .pair_bytes = 2 * tape + 25,
          .tape_bytes = tape,
          .gradient_bytes = 7,
          .other_bytes = 25,
          .step_seconds = 1,
          .vjp_seconds = 3,
          .call_seconds = call_seconds};
}

TEST_CASE("choose_loop finds the fastest checkpoints and block size within a limit", "[torch]") {
  for (cairn::step_index const steps : {1, 2, 7, 21})
    for (cairn::wide const tape : {cairn::wide{0}, cairn::wide{10}, cairn::wide{37}, cairn::wide{300}})
      for (double const call : {0.0, 0.7}) {
        auto const costs = costs_of(steps, tape, call);
        auto const least = cl::least_bytes(costs);
        CHECK_THROWS_AS(cl::choose_loop(costs, least - 1), cairn::infeasible_budget);
        for (cairn::wide limit = least; limit < least + 30 * (tape + 10); limit += 23) {
          double best = -1;
          for (cairn::step_index size = 1; size <= steps; ++size)
            for (cairn::slot_index slots = 1; slots <= steps; ++slots)
              if (cl::detail::bytes_of_loop(costs, size, slots) <= limit) {
                auto const found = weigh(costs, size, slots);
                if (best < 0 || found.seconds < best) best = found.seconds;
              }
          auto const chosen = cl::choose_loop(costs, limit);
          auto const real = weigh(costs, chosen.block_size, chosen.checkpoints);
          CAPTURE(steps, std::int64_t(limit), chosen.block_size, chosen.checkpoints);
          REQUIRE(chosen.peak_bytes <= limit);
          REQUIRE(real.bytes <= chosen.peak_bytes);
          REQUIRE(real.seconds == Approx(chosen.seconds));
          REQUIRE(chosen.seconds == Approx(best));
        }
      }
}
TEST_CASE("the bytes of a loop are those of a walk over its schedule, or up to two states more", "[torch]") {
  for (cairn::step_index const steps : {1, 2, 3, 8, 21, 50})
    for (cairn::step_index size = 1; size <= steps; ++size)
      for (cairn::slot_index slots = 1; slots <= cairn::useful_slots(cairn::detail::leaves_in(steps, size)); ++slots) {
        auto const costs = costs_of(steps, 30, 0);
        auto const walked = weigh(costs, size, slots).bytes, said = cl::detail::bytes_of_loop(costs, size, slots);
        CAPTURE(steps, size, slots, std::int64_t(walked), std::int64_t(said));
        REQUIRE(walked <= said);
        bool const short_last = steps % size != 0;  // the longest tapes then stand one slot later
        REQUIRE(said <= walked + (short_last ? 2 : 1) * (costs.state_bytes + costs.generator_bytes));
      }
}
TEST_CASE("choose_loop plans a loop of no steps, and states of no bytes", "[torch]") {
  CHECK(cl::choose_loop({.state_bytes = 4}, 100).checkpoints == 1);
  auto const chosen =
      cl::choose_loop({.steps = 9, .block_bytes = 4, .pair_bytes = 8, .tape_bytes = 4, .vjp_seconds = 1}, 4);
  CHECK(chosen.block_size == 1);
  CHECK(chosen.checkpoints == 8);
}
TEST_CASE("a dearer call of the engine makes larger blocks", "[torch]") {
  auto const cheap = cl::choose_loop(costs_of(100, 5, 0), 600), dear = cl::choose_loop(costs_of(100, 5, 50), 600);
  CHECK(cheap.block_size < dear.block_size);
}

}  // namespace loop_plan_tests
