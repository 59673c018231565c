#pragma once
/// \file loop_limit.hpp  A memory limit becomes checkpoints and a block size.
#include <cstdint>
#include <limits>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/free_memory.hpp>
#include <cairn/adapt/torch/loop_body.hpp>
#include <cairn/adapt/torch/loop_options.hpp>
#include <cairn/adapt/torch/loop_plan.hpp>
#include <cairn/adapt/torch/loop_probe.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::detail {

/// The limit of the options in bytes, `none` where they have none.   \throws device_error
[[nodiscard]] inline wide limit_of(LoopOptions const& options, at::TensorList state, wide none) {
  if (auto const bytes = options.memory_limit()) return bytes->count();
  if (options.memory_share() > 0) return wide(options.memory_share() * double(free_memory(device_of(state))));
  return none;
}
/// The options with checkpoints and a block size in place of a memory limit, if there is one.   \pre steps >= 1
/// \throws invalid_plan, infeasible_budget, device_error; invalid_call where a profiler of LibTorch's is on
[[nodiscard]] inline LoopOptions within_limit(char const* who, list_step const& step, step_index steps, at::TensorList initial, LoopOptions options,
                                              loop_data const& data = {}) {
  if (!options.has_memory_limit()) return options;
  (void)loop_schedule(who, steps, options);
  wide const limit = limit_of(options, initial, 0);
  auto const costs = loop_probe{step, steps, initial, options, data}.run(limit);
  if (wide const least = least_bytes(costs); limit < least)
    throw infeasible_budget{who, "the memory limit is below what any plan takes",
                            {{"limit", limit}, {"least", least}, {"bytes of a state", costs.state_bytes}, {"of gradients", costs.gradient_bytes}},
                            "give the least, or make the state or the step smaller"};
  auto const choice = choose_loop(costs, limit);
  return options.no_memory_limit().checkpoints(choice.checkpoints).block_size(choice.block_size);
}

}  // namespace cairn::detail
