// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop.hpp  A loop over tensors as one node of the autograd graph, in bounded memory.
/// The LibTorch adapter: loops as one autograd node, regions, Sequentials and models that are recorded, profiles.
/// `cairn/adapt/torch.hpp` includes loops, regions and Sequentials.
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/pimpl.h>
#include <torch/ordered_dict.h>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_node.hpp>
#include <cairn/adapt/torch/loop/detail/loop_probe.hpp>
#include <cairn/adapt/torch/loop/detail/loop_sweep.hpp>
#include <cairn/adapt/torch/loop/detail/step_data.hpp>
#include <cairn/adapt/torch/loop/detail/tensor_series.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/loop/loop_plans.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>
#include <cairn/adapt/torch/state/detail/environment.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/door/detail/refused.hpp>
#include <cairn/rules/replay_check.hpp>

namespace cairn::libtorch {
namespace detail {

/// Whether the user's `tensor_traits` say what a state, or a part of it, is made of. Those of this library leave out
/// nothing.
template <class State> inline constexpr bool has_own_traits = true;
template <> inline constexpr bool has_own_traits<at::Tensor> = false;
template <class... Part> inline constexpr bool has_own_traits<std::tuple<Part...>> = (has_own_traits<Part> || ...);
template <class First, class Second>
inline constexpr bool has_own_traits<std::pair<First, Second>> = has_own_traits<First> || has_own_traits<Second>;
template <class Part, std::size_t Count>
inline constexpr bool has_own_traits<std::array<Part, Count>> = has_own_traits<Part>;
template <class Part> inline constexpr bool has_own_traits<std::vector<Part>> = has_own_traits<Part>;
template <class Key, class Part>
inline constexpr bool has_own_traits<torch::OrderedDict<Key, Part>> = has_own_traits<Part>;
template <optional_value Optional>
inline constexpr bool has_own_traits<Optional> = has_own_traits<typename Optional::value_type>;

/// Whether a loop with these options compares bits, and its states may lack something.
template <class State>
[[nodiscard]] bool checks_rebuilt(LoopOptions const& options) {
  return has_own_traits<State> && (options.determinism() == Check::Bits || options.verify() != replay_check::off);
}
/// Each step of a loop begins with a state that is rebuilt from its tensors, on the way forward, too: what they lack is
/// missing everywhere alike, and no recomputation shows it. This runs step 1 on what step 0 returned, and on what is
/// rebuilt from that. These calls leave generators and buffers as they were, and are not counted.
/// \param step  `x1 = step(x, i)`, a copy of the user's   \param goes_on  called for state 1, whether step 1 follows
/// \throws recompute_mismatch
template <class State, class Step, class Question>
void check_rebuilt([[maybe_unused]] char const* who, [[maybe_unused]] Step step, [[maybe_unused]] State const& x0,
                   [[maybe_unused]] LoopOptions const& options, [[maybe_unused]] Question goes_on) {
  if constexpr (has_own_traits<State>) {
    at::NoGradGuard const no_grad;
    autocast_scope const casts{autocast_state{}.without_cache()};
    generator_use const drawing{options.rng()};
    auto const run = [&](State const& x, step_index i, write_log& changes) {
      read_tracker const tracker{&changes};
      State x1 = step(x, i);
      changes.end();
      return x1;
    };
    auto const generators = generator_states::now(tensors_of(x0));
    undone_writes at_first;
    State const x1 = run(own_state(x0), 0, at_first.log);  // as in the loop: x0 may share what the step changes
    auto const parts = tensors_of(x1);
    if (goes_on(parts)) {
      auto const second = generator_states::now(parts);
      auto const results = [&](State const& x) {
        undone_writes undone;
        drawing.put_back(second);
        std::vector<tensor_metadata> all;
        for (auto const& part : tensors_of(run(x, 1, undone.log))) all.push_back(tensor_metadata::of(part, true));
        return all;
      };
      auto const whole = results(x1), rebuilt = results(state_of(x0, parts));
      for (std::size_t k = 0; k < whole.size() && k < rebuilt.size(); ++k)
        if (!whole[k].is_like(rebuilt[k]) || whole[k].bits != rebuilt[k].bits)
          throw recompute_mismatch{
              who,
              "a state that was rebuilt from its tensors and run on is not what the step made of it at first",
              {{"step", 1}, {"part", k}},
              "let flatten() of its tensor_traits give, and unflatten() bring back, every tensor that the step reads "
              "and changes, and make a tensor of every number that it changes; let the step read nothing else that "
              "changes"};
    }
    drawing.put_back(generators);
  }
}

/// A holder of a module, such as `torch::nn::Linear`. Whether its forward takes certain arguments can be tested; its
/// call operator ends the compilation if forward does not.
template <class Step>
concept module_step = torch::detail::is_module_holder<Step>::value;
template <class Step, class... Arguments>
concept numbered_step = !module_step<Step> && requires(Step & step, step_index i, Arguments const&... arguments) {
  step(arguments..., i);
};
/// `step(arguments..., i)` or `step(arguments...)`.
template <class Step, class... Arguments>
concept called_step = numbered_step<Step, Arguments...> ||
                      (module_step<Step>&& requires(std::remove_const_t<Step> step, Arguments const&... arguments) {
                        step->forward(arguments...);
                      }) ||
                      (!module_step<Step> && requires(Step & step, Arguments const&... arguments) {
                        step(arguments...);
                      });
template <class Step, class... Arguments>
[[nodiscard]] decltype(auto) run_step(Step& step, step_index i, Arguments const&... arguments) {
  if constexpr (module_step<Step>) {
    auto holder = step;  // a const holder returns a const module
    return holder->forward(arguments...);
  } else if constexpr (numbered_step<Step, Arguments...>) {
    constexpr bool takes_int = requires { step(arguments..., {int(i)}); }
    &&!requires { step(arguments..., {i}); };  // braces refuse narrowing conversions
    if constexpr (takes_int) return step(arguments..., int(i));
    else return step(arguments..., i);
  } else {
    return step(arguments...);
  }
}
/// `x1 = step(x, i)` or `x1 = step(x)`.
template <class Step, class State>
concept tensor_step = called_step<Step, State> && requires(Step & step, State const& x) {
  { run_step(step, step_index{}, x) } -> std::convertible_to<State>;
};
template <class Step, class State>
[[nodiscard]] State run_tensor_step(Step& step, State const& x, step_index i) { return run_step(step, i, x); }
/// Checks the state of a loop.
template <class State>
[[nodiscard]] consteval bool check_state() {
  constexpr bool is_state = tensor_state<State>;
  static_assert(is_state,
                "cairn: the state must be a tensor, tuples, vectors or dictionaries of tensors, or a type with "
                "cairn::libtorch::tensor_traits");
  return is_state;
}
/// Checks the step of a loop without inputs.
template <class Step, class State>
[[nodiscard]] consteval bool check_step() {
  constexpr bool is_step = tensor_step<Step, State>;
  static_assert(is_step,
                "cairn: the step must be callable as `x1 = step(x, i)` or `x1 = step(x)`, and return the state");
  return is_step;
}
/// The tensors of what a step returned.   \param what  is wrong if they are not `count` ones as in `like`
/// \throws invalid_call
template <class State>
[[nodiscard]] tensor_list parts_like(State const& like, State const& y, std::size_t count, step_index i,
                                     char const* who, char const* what) {
  auto list = tensors_of(y);
  if (list.size() != count || !same_structure(like, y))
    throw invalid_call{who, what, {{"step", i}, {"parts returned", list.size()}, {"parts", count}},
                       "return as many tensors under the same keys; leave some undefined if need be"};
  return list;
}
inline constexpr char const* other_state = "the step returned a state with different parts from the one it was given";
/// The step on lists of tensors; `like` defines how a state is rebuilt from a list.
template <class State, class Step>
[[nodiscard]] flat_step flattened(Step&& step, State const& like, char const* who = loop_name) {
  return [step = std::decay_t<Step>(std::forward<Step>(step)), like = own_state(like), who](at::TensorList parts,
                                                                                            step_index i) mutable {
    State const y = run_tensor_step(step, state_of(like, parts), i);
    return parts_like(like, y, parts.size(), i, who, other_state);
  };
}
/// A copy of the step, on whole states.
template <class State, class Step>
[[nodiscard]] auto whole_step(Step& step) {
  return [step = std::decay_t<Step>(step)](State const& x, step_index i) mutable {
    return State(run_tensor_step(step, x, i));
  };
}
/// The results of a loop: the last state, and the outputs of its steps.
struct loop_results {
  tensor_list last;
  series_list outputs;
};
/// The results of a loop that has run, as results of a node of the autograd graph if anything requires a gradient.
[[nodiscard]] inline loop_results hand_out(std::shared_ptr<loop_body> const& body, loop_sweep sweep,
                                           tensor_list const& last, at::TensorList initial, series_list const& inputs) {
  body->check_captures();
  loop_results given{{}, body->outputs.take()};
  sweep.hands_out(last);
  for (auto const& series : given.outputs) sweep.hands_out(series.tensors());
  if (!body->is_differentiable()) given.last = detached(last);
  else given.last = loop_node::make(body, std::move(sweep), initial, inputs)->results(last, given.outputs);
  return given;
}
/// Runs a loop of known length under checkpoints.   \param who  the verb, for errors
[[nodiscard]] inline loop_results run_loop(char const* who, flat_step step, plan_key of, step_index steps,
                                           tensor_list const& initial, loop_data const& data, LoopOptions options) {
  refuse_tangents(who, initial);
  refuse_tangents(who, tensors_of_series(data.inputs));
  options = within_limit(who, step, std::move(of), steps, initial, std::move(options), data);
  auto const plan = loop_schedule(who, steps, options);
  auto const body = std::make_shared<loop_body>(std::move(step), steps, initial, std::move(options), data, who);
  loop_sweep sweep{plan, *body};
  auto const last = sweep.run();
  return hand_out(body, std::move(sweep), last, initial, data.inputs);
}

}  // namespace detail

/// `x = step(x, i)` for i = 0..T-1, as one node of the autograd graph: forward keeps a few states, backward recomputes
/// the others. Gradients have the bits of the plain loop if nothing but its steps uses the captured tensors.
///
/// \param step  `x1 = step(x, i)`, `x1 = step(x)`, or a module holder such as `torch::nn::Linear`; the graph keeps a
///   copy, so what it refers to must live until backward. It must not change x in place
/// \param x  the initial state, see `tensor_state`   \param steps  T >= 0   \param options  required, at least
///   `LoopOptions()`: it distinguishes this loop from the core's
/// If grad mode is off, or nothing requires a gradient, this is the plain loop and keeps nothing. Memory: the kept
/// states, and in backward the tapes of one block. All runs of steps use the autocast settings of the call. A step may
/// run loops of its own.
/// \throws invalid_plan  before any step runs   \throws infeasible_budget  with the least feasible limit, after the
///   first steps were measured
/// \throws invalid_call, recompute_mismatch  during the run or in backward; what the step throws passes through
template <class Step, class X0, class Count>
[[nodiscard]] auto checkpointed_loop(Step&& step, X0&& x, Count const& steps, LoopOptions options) {
  using State = std::remove_cvref_t<X0>;
  constexpr bool is_count = std::is_integral_v<Count> && !std::is_same_v<Count, bool>;
  static_assert(
      is_count,
      "cairn: the third argument must be the number of steps; a schedule goes into LoopOptions().schedule(...)");
  constexpr bool is_state = detail::check_state<State>();
  if constexpr (!is_count || !is_state)
    return cairn::detail::refuse<typename cairn::detail::first_returned<State>::type>();
  else if constexpr (!detail::check_step<std::remove_reference_t<Step>, State>())
    return cairn::detail::refuse<typename cairn::detail::first_returned<State>::type>();
  else {
    State const& x0 = x;
    auto const count = step_index(steps);
    if (count > 0 && at::GradMode::is_enabled()) {
      auto of = detail::identity_of(step);
      if (count > 1 && detail::checks_rebuilt<State>(options)) {
        (void)detail::loop_schedule(detail::loop_name, count, options);
        detail::check_rebuilt(detail::loop_name, detail::whole_step<State>(step), x0, options,
                              [](at::TensorList) { return true; });
      }
      auto flat = detail::flattened(std::forward<Step>(step), x0);
      return detail::state_of(x0, detail::run_loop(detail::loop_name, std::move(flat), std::move(of), count,
                                                   detail::tensors_of(x0), {}, std::move(options)).last);
    }
    (void)detail::loop_schedule(detail::loop_name, count, options);
    detail::stats_recorder::scope const recording{
        detail::stats_recorder::over(options.stats(), detail::tensors_of(x0)), detail::stats_recorder::half::forward};
    State last = detail::own_state(x0);
    for (step_index i = 0; i < count; ++i) {
      last = detail::own_state<State>(detail::run_tensor_step(step, std::as_const(last), i));
      if (options.stats()) ++options.stats()->forward;
    }
    return last;
  }
}
/// Refused with one message: the options are missing.
template <class Step, tensor_state State, class Count>
auto checkpointed_loop(Step&&, State const&, Count const&) {
  constexpr bool has_options = std::is_void_v<State>;
  static_assert(has_options,
                "cairn: a loop over tensors is called with its options at the end, at least LoopOptions()");
  return cairn::detail::refuse<typename cairn::detail::first_returned<State>::type>();
}

}  // namespace cairn::libtorch
