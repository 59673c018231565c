// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file savings.hpp  Rules of thumb for evenly spaced checkpoints, from the numbers of steps and checkpoints alone.
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/schedule/uniform.hpp>

namespace cairn {

/// What k checkpoints save compared with keeping every state of a loop of n steps. `recomputation_factor` is n / k, the
/// number of steps between two checkpoints. It does not count recomputed steps; it is given because the number is well
/// known (32.3 for n = 1000). The steps really run are `forward_evaluations_per_step`, 1.94 for n = 1000.
struct memory_savings {
  wide without_checkpointing = 0;           ///< n states, or their bytes
  wide with_checkpointing = 0;              ///< k states, or their bytes
  double savings_percent = 0;               ///< 100 (1 - k / n)
  double savings_ratio = 1;                 ///< n / k
  step_index num_checkpoints = 0;           ///< k, without the initial state
  double recomputation_factor = 0;          ///< n / k; see above
  double forward_evaluations_per_step = 0;  ///< calls of the step in `uniform{n, {.checkpoints = k}}`, divided by n
  slot_index peak_states = 0;               ///< most states kept at once by that schedule; 62 for n = 1000
  double peak_savings_percent = 0;          ///< 100 (1 - peak_states / n)
};

/// The states that `uniform` keeps as checkpoints, in order: 31, 62, 93 ... for 1000 and 31.
/// \param num_checkpoints  0 .. seq_length, by default floor(sqrt(seq_length)); the final state is never one
/// \throws invalid_plan
[[nodiscard]] inline std::vector<step_index> compute_checkpoint_positions(
    step_index seq_length, std::optional<step_index> num_checkpoints = {}) {
  uniform const plan{seq_length, {.checkpoints = num_checkpoints}};
  std::vector<step_index> positions;
  positions.reserve(std::size_t(plan.checkpoints()));
  for (step_index k = 0; k < plan.checkpoints(); ++k) positions.push_back(plan.checkpoint(k));
  return positions;
}

/// What evenly spaced checkpoints save of the memory of a loop, and how often its steps run then.   Cost: O(1)
/// \param num_checkpoints  0 .. seq_length, by default floor(sqrt(seq_length))
/// \param state_bytes      the size of one state; with 1, memory is counted in states
/// \throws invalid_plan   \throws overflow_error   if state_bytes is 2^62 or more
[[nodiscard]] constexpr memory_savings get_memory_savings(step_index seq_length,
                                                          std::optional<step_index> num_checkpoints = {},
                                                          wide state_bytes = 1) {
  uniform const plan{seq_length, {.checkpoints = num_checkpoints}};
  if (state_bytes >= detail::most_bytes)
    throw overflow_error{
        "cairn::get_memory_savings", "a state of 2^62 bytes or more", {{"state bytes", state_bytes}}, ""};
  memory_savings sum;
  sum.num_checkpoints = num_checkpoints ? *num_checkpoints : step_index(detail::floor_sqrt(wide(seq_length)));
  sum.without_checkpointing = wide(seq_length) * state_bytes;
  sum.with_checkpointing = wide(sum.num_checkpoints) * state_bytes;
  sum.peak_states = plan.slots();
  if (seq_length == 0) return sum;
  auto const n = double(seq_length);
  auto const k = double(sum.num_checkpoints);
  sum.savings_percent = 100 * (n - k) / n;
  sum.recomputation_factor = sum.num_checkpoints > 0 ? n / k : std::numeric_limits<double>::infinity();
  sum.savings_ratio = sum.recomputation_factor;
  sum.forward_evaluations_per_step = double(step_calls(plan.counts(), adjoint_form::one_step)) / n;
  sum.peak_savings_percent = 100 * (n - double(sum.peak_states)) / n;
  return sum;
}

/// The same with floor(sqrt(seq_length)) checkpoints.
[[nodiscard]] constexpr memory_savings estimate_checkpoint_savings(step_index seq_length, wide state_bytes = 1) {
  return get_memory_savings(seq_length, {}, state_bytes);
}

/// Whether floor(sqrt(seq_length)) checkpoints save at least this share of the states.
/// \param threshold  0 .. 1   \throws invalid_plan   for another threshold or seq_length < 0
[[nodiscard]] constexpr bool should_checkpoint(step_index seq_length, double threshold = 0.5) {
  if (!(threshold >= 0 && threshold <= 1))
    throw invalid_plan{"cairn::should_checkpoint", "the threshold is not between 0 and 1", {},
                       "give a number from 0 to 1"};
  auto const kept = get_memory_savings(seq_length).num_checkpoints;
  return (seq_length > 0 ? double(seq_length - kept) / double(seq_length) : 0.0) >= threshold;
}

}  // namespace cairn
