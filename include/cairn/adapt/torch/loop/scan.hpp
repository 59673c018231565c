// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file scan.hpp  A loop over tensors that takes an input and returns an output in each step, as one node of the
/// autograd graph.
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/step_data.hpp>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/door/detail/refused.hpp>

namespace cairn::libtorch {

/// An input of `checkpointed_scan`: a tensor [T, ...], a vector of T tensors or of T states, or a tuple or pair of such
/// sequences.
template <class Sequence>
concept tensor_sequence = requires { typename detail::sequence_traits<Sequence>::element; };

namespace detail {

inline constexpr char const* scan_name = "cairn::libtorch::checkpointed_scan";

/// A holder of a recurrent cell, such as `torch::nn::LSTMCell`: its forward takes the input first, and returns the next
/// state.
template <class Step, class State, class Input>
concept cell_step = module_step<Step> && requires(std::remove_const_t<Step> step, State const& x, Input const& input) {
  { step->forward(input, x) } -> std::same_as<State>;
};

template <class Step, class State, class Input>
[[nodiscard]] decltype(auto) run_scan_step(Step& step, State const& x, Input const& input, step_index i) {
  if constexpr (cell_step<Step, State, Input>) {
    auto holder = step;
    State next = holder->forward(input, x);
    auto output = tensors_of(next).front();
    return std::pair{std::move(next), std::move(output)};
  } else {
    return run_step(step, i, x, input);
  }
}
/// `step(x, input, i)` or `step(x, input)`, or a cell.
template <class Step, class State, class Input>
concept calls_scan_step = cell_step<Step, State, Input> || called_step<Step, State, Input>;
template <class Step, class State, class Input>
using scan_step_result = std::remove_cvref_t<decltype(
    run_scan_step(std::declval<Step&>(), std::declval<State const&>(), std::declval<Input const&>(), step_index{}))>;

/// A pair of a state and an output.
template <class Result, class State>
concept scan_result = requires(Result const& r) {
  requires std::tuple_size<Result>::value == 2;
  { std::get<0>(r) } -> std::convertible_to<State>;
  requires tensor_state<std::remove_cvref_t<decltype(std::get<1>(r))>>;
};

/// Checks the step of a scan: one error for each misuse.
template <class Step, class State, class Input>
[[nodiscard]] consteval bool check_scan_step() {
  constexpr bool is_called = calls_scan_step<Step, State, Input>;
  static_assert(is_called, "cairn: the step of a scan must be callable as `step(x, input, i)` or `step(x, input)`");
  if constexpr (!is_called) return false;
  else {
    constexpr bool is_result = scan_result<scan_step_result<Step, State, Input>, State>;
    static_assert(is_result,
        "cairn: the step of a scan must return a pair of the next state and of an output, both made of tensors");
    return is_result;
  }
}

/// The likely result type of a refused scan: outputs of one tensor.
template <class Xs>
struct refused_outputs { using type = at::Tensor; };
template <class Xs>
  requires(sequence_traits<Xs>::form == series_form::list)
struct refused_outputs<Xs> { using type = tensor_list; };
template <class State, class Xs>
using refused_scan = std::pair<typename cairn::detail::first_returned<State>::type, typename refused_outputs<Xs>::type>;

/// The step on lists of tensors. The first step sets `output` to the structure of an output, with undefined tensors.
template <class State, class Input, class Output, class Step>
[[nodiscard]] flat_step flattened_scan(Step&& step, State const& like, Input const& input_like,
                                       std::shared_ptr<std::optional<Output>> output) {
  auto const count = tensors_of(like).size();
  return [step = std::decay_t<Step>(std::forward<Step>(step)), like = own_state(like), input_like, output, count](
             at::TensorList parts, step_index i) mutable {
    auto const given =
        run_scan_step(step, state_of(like, parts.slice(0, count)), state_of(input_like, parts.slice(count)), i);
    State const next = std::get<0>(given);
    auto list = parts_like(like, next, count, i, scan_name, other_state);
    auto const& y = std::get<1>(given);
    if (!output->has_value()) *output = emptied(y);
    auto const outputs = parts_like(**output, y, tensors_of(**output).size(), i, scan_name,
                                    "the step returned an output with different parts from the first step");
    list.insert(list.end(), outputs.begin(), outputs.end());
    return list;
  };
}
/// Runs a scan of at least one step.
[[nodiscard]] inline loop_results run_scan(flat_step step, plan_key of, step_index steps,
                                           tensor_list const& initial, loop_data const& data, LoopOptions options) {
  if (at::GradMode::is_enabled())
    return run_loop(scan_name, std::move(step), std::move(of), steps, initial, data, std::move(options));
  (void)loop_schedule(scan_name, steps, options);
  stats_recorder::scope const recording{stats_recorder::over(options.stats(), initial), stats_recorder::half::forward};
  loop_results results{initial, {}};
  for (step_index i = 0; i < steps; ++i) {
    auto all = results.last;
    for (auto const& slice : slices_at(data.inputs, i)) all.push_back(slice);
    auto given = step(all, i);
    if (i == 0) results.outputs.assign(given.size() - initial.size(), tensor_series{data.outputs, steps});
    keep_outputs(scan_name, results.outputs, at::TensorList{given}.slice(initial.size()), i);
    given.resize(initial.size());
    results.last = std::move(given);
    if (options.stats()) ++options.stats()->forward;
  }
  return results;
}

/// The outputs for no steps: `count` tensors of size [0], of the type of the first input.
template <series_form Form>
[[nodiscard]] loop_results no_steps(tensor_list const& initial, series_list const& inputs, std::size_t count) {
  if (Form == series_form::list) return {initial, {}};
  auto const nothing = at::empty({0}, inputs.front().tensors().front().options().requires_grad(false));
  return {initial, series_list(count, tensor_series{Form, 0, {nothing}})};
}
/// The outputs of all steps in a vector.
template <class Output>
[[nodiscard]] std::vector<Output> flattened_outputs(Output const& like, series_list const& outputs, step_index steps) {
  std::vector<Output> all;
  for (step_index i = 0; i < steps; ++i) all.push_back(state_of(like, slices_at(outputs, i)));
  return all;
}

}  // namespace detail

/// `(x, y_i) = step(x, xs_i, i)` for i = 0..T-1, as one node of the autograd graph; returns the pair (x, ys). States
/// are kept and recomputed as by `checkpointed_loop`; the gradients of xs are written step by step, each into its
/// place. Bits: those of a plain loop over `xs.unbind(0)` that stacks its results.
///
/// \param step  `step(x, input, i)`, `step(x, input)`, or a module holder whose forward takes both; returns a pair or
///   tuple of the next state and an output, which is made of tensors as a state is. Or the holder of a cell, such as
///   `torch::nn::LSTMCell`, whose forward takes the input, then the state, and returns the next state: its first tensor
///   is the output. It must neither change its arguments in place nor keep them; the graph keeps a copy of the step
/// \param x  the initial state, see `tensor_state`   \param xs  a `tensor_sequence`: a tensor [T, ...], a vector of T
///   tensors, or a tuple of sequences of the same length
/// \param options  as for `checkpointed_loop`
/// The form of ys is that of xs, or of the first sequence if xs is a tuple: for a tensor, each tensor of y becomes one
/// tensor [T, ...], of size [0] if there are no steps; for a vector, a vector of T outputs. Outputs, and the gradients
/// of xs, belong to the caller: a memory limit does not include them. A stacked output is filled as the loop runs. xs
/// are not copied.
/// \throws invalid_plan  before any step runs   \throws invalid_call, recompute_mismatch  during the run or in
///   backward; what the step throws passes through
template <class Step, class X0, class Xs>
[[nodiscard]] auto checkpointed_scan(Step&& step, X0&& x, Xs const& xs, LoopOptions options) {
  using State = std::remove_cvref_t<X0>;
  constexpr bool is_state = detail::check_state<State>(), is_sequence = tensor_sequence<Xs>;
  static_assert(is_sequence,
                "cairn: the third argument must be a tensor [T, ...], a vector of T tensors, or a tuple of such");
  if constexpr (!is_state || !is_sequence) return cairn::detail::refuse<detail::refused_scan<State, Xs>>();
  else {
    using sequence = detail::sequence_traits<Xs>;
    using Input = typename sequence::element;
    using StepType = std::remove_reference_t<Step>;
    constexpr bool is_step = detail::check_scan_step<StepType, State, Input>();
    if constexpr (!is_step) return cairn::detail::refuse<detail::refused_scan<State, Xs>>();
    else {
      using Output = std::tuple_element_t<1, detail::scan_step_result<StepType, State, Input>>;
      State const& x0 = x;
      auto const steps = sequence::steps(detail::scan_name, xs);
      auto const output = std::make_shared<std::optional<Output>>();
      detail::loop_data data{{}, sequence::form};
      sequence::flatten(detail::scan_name, xs, data.inputs);
      auto const initial = detail::tensors_of(x0);
      detail::loop_results results;
      if (steps > 0) {
        auto of = detail::identity_of(step);
        if (steps > 1 && at::GradMode::is_enabled() && detail::checks_rebuilt<State>(options)) {
          (void)detail::loop_schedule(detail::scan_name, steps, options);
          auto const input = [&](step_index i) {
            return detail::state_of(sequence::like(xs), detail::slices_at(data.inputs, i));
          };
          detail::check_rebuilt(
              detail::scan_name,
              [&, step = std::decay_t<Step>(step)](State const& s, step_index i) mutable -> State {
                return std::get<0>(detail::run_scan_step(step, s, input(i), i));
              },
              x0, options, [](at::TensorList) { return true; });
        }
        auto step_of_lists = detail::flattened_scan(std::forward<Step>(step), x0, sequence::like(xs), output);
        results = detail::run_scan(std::move(step_of_lists), std::move(of), steps, initial, data,
                                   std::move(options));
      } else {
        (void)detail::loop_schedule(detail::scan_name, steps, options);
        *output = Output{};
        results = detail::no_steps<sequence::form>(initial, data.inputs, detail::tensors_of(**output).size());
      }
      auto last = detail::state_of(x0, results.last);
      if constexpr (sequence::form == detail::series_form::list)
        return std::pair{std::move(last), detail::flattened_outputs(**output, results.outputs, steps)};
      else return std::pair{std::move(last), detail::state_of(**output, detail::tensors_of_series(results.outputs))};
    }
  }
}
/// Refused with one message: the options are missing.
template <class Step, tensor_state State, class Xs>
auto checkpointed_scan(Step&&, State const&, Xs const&) {
  constexpr bool has_options = std::is_void_v<State>;
  static_assert(has_options,
                "cairn: a loop over tensors is called with its options at the end, at least LoopOptions()");
  return cairn::detail::refuse<detail::refused_scan<State, Xs>>();
}

}  // namespace cairn::libtorch
