// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_plan.hpp  Chooses how many states a loop keeps and how many steps it differentiates together.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plans.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/plan/loop/verified.hpp>
#include <cairn/rules/detail/most_within.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/detail/leaves_in.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/revolve.hpp>

namespace cairn::libtorch {

/// A choice for running a loop within a limit.
struct loop_choice {
  slot_index checkpoints = 1;  ///< states kept at once
  step_index block_size = 1;  ///< steps differentiated together
  /// The peak in total: states, including those in use and the initial one, the tapes of a block, and the rest.
  wide peak_bytes = 0;
  double seconds = 0;  ///< of forward and backward together
};

namespace detail {

[[nodiscard]] constexpr step_index whole_square_root(step_index n) noexcept {
  step_index root = 0;
  while ((root + 1) <= n / (root + 1)) ++root;
  return root;
}

/// The most that a block of `size` steps takes while it is differentiated.
[[nodiscard]] constexpr wide bytes_of_block(loop_costs const& costs, step_index size) noexcept {
  if (size < 2) return costs.block_bytes;
  return costs.pair_bytes + wide(size - 2) * costs.tape_bytes + (size > 2 ? costs.third_bytes : 0);
}
/// The peak of a loop by a `revolve` over its blocks, at which all slots are full and there is a live state.
[[nodiscard]] constexpr wide bytes_of_loop(loop_costs const& costs, step_index size, slot_index slots) noexcept {
  step_index const blocks = cairn::detail::leaves_in(costs.steps, size);
  wide const kept = wide(slots) * costs.generator_bytes;
  wide const states = wide(slots < blocks ? slots + 1 : blocks);
  wide const backward =
      costs.other_bytes + costs.gradient_bytes + bytes_of_block(costs, size) + states * costs.state_bytes + kept;
  wide const forward = costs.step_bytes + (states + 1) * costs.state_bytes + kept;
  return forward < backward ? backward : forward;
}
/// The seconds of a loop by a `revolve` over its blocks: forward, and recomputation from checkpoints. The turn runs the
/// last block, every other advance a whole one.
[[nodiscard]] constexpr double seconds_of_loop(loop_costs const& costs, step_index size, slot_index slots) noexcept {
  step_index const blocks = cairn::detail::leaves_in(costs.steps, size), useful = useful_slots(blocks);
  double const runs = double(fewest_advances(blocks, slots < useful ? slots : useful)) * double(size) +
                      double(costs.steps - (blocks - 1) * size);
  return runs * costs.step_seconds + double(costs.steps) * costs.vjp_seconds + double(blocks) * costs.call_seconds;
}
/// The cheapest choice with blocks of `size` steps; none if even one slot is too much.
[[nodiscard]] constexpr std::optional<loop_choice> with_blocks_of(step_index size, loop_costs const& costs,
                                                                  wide limit) noexcept {
  step_index const blocks = cairn::detail::leaves_in(costs.steps, size);
  slot_fit const found = cairn::detail::most_within(
      limit, 1, useful_slots(blocks), [&](slot_index slots) { return bytes_of_loop(costs, size, slots); });
  if (!found.fits) return {};
  return loop_choice{found.slots, size, found.bytes, seconds_of_loop(costs, size, found.slots)};
}
/// Calls `visit` with each useful block size, the least for its number of blocks, from 1 to all steps.
template <class Visit>
constexpr void each_block_size(step_index steps, Visit visit) {
  for (step_index size = 1;;) {
    visit(size);
    step_index const blocks = cairn::detail::leaves_in(steps, size);
    if (blocks < 2) return;
    size = cairn::detail::leaves_in(steps, blocks - 1);
  }
}

}  // namespace detail

/// The least bytes with which a loop of one step or more can be measured and run.   Cost: O(sqrt T)
[[nodiscard]] constexpr wide least_bytes(loop_costs const& costs) noexcept {
  wide least = detail::bytes_of_loop(costs, 1, 1);
  if (costs.steps > 1)
    detail::each_block_size(costs.steps, [&](step_index size) {
      if (wide const bytes = detail::bytes_of_loop(costs, size, 1); bytes < least) least = bytes;
    });
  return least < costs.probe_bytes ? costs.probe_bytes : least;
}
/// The fastest (checkpoints, block size) that fits a limit; of equally fast ones the smallest.
/// \throws infeasible_budget  if no plan fits; the values name the least feasible limit
/// Cost: O(sqrt T) candidates, O(log T) each.
[[nodiscard]] constexpr loop_choice choose_loop(loop_costs const& costs, wide limit) {
  if (costs.steps < 1) return {1, 1, costs.state_bytes, 0};
  std::optional<loop_choice> best;
  detail::each_block_size(costs.steps, [&](step_index size) {
    auto const found = detail::with_blocks_of(size, costs, limit);
    if (found && (!best || found->seconds < best->seconds ||
                  (found->seconds == best->seconds && found->peak_bytes < best->peak_bytes)))
      best = found;
  });
  if (!best)
    throw infeasible_budget{"cairn::libtorch::choose_loop",
                            "the limit is below what any plan takes",
                            {{"bytes", limit}, {"least bytes", least_bytes(costs)}},
                            "allow that much, or make the state or the step smaller"};
  return *best;
}

namespace detail {

/// \throws invalid_plan   if the options' numbers are invalid or contradict each other
inline void check_sizes(char const* who, LoopOptions const& options) {
  auto const slots = options.checkpoints(), size = options.block_size();
  if (slots < 0 || size < 0)
    throw invalid_plan{who,
                       "checkpoints and block sizes are 1 or more, or 0 for the default",
                       {{"checkpoints", slots}, {"block size", size}},
                       ""};
  if (options.has_memory_limit() && (slots > 0 || size > 0 || options.schedule()))
    throw invalid_plan{who,
                       "a memory limit chooses checkpoints and blocks itself",
                       {{"checkpoints", slots}, {"block size", size}},
                       "give either"};
}
/// The schedule of the options for a loop of `steps` steps.   \throws invalid_plan, invalid_schedule
[[nodiscard]] inline any_schedule loop_schedule(char const* who, step_index steps, LoopOptions const& options) {
  if (steps < 0) throw invalid_plan{who, "the number of steps is negative", {{"steps", steps}}, ""};
  check_sizes(who, options);
  auto const slots = options.checkpoints(), size = options.block_size();
  if (auto const& given = options.schedule()) {
    if (slots > 0 || size > 0)
      throw invalid_plan{who,
                         "a schedule brings its own checkpoints and blocks",
                         {{"checkpoints", slots}, {"block size", size}},
                         "give either"};
    if (given->steps() != steps)
      throw invalid_plan{who,
                         "the schedule is for another number of steps",
                         {{"its steps", given->steps()}, {"steps", steps}},
                         "make one for this loop"};
    if (given->tapes() > 0)
      throw invalid_plan{who, "the schedule keeps tapes", {{"tapes", given->tapes()}},
                         "keep states only; blocks of several steps keep their tapes together"};
    return verified<any_schedule>{*given}.inner();
  }
  step_index const block = size > 0 ? size : slots > 0 || steps < 1 ? 1 : whole_square_root(steps);
  step_index const blocks = cairn::detail::leaves_in(steps, block);
  return leaves{steps, block, revolve{blocks, slots > 0 ? slots : useful_slots(blocks)}};
}

}  // namespace detail

namespace detail {

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

}  // namespace detail

}  // namespace cairn::libtorch
