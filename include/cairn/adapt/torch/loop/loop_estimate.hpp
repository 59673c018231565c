// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_estimate.hpp  Predicts the time and memory of a loop over tensors before it runs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <ATen/core/grad_mode.h>
#include <cairn/adapt/torch/loop/detail/loop_limit.hpp>
#include <cairn/adapt/torch/loop/detail/loop_probe.hpp>
#include <cairn/adapt/torch/loop/detail/loop_simulation.hpp>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/door/detail/refused.hpp>

namespace cairn::libtorch {

/// What a loop over tensors will take. The counts are those of `StepStats` after one forward and one backward.
struct LoopEstimate {
  loop_costs costs;  ///< what was measured
  slot_index checkpoints = 0;  ///< most states kept at once, for `LoopOptions::checkpoints`
  step_index block_size = 1;  ///< most steps that are differentiated together, for `LoopOptions::block_size`
  std::int64_t forward = 0;  ///< steps run forward, = T
  std::int64_t recompute = 0;  ///< steps run again without a tape
  std::int64_t vjp = 0;  ///< steps differentiated, = T
  std::int64_t engine_calls = 0;  ///< blocks
  /// The most bytes of tensors at once, the initial state and the gradients of captured tensors included.
  wide peak_bytes = 0;
  /// The outputs of a scan and the gradients of its inputs: not part of `peak_bytes`, nor counted by any limit.
  wide caller_bytes = 0;
  wide kept_bytes = 0;  ///< the part of `peak_bytes` that is held between forward and backward
  /// The least value for `memory_limit`: for any choice of checkpoints and block size, and for the measurement.
  wide least_bytes = 0;
  wide limit_bytes = 0;  ///< the limit that was given, 0 if none
  double forward_seconds = 0;  ///< of forward
  double seconds = 0;  ///< of forward and backward
  double plain_seconds = 0;  ///< of the plain loop, if it had enough memory

