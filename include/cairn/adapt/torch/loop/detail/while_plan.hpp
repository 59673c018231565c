// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file while_plan.hpp  How many states a loop of unknown length keeps, and how many steps it differentiates together.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/schedule/online.hpp>

namespace cairn::libtorch::detail {

inline constexpr char const* while_name = "cairn::libtorch::checkpointed_while";

/// A plan for a loop of unknown length: an `online` plan over blocks of steps.
struct while_plan {
  slot_index checkpoints = 32;  ///< enough for 6,545 blocks with three runs of each
  step_index block_size = 1;
};

/// The plan of the options, before any memory limit.   \throws invalid_plan
[[nodiscard]] inline while_plan plan_of_while(LoopOptions const& options) {
  check_sizes(while_name, options);
  if (auto const& given = options.schedule())
    throw invalid_plan{while_name,
                       "a schedule is for a known number of steps",
                       {{"its steps", given->steps()}},
                       "give checkpoints(...) and block_size(...), or memory_limit(...), or run that many steps with "
                       "checkpointed_loop"};
  while_plan plan;
  if (options.checkpoints() > 0) plan.checkpoints = options.checkpoints();
  if (options.block_size() > 0) plan.block_size = options.block_size();
  return plan;
}

/// The peak of a loop of unknown length. In the forward half each block runs ahead of its first state, which is kept
/// only when it is known that the loop continues. At the peak all slots are full.
[[nodiscard]] constexpr wide bytes_of_while(loop_costs const& costs, while_plan const& plan) noexcept {
  wide const slots = wide(plan.checkpoints) * (costs.state_bytes + costs.generator_bytes);
  wide const live = plan.block_size > 1 ? 2 : 1;  // the first state of the block, and the first state of the step
  wide const forward =
      live * costs.state_bytes + 2 * costs.generator_bytes + (std::max)(costs.step_bytes, costs.generator_bytes);
  wide const backward =
      costs.state_bytes + bytes_of_block(costs, plan.block_size) + costs.gradient_bytes + costs.other_bytes;
  return slots + (std::max)(forward, backward);
}
/// Calls `visit` with plans that fit a limit: block sizes from 1 to 1,024, each with the most checkpoints that fit, up
/// to 4,096. The largest plan runs no step twice in loops of 3.7 million steps; beyond it, tables and graphs that no
/// limit counts become significant.
template <class Visit>
constexpr void each_while_plan(loop_costs const& costs, wide limit, Visit visit) {
  constexpr slot_index most_checkpoints = 4096;
  constexpr step_index most_steps = 1024;
  for (step_index size = 1; size <= most_steps; size += 1 + size / 8) {
    wide const least = bytes_of_while(costs, {1, size});
    if (least > limit) return;
    wide const slot = costs.state_bytes + costs.generator_bytes;
    wide const more = slot > 0 ? (limit - least) / slot : wide(most_checkpoints);
    visit(while_plan{more < wide(most_checkpoints) ? 1 + slot_index(more) : most_checkpoints, size});
  }
}
/// The plan within a limit that suits any length. For loops of 10, 100 ... 1,000,000 steps, each plan is compared with
/// the best plan for that length, and its largest slow-down counts; the plan with the smallest is taken. The best plans
/// for different lengths differ little: if a tape is at least as large as a state, this plan takes 1.006 times the time
/// of `choose_loop` for a known length on average, and 1.55 times at worst, with five slots for ten steps.
/// \pre bytes_of_while(costs, {1, 1}) <= limit   Cost: some hundred evaluations of closed forms.
[[nodiscard]] constexpr while_plan choose_while(loop_costs costs, wide limit) {
  constexpr std::array<step_index, 6> lengths{10, 100, 1000, 10'000, 100'000, 1'000'000};
  auto const seconds = [&](while_plan const& plan, step_index steps) {
    costs.steps = steps;
    return seconds_of_loop(costs, plan.block_size, plan.checkpoints);
  };
  std::array<double, lengths.size()> best{};
  best.fill(std::numeric_limits<double>::infinity());
  each_while_plan(costs, limit, [&](while_plan const& plan) {
    for (std::size_t k = 0; k < best.size(); ++k) best[k] = (std::min)(best[k], seconds(plan, lengths[k]));
  });
  while_plan chosen{1, 1};
  double least = std::numeric_limits<double>::infinity();
  each_while_plan(costs, limit, [&](while_plan const& plan) {
    double worst = 1;
    for (std::size_t k = 0; k < best.size(); ++k)
      if (double const took = seconds(plan, lengths[k]); took > best[k]) worst = (std::max)(worst, took / best[k]);
    if (worst < least) {
      least = worst;
      chosen = plan;
    }
  });
  return chosen;
}

}  // namespace cairn::libtorch::detail
