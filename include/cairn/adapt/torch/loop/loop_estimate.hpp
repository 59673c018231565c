// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_estimate.hpp  Predicts the time and memory of a loop or a scan over tensors before it runs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/core/grad_mode.h>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_probe.hpp>
#include <cairn/adapt/torch/loop/detail/step_data.hpp>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/door/detail/refused.hpp>
#include <cairn/schedule/any.hpp>

namespace cairn::libtorch {
namespace detail {

/// Obeys a schedule with nothing but the numbers of states, in one walk. A state that is live and kept, or kept and
/// initial, counts once.
class loop_simulation {
 public:
  loop_simulation(loop_costs const& costs, any_schedule const& plan)
      : costs_{costs}, slots_(std::size_t(plan.slots()), none) {
    cairn::detail::each_action(plan, [&](action const& a) {
      switch (a.kind) {
        case action_kind::advance:
        case action_kind::turn: run(a); break;
        case action_kind::reverse:
          note(backward_, bytes_of_block(costs_, a.to - a.from), 0);
          ++blocks;
          live_ = none;
          break;
        case action_kind::save:
          ++holders_[slots_[std::size_t(a.slot)] = live_];
          peak_slots = (std::max)(peak_slots, ++full_slots_);
          break;
        case action_kind::drop:
          if (auto const held = holders_.find(slots_[std::size_t(a.slot)]); --held->second == 0) holders_.erase(held);
          --full_slots_;
          break;
        default: live_ = a.slot == no_slot ? 0 : slots_[std::size_t(a.slot)];
      }
    });
  }
  /// The peak in bytes.
  [[nodiscard]] wide peak() const noexcept {
    return (std::max)(forward_, backward_ + costs_.other_bytes + costs_.gradient_bytes);
  }
  /// The bytes held at the turn, without temporary memory of the turn.
  [[nodiscard]] wide kept() const noexcept { return at_turn_ + costs_.other_bytes; }

  std::int64_t forward = 0;  ///< steps up to and in the turn
  std::int64_t recompute = 0;  ///< steps run after the turn without a tape
  std::int64_t blocks = 0;  ///< blocks differentiated
  slot_index peak_slots = 0;  ///< most slots in use at once

 private:
  static constexpr step_index none = -1;

  void run(action const& a) {
    bool const turns = a.kind == action_kind::turn;
    // After its first step a run holds a state that is neither kept nor its first one; so does a turn.
    bool const moves = a.to - a.from > 1;
    (turned_ ? recompute : forward) += a.to - a.from;
    if (a.from < a.to)
      note(turned_ ? backward_ : forward_, costs_.step_bytes,
           turns && moves                  ? 1
           : moves && is_checkpoint(live_) ? 1
                                           : 0);
    if (turns) at_turn_ = states_now() * costs_.state_bytes + wide(full_slots_) * costs_.generator_bytes;
    turned_ = turned_ || turns;
    if (!turns) live_ = a.to;
  }
  [[nodiscard]] bool is_checkpoint(step_index state) const { return state == 0 || holders_.contains(state); }
  [[nodiscard]] wide states_now() const {
    return wide(holders_.size()) + (holders_.contains(0) ? 0 : 1) + (live_ == none || is_checkpoint(live_) ? 0 : 1);
  }
  void note(wide& peak, wide work, wide more_states) const {
    wide const kept = (states_now() + more_states) * costs_.state_bytes + wide(full_slots_) * costs_.generator_bytes;
    peak = (std::max)(peak, work + kept);
  }

  loop_costs costs_;
  std::vector<step_index> slots_;  ///< the state in each slot
  std::unordered_map<step_index, int> holders_;  ///< how many slots hold a state
  step_index live_ = 0;
  slot_index full_slots_ = 0;
  bool turned_ = false;
  wide forward_ = 0, backward_ = 0, at_turn_ = 0;
};

}  // namespace detail

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

/// The bytes of all defined tensors.
[[nodiscard]] inline wide bytes_of_all(at::TensorList tensors) {
  wide sum = 0;
  for (auto const& t : tensors) if (t.defined()) sum += wide(t.nbytes());
  return sum;
}
/// \param data  the steps' inputs and outputs besides the state
[[nodiscard]] inline LoopEstimate estimate_loop(flat_step const& step, step_index steps, at::TensorList initial,
                                                LoopOptions options, loop_data const& data = {}) {
  constexpr char const* who = "cairn::libtorch::estimate";
  options = with_process_limit(std::move(options));
  (void)loop_schedule(who, steps, options);
  LoopEstimate sum;
  if (steps < 1) return sum;
  sum.limit_bytes = limit_of(options, initial);
  bool const limited = options.has_memory_limit();
  at::AutoGradMode const with_grad{true};
  wide of_outputs = 0;
  flat_step const weighed = [&](at::TensorList parts, step_index i) {
    auto given = step(parts, i);
    of_outputs = bytes_of_all(at::TensorList{given}.slice(initial.size()));
    return given;
  };
  sum.costs = loop_probe{weighed, steps, initial, options, data}.run(limited ? sum.limit_bytes
                                                                          : (std::numeric_limits<std::int64_t>::max)());
  sum.caller_bytes = wide(steps) * of_outputs;
  for (auto const& t : tensors_of_series(data.inputs))
    if (t.defined() && t.requires_grad()) sum.caller_bytes += wide(t.nbytes());
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
  if constexpr (detail::check_step<std::remove_reference_t<Step>, State>())
    return detail::estimate_loop(detail::flattened(std::forward<Step>(step), x), step_index(steps),
                                 detail::tensors_of(x), std::move(options));
  else return {};
}
/// Refused with one message: arguments of neither a loop nor a scan.
template <class Step, class State, class Third>
auto estimate(Step&&, State const&, Third const&, LoopOptions) {
  constexpr bool is_length = !detail::check_state<State>();
  static_assert(is_length, "cairn: the third argument must be the number of steps, or the inputs of a scan");
  return cairn::detail::refuse<LoopEstimate>();
}

/// What `checkpointed_scan` with the same arguments will take, like `estimate` for a loop. Runs its first steps forward
/// and back, at most eight of them; nothing is kept. Outputs and the gradients of inputs belong to the caller:
/// `caller_bytes` is their size, which `peak_bytes`, `least_bytes` and a limit do not include.
/// \param step, x, xs, options  as for `checkpointed_scan`
/// \throws invalid_plan; invalid_call as the scan, and if a profiler of LibTorch is on in this thread; what the step
///   throws passes through
template <class Step, tensor_state State, tensor_sequence Xs>
[[nodiscard]] LoopEstimate estimate(Step&& step, State const& x, Xs const& xs, LoopOptions options) {
  using sequence = detail::sequence_traits<Xs>;
  using Input = typename sequence::element;
  using StepType = std::remove_reference_t<Step>;
  constexpr bool is_step = detail::check_scan_step<StepType, State, Input>();
  if constexpr (!is_step) return {};
  else {
    using Output = std::tuple_element_t<1, detail::scan_step_result<StepType, State, Input>>;
    auto const steps = sequence::steps(detail::scan_name, xs);
    detail::loop_data data{{}, sequence::form};
    sequence::flatten(detail::scan_name, xs, data.inputs);
    if (steps < 1) return detail::estimate_loop({}, steps, detail::tensors_of(x), std::move(options));
    auto flat = detail::flattened_scan(std::forward<Step>(step), x, sequence::like(xs),
                                       std::make_shared<std::optional<Output>>());
    return detail::estimate_loop(std::move(flat), steps, detail::tensors_of(x), std::move(options), data);
  }
}

}  // namespace cairn::libtorch