  /// Whether it fits the limit; true if there is none.
  [[nodiscard]] bool fits() const noexcept {
    return limit_bytes == 0 || (std::max)(peak_bytes, least_bytes) <= limit_bytes;
  }
  /// The time relative to that of the plain loop; 1 for a loop of no steps.
  [[nodiscard]] double slowdown() const noexcept { return plain_seconds > 0 ? seconds / plain_seconds : 1; }
  /// A human-readable table: the measurements of a loop and this estimate, one line per number.
  /// \param ran  statistics of one forward and one backward
  [[nodiscard]] std::string table(StepStats const& ran) const {
    StepStats expected;
    expected.forward = forward;
    expected.recompute = recompute;
    expected.vjp = vjp;
    expected.engine_calls = engine_calls;
    expected.slots_peak = checkpoints;
    expected.tensor_bytes = std::int64_t(peak_bytes + caller_bytes);
    expected.forward_seconds = forward_seconds;
    expected.backward_seconds = seconds - forward_seconds;
    return detail::stats_table{ran, &expected}.text();
  }
  /// A human-readable table, one line per limit: the fastest plan within the least feasible limit, twice that ... up to
  /// the memory of all tapes.
  [[nodiscard]] std::string table() const {
    std::string text = " checkpoints  block size        bytes  slowdown\n";
    if (costs.steps < 1) return text;
    auto const everything = detail::bytes_of_loop(costs, costs.steps, 1);
    loop_choice last{};
    for (wide limit = least_bytes;; limit *= 2) {
      auto const choice = choose_loop(costs, limit);
      if (choice.checkpoints != last.checkpoints || choice.block_size != last.block_size) {
        char line[96];
        using wide_int = long long;  // the type that printf expects
        std::snprintf(line, sizeof line, "%12lld%12lld%13s%10.2f\n", wide_int{choice.checkpoints},
                      wide_int{choice.block_size}, to_short_text(choice.peak_bytes).c_str(),
                      plain_seconds > 0 ? choice.seconds / plain_seconds : 1.0);
        text += line;
      }
      last = choice;
      if (limit >= everything) return text;
    }
  }
};

namespace detail {

/// \param data  the steps' inputs and outputs besides the state
[[nodiscard]] inline LoopEstimate estimate_loop(flat_step const& step, step_index steps, at::TensorList initial,
                                                LoopOptions options, loop_data const& data = {}) {
  constexpr char const* who = "cairn::libtorch::estimate";
  options = with_process_limit(std::move(options));
  (void)loop_schedule(who, steps, options);
  LoopEstimate sum;
  if (steps < 1) return sum;
  sum.limit_bytes = limit_of(options, initial, 0);
  bool const limited = options.has_memory_limit();
  at::AutoGradMode const with_grad{true};
  sum.costs = loop_probe{step, steps, initial, options, data}.run(limited ? sum.limit_bytes
                                                                          : (std::numeric_limits<std::int64_t>::max)());
  sum.least_bytes = least_bytes(sum.costs);
  if (limited) {
    auto const choice = choose_loop(sum.costs, (std::max)(sum.limit_bytes, sum.least_bytes));
    options.no_memory_limit().checkpoints(choice.checkpoints).block_size(choice.block_size);
  }
  auto const plan = loop_schedule(who, steps, options);
  loop_simulation const simulated{sum.costs, plan};
  sum.checkpoints = simulated.peak_slots;
  sum.block_size = plan.leaf();
  sum.forward = simulated.forward;
  sum.recompute = simulated.recompute;
  sum.vjp = steps;
  sum.engine_calls = simulated.blocks;
  sum.peak_bytes = simulated.peak();
  sum.kept_bytes = simulated.kept();
  auto const& costs = sum.costs;
  sum.forward_seconds = double(simulated.forward) * costs.step_seconds;
  sum.seconds = sum.forward_seconds + double(simulated.recompute) * costs.step_seconds +
                double(steps) * costs.vjp_seconds + double(simulated.blocks) * costs.call_seconds;
  sum.plain_seconds = double(steps) * costs.vjp_seconds + costs.call_seconds;
  return sum;
}

}  // namespace detail

/// What `checkpointed_loop` with the same arguments will take. Runs its first steps forward and back, at most eight of
/// them; nothing is kept. A limit that is too small is not an error here: `fits()` is false, and `least_bytes` is the
/// least feasible limit. Bytes are those requested from the allocator, on the device of the state's first tensor; they
/// assume that later steps are like the first.
/// \param step, x, steps, options  as for `checkpointed_loop`
/// \throws invalid_plan; invalid_call if a profiler of LibTorch is on in this thread; what the step throws passes
///   through
template <class Step, tensor_state State, class Count>
  requires std::is_integral_v<Count>
[[nodiscard]] LoopEstimate estimate(Step&& step, State const& x, Count const& steps, LoopOptions options) {
  constexpr bool is_step = detail::tensor_step<std::remove_reference_t<Step>, State>;
  static_assert(is_step,
                "cairn: the step must be callable as `x1 = step(x, i)` or `x1 = step(x)`, and return the state");
  if constexpr (is_step)
    return detail::estimate_loop(detail::flattened(std::forward<Step>(step), x), step_index(steps),
                                 detail::tensors_of(x), std::move(options));
  else return {};
}
/// Refused with one message: arguments of neither a loop nor a scan.
template <class Step, class State, class Third>
auto estimate(Step&&, State const&, Third const&, LoopOptions) {
  constexpr bool is_state = tensor_state<State>, is_length = !is_state;
  static_assert(is_state,
                "cairn: the state must be a tensor, tuples, vectors or dictionaries of tensors, or a type with "
                "cairn::libtorch::tensor_traits");
  static_assert(is_length, "cairn: the third argument must be the number of steps, or the inputs of a scan");
  return cairn::detail::refuse<LoopEstimate>();
}

}  // namespace cairn::libtorch
