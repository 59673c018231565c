#pragma once
/// \file loop_limit.hpp  Converts a memory limit to checkpoints and a block size.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/loop/detail/device_of.hpp>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_probe.hpp>
#include <cairn/adapt/torch/loop/detail/loop_sweep.hpp>
#include <cairn/adapt/torch/loop/detail/while_plan.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/memory/free_memory.hpp>
#include <cairn/adapt/torch/memory/memory_limit.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::libtorch::detail {

/// The options with the limit of the process, where they say nothing of checkpoints, blocks or a limit.
[[nodiscard]] inline LoopOptions with_process_limit(LoopOptions options) {
  bool const is_free =
      !options.has_memory_limit() && !options.schedule() && options.checkpoints() == 0 && options.block_size() == 0;
  if (auto const limit = libtorch::memory_limit(); limit && is_free) options.memory_limit(*limit);
  return options;
}
/// The limit of the options in bytes, or `none`.   \throws device_error
[[nodiscard]] inline wide limit_of(LoopOptions const& options, at::TensorList state, wide none) {
  if (auto const bytes = options.memory_limit()) return bytes->count();
  if (options.memory_share() > 0) return wide(options.memory_share() * double(free_memory(device_of(state))));
  return none;
}
/// \throws infeasible_budget   if the limit is below the least
inline void check_limit(char const* who, wide limit, wide least, loop_costs const& costs) {
  if (limit < least)
    throw infeasible_budget{who,
                            "the memory limit is below what any plan takes",
                            {{"limit", limit},
                             {"least", least},
                             {"bytes of a state", costs.state_bytes},
                             {"of gradients", costs.gradient_bytes}},
                            "give the least, or make the state or the step smaller"};
}
/// The options with a memory limit, if any, replaced by checkpoints and a block size.   \pre steps >= 1
/// \throws invalid_plan, infeasible_budget, device_error; invalid_call if a profiler of LibTorch is on
[[nodiscard]] inline LoopOptions within_limit(char const* who, flat_step const& step, step_index steps,
                                              at::TensorList initial, LoopOptions options, loop_data const& data = {}) {
  options = with_process_limit(std::move(options));
  if (!options.has_memory_limit()) return options;
  (void)loop_schedule(who, steps, options);
  wide const limit = limit_of(options, initial, 0);
  auto const costs = loop_probe{step, steps, initial, options, data, who}.run(limit);
  check_limit(who, limit, least_bytes(costs), costs);
  auto const choice = choose_loop(costs, limit);
  return options.no_memory_limit().checkpoints(choice.checkpoints).block_size(choice.block_size);
}
/// The same for a loop of unknown length that continues at state 0.   \throws as above
[[nodiscard]] inline LoopOptions while_within_limit(flat_step const& step, at::TensorList initial, LoopOptions options,
                                                    state_question const& goes_on) {
  options = with_process_limit(std::move(options));
  if (!options.has_memory_limit()) return options;
  wide const limit = limit_of(options, initial, 0);
  loop_probe probe{step, 0, initial, options, {}, while_name};
  probe.count_steps(goes_on);
  auto costs = probe.run(limit);
  costs.step_bytes = (std::max)(costs.step_bytes, costs.state_bytes + probe.asked_bytes()) +
                     probe.carried_bytes();  // everything besides states
  check_limit(while_name, limit, (std::max)(bytes_of_while(costs, {1, 1}), costs.probe_bytes), costs);
  auto const choice = choose_while(costs, limit);
  return options.no_memory_limit().checkpoints(choice.checkpoints).block_size(choice.block_size);
}

}  // namespace cairn::libtorch::detail
