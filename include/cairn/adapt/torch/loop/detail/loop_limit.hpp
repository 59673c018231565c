// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_limit.hpp  Converts a memory limit to checkpoints and a block size.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_probe.hpp>
#include <cairn/adapt/torch/loop/detail/loop_sweep.hpp>
#include <cairn/adapt/torch/loop/detail/tensor_series.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/loop/loop_plans.hpp>
#include <cairn/adapt/torch/memory/free_memory.hpp>
#include <cairn/adapt/torch/memory/memory_limit.hpp>
#include <cairn/adapt/torch/state/detail/versions.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::libtorch::detail {

/// The options, with the limit of the process if they set no schedule, checkpoints, block size or limit.
[[nodiscard]] inline LoopOptions with_process_limit(LoopOptions options) {
  bool const is_free =
      !options.has_memory_limit() && !options.schedule() && options.checkpoints() == 0 && options.block_size() == 0;
  if (auto const limit = libtorch::memory_limit(); limit && is_free) options.memory_limit(*limit);
  return options;
}
/// The limit of the options in bytes; 0 if there is none.   \throws device_error
[[nodiscard]] inline wide limit_of(LoopOptions const& options, at::TensorList state) {
  if (auto const bytes = options.memory_limit()) return bytes->count();
  if (options.memory_share() > 0) return wide(options.memory_share() * double(free_memory(device_of(state))));
  return 0;
}
/// What a loop's costs depend on.   \param steps  -1 if unknown
[[nodiscard]] inline plan_key key_of_loop(plan_key key, step_index steps, at::TensorList initial,
                                          LoopOptions const& options, loop_data const& data) {
  key.add_size();
  key.add(steps, options.memory_limit() ? options.memory_limit()->count() : 0,
          std::bit_cast<std::int64_t>(options.memory_share()), options.capture(), options.rng(), options.determinism(),
          options.verify(), options.double_backward(), options.side_effects(), options.slots(), options.offload());
  for (auto const device : {at::kCPU, at::kCUDA}) key.add(autocast_is_on(device), autocast_type(device));
  key.add(at::autocast::is_autocast_cache_enabled(), at::globalContext().deterministicAlgorithms(),
          at::get_num_threads());  // kernels take temporary memory for each thread
  tensor_list all = initial.vec();
  for (auto const& series : data.inputs) all.insert(all.end(), series.tensors().begin(), series.tensors().end());
  for (auto const* list : {&options.captures(), &options.buffers()}) all.insert(all.end(), list->begin(), list->end());
  key.add(initial.size(), data.inputs.size(), options.captures().size(), options.modes().size());
  for (bool const mode : options.modes()) key.add(mode);
  key.add(data.outputs);
  key.add_tensors(all);
  return key;
}
/// The place for plans of a thread's loops whose step is a module.
[[nodiscard]] inline LoopPlans& loop_plans_of_this_thread() {
  static thread_local LoopPlans plans;
  return plans;
}
/// The options with a memory limit, if any, replaced by checkpoints and a block size. Costs are those that were kept,
/// or those that `measure(options, limit)` returns, which are kept if they are enough.
/// \param of  identifies the step   \param steps  -1 if unknown   \param least_steps  costs from fewer steps are not
///   valid for other such loops   \param least(costs)  in bytes   \param choose(costs, limit)  the plan
/// \throws infeasible_budget   if the limit is below the least
template <class Measure, class Least, class Choose>
[[nodiscard]] LoopOptions planned(char const* who, plan_key of, step_index steps, at::TensorList initial,
                                  LoopOptions options, loop_data const& data, step_index least_steps, Measure measure,
                                  Least least, Choose choose) {
  options = with_process_limit(std::move(options));
  if (!options.has_memory_limit()) return options;
  wide const limit = limit_of(options, initial);
  auto* const place = options.plans() ? options.plans().get() : of.is_known ? &loop_plans_of_this_thread() : nullptr;
  std::optional<loop_costs> known;
  if (place != nullptr) known = place->find(of = key_of_loop(std::move(of), steps, initial, options, data));
  auto const costs = known ? *known : measure(options, limit);
  if (wide const needed = least(costs); limit < needed)
    throw infeasible_budget{who,
                            "the memory limit is below what any plan takes",
                            {{"limit", limit},
                             {"least", needed},
                             {"bytes of a state", costs.state_bytes},
                             {"of gradients", costs.gradient_bytes}},
                            "give the least, or make the state or the step smaller"};
  if (!known && place != nullptr && costs.steps >= least_steps) place->keep(std::move(of), costs);
  auto const choice = choose(costs, limit);
  return options.no_memory_limit().checkpoints(choice.checkpoints).block_size(choice.block_size);
}
/// The same for a loop of known length.   \pre steps >= 1
/// \throws invalid_plan, infeasible_budget, device_error; invalid_call if a profiler of LibTorch is on and steps are
///   measured
[[nodiscard]] inline LoopOptions within_limit(char const* who, flat_step const& step, plan_key of, step_index steps,
                                              at::TensorList initial, LoopOptions options,
                                              loop_data const& data = {}) {
  if (options.has_memory_limit()) (void)loop_schedule(who, steps, options);
  auto const measure = [&](LoopOptions const& how, wide limit) {
    return loop_probe{step, steps, initial, how, data, who}.run(limit);
  };
  return planned(who, std::move(of), steps, initial, std::move(options), data, 0, measure, least_bytes, choose_loop);
}
/// The same for a loop of unknown length that continues at state 0.   \throws as above
[[nodiscard]] inline LoopOptions while_within_limit(flat_step const& step, plan_key of, at::TensorList initial,
                                                    LoopOptions options, state_question const& goes_on) {
  auto const measure = [&](LoopOptions const& how, wide limit) {
    loop_probe probe{step, 0, initial, how, {}, while_name};
    probe.count_steps(goes_on);
    auto costs = probe.run(limit);
    costs.step_bytes = (std::max)(costs.step_bytes, costs.state_bytes + probe.asked_bytes()) +
                       probe.carried_bytes();  // everything besides states
    return costs;
  };
  auto const least = [](loop_costs const& found) {
    return (std::max)(bytes_of_while(found, {1, 1}), found.probe_bytes);
  };
  return planned(while_name, std::move(of), -1, initial, std::move(options), {}, loop_probe::counted, measure, least,
                 choose_while);
}

}  // namespace cairn::libtorch::detail
