// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file scan_estimate.hpp  Predicts the time and memory of a scan over tensors before it runs.
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/sequence_traits.hpp>
#include <cairn/adapt/torch/loop/detail/tensor_series.hpp>
#include <cairn/adapt/torch/loop/loop_estimate.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/loop/tensor_sequence.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::libtorch {
namespace detail {

/// The bytes of all defined tensors.
[[nodiscard]] inline wide bytes_of_all(at::TensorList tensors) {
  wide sum = 0;
  for (auto const& t : tensors) if (t.defined()) sum += wide(t.nbytes());
  return sum;
}
/// \pre one step or more
[[nodiscard]] inline LoopEstimate estimate_scan(flat_step const& step, step_index steps, at::TensorList initial,
                                                LoopOptions options, loop_data const& data) {
  wide of_outputs = 0;
  flat_step const weighed = [&](at::TensorList parts, step_index i) {
    auto given = step(parts, i);
    of_outputs = bytes_of_all(at::TensorList{given}.slice(initial.size()));
    return given;
  };
  auto sum = estimate_loop(weighed, steps, initial, std::move(options), data);
  sum.caller_bytes = wide(steps) * of_outputs;
  for (auto const& t : tensors_of_series(data.inputs))
    if (t.defined() && t.requires_grad()) sum.caller_bytes += wide(t.nbytes());
  return sum;
}

}  // namespace detail

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
    return detail::estimate_scan(std::move(flat), steps, detail::tensors_of(x), std::move(options), data);
  }
}

}  // namespace cairn::libtorch
