// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_limit.hpp  Converts a memory limit to checkpoints and a block size.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/loop/detail/device_of.hpp>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_probe.hpp>
#include <cairn/adapt/torch/loop/detail/loop_sweep.hpp>
#include <cairn/adapt/torch/loop/detail/step_identity.hpp>
#include <cairn/adapt/torch/loop/detail/tensor_series.hpp>
#include <cairn/adapt/torch/loop/detail/while_plan.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/loop/loop_plans.hpp>
#include <cairn/adapt/torch/memory/free_memory.hpp>
#include <cairn/adapt/torch/memory/memory_limit.hpp>
#include <cairn/adapt/torch/state/detail/plan_key.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::libtorch::detail {

/// The options, with the limit of the process if they set no schedule, checkpoints, block size or limit.
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
/// What a loop's costs depend on.   \param steps  -1 if unknown
[[nodiscard]] inline plan_key key_of_loop(step_identity of, step_index steps, at::TensorList initial,
                                          LoopOptions const& options, loop_data const& data) {
  auto key = std::move(static_cast<plan_key&>(of));
  key.add(key.key.size());
  key.add(steps);
  key.add(options.memory_limit() ? options.memory_limit()->count() : 0);
  key.add(std::bit_cast<std::int64_t>(options.memory_share()));
  key.add(options.capture());
  key.add(options.rng());
  key.add(options.determinism());
  key.add(options.verify());
  key.add(options.double_backward());
  key.add(options.side_effects());
  key.add(options.slots());
  key.add(options.offload());
  key.add_autocast();
  key.add(at::autocast::is_autocast_cache_enabled());
  key.add(at::globalContext().deterministicAlgorithms());
  key.add(at::get_num_threads());  // kernels take temporary memory for each thread
  tensor_list all = initial.vec();
  for (auto const& series : data.inputs) all.insert(all.end(), series.tensors().begin(), series.tensors().end());
  for (auto const* list : {&options.captures(), &options.buffers()}) all.insert(all.end(), list->begin(), list->end());
  for (auto const parts : {initial.size(), data.inputs.size(), options.captures().size(), options.modes().size()})
    key.add(parts);
  for (bool const mode : options.modes()) key.add(mode);
  key.add(data.outputs);
  key.add_tensors(all);
  return key;
}
/// The costs of a loop: kept ones, or those that `measure()` returns. These are kept if `check(costs)` does not throw
/// and enough steps were measured.   \param least_steps  costs from fewer steps are not valid for other such loops
template <class Measure, class CheckCosts>
[[nodiscard]] loop_costs kept_or_measured(step_identity of, step_index steps, at::TensorList initial,
                                          LoopOptions const& options, loop_data const& data, step_index least_steps,
                                          Measure measure, CheckCosts check) {
  auto* const place = options.plans() ? options.plans().get() : of.is_known ? &loop_plans_of_this_thread() : nullptr;
  if (place == nullptr) {
    auto costs = measure();
    check(costs);
    return costs;
  }
  auto key = key_of_loop(std::move(of), steps, initial, options, data);
  if (auto const known = place->find(key.key)) {
    check(known->costs);
    return known->costs;
  }
  auto costs = measure();
  check(costs);
  if (costs.steps >= least_steps) place->keep({std::move(key), costs});
  return costs;
}
/// The options with a memory limit, if any, replaced by checkpoints and a block size.   \pre steps >= 1
/// \param of  identifies the step   \throws invalid_plan, infeasible_budget, device_error; invalid_call if a profiler
///   of LibTorch is on and steps are measured
[[nodiscard]] inline LoopOptions within_limit(char const* who, flat_step const& step, step_identity of,
                                              step_index steps, at::TensorList initial, LoopOptions options,
                                              loop_data const& data = {}) {
  options = with_process_limit(std::move(options));
  if (!options.has_memory_limit()) return options;
  (void)loop_schedule(who, steps, options);
  wide const limit = limit_of(options, initial, 0);
  auto const costs = kept_or_measured(
      std::move(of), steps, initial, options, data, 0,
      [&] { return loop_probe{step, steps, initial, options, data, who}.run(limit); },
      [&](loop_costs const& found) { check_limit(who, limit, least_bytes(found), found); });
  auto const choice = choose_loop(costs, limit);
  return options.no_memory_limit().checkpoints(choice.checkpoints).block_size(choice.block_size);
}
/// The same for a loop of unknown length that continues at state 0.   \throws as above
[[nodiscard]] inline LoopOptions while_within_limit(flat_step const& step, step_identity of, at::TensorList initial,
                                                    LoopOptions options, state_question const& goes_on) {
  options = with_process_limit(std::move(options));
  if (!options.has_memory_limit()) return options;
  wide const limit = limit_of(options, initial, 0);
  auto const measure = [&] {
    loop_probe probe{step, 0, initial, options, {}, while_name};
    probe.count_steps(goes_on);
    auto costs = probe.run(limit);
    costs.step_bytes = (std::max)(costs.step_bytes, costs.state_bytes + probe.asked_bytes()) +
                       probe.carried_bytes();  // everything besides states
    return costs;
  };
  auto const costs =
      kept_or_measured(std::move(of), -1, initial, options, {}, loop_probe::counted, measure,
                       [&](loop_costs const& found) {
                         check_limit(while_name, limit,
                                     (std::max)(bytes_of_while(found, {1, 1}), found.probe_bytes), found);
                       });
  auto const choice = choose_while(costs, limit);
  return options.no_memory_limit().checkpoints(choice.checkpoints).block_size(choice.block_size);
}

}  // namespace cairn::libtorch::detail
