#pragma once
/// \file while.hpp  A loop over tensors that ends when it ends, as one node of the autograd graph.
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <ATen/core/grad_mode.h>
#include <cairn/adapt/torch/loop.hpp>
#include <cairn/adapt/torch/loop_body.hpp>
#include <cairn/adapt/torch/loop_options.hpp>
#include <cairn/adapt/torch/loop_sweep.hpp>
#include <cairn/adapt/torch/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/online.hpp>

namespace cairn {
namespace detail {

inline constexpr char const* while_name = "cairn::checkpointed_while";
/// States that a loop of unknown length keeps where the options do not say: enough for 6,545 steps with three runs of each.
inline constexpr slot_index while_slots = 32;

/// `keep_going(x, i)` or `keep_going(x)`.
template <class KeepGoing, class State>
concept asks_of_state = requires(KeepGoing& keep_going, State const& x, step_index i) { { keep_going(x, i) } -> std::convertible_to<bool>; } ||
                        requires(KeepGoing& keep_going, State const& x) { { keep_going(x) } -> std::convertible_to<bool>; };

template <class KeepGoing, class State>
[[nodiscard]] bool goes_on(KeepGoing& keep_going, State const& x, step_index i) {
  if constexpr (requires { { keep_going(x, i) } -> std::convertible_to<bool>; }) return keep_going(x, i);
  else return keep_going(x);
}
/// The plan that the options mean.   \throws invalid_plan
[[nodiscard]] inline online while_plan(LoopOptions const& options) {
  if (options.schedule() || options.block_size() > 1 || options.has_memory_limit())
    throw invalid_plan{while_name, "a loop of unknown length is planned by the number of checkpoints alone", {{"block size", options.block_size()}},
                       "give checkpoints(...) and no more, or run a known number of steps with checkpointed_loop"};
  if (options.checkpoints() < 0)
    throw invalid_plan{while_name, "checkpoints are 1 or more, or 0 for the default", {{"checkpoints", options.checkpoints()}}, ""};
  return online{options.checkpoints() > 0 ? slot_index(options.checkpoints()) : while_slots};
}

}  // namespace detail

/// `x = step(x, i)` for i = 0, 1, ... as long as `keep_going(x, i)` answers true, as one node of the autograd graph, and answers the last state.
/// States are kept as they come, by cairn's `online` schedule, and steps run again as by `checkpointed_loop`, in blocks of one; gradients have the
/// bits of the plain loop.
///
/// \param keep_going  `keep_going(x, i)` or `keep_going(x)`, answers bool: called once for each state 0..T in order, without grad mode, and never in
///        backward. It must not change x, and must draw no random numbers
/// \param step  `x1 = step(x, i)` or `x1 = step(x)`, as for `checkpointed_loop`   \param x  the initial state, see `tensor_state`
/// \param options  `checkpoints(c)` is what is kept at most, 0 is 32; a schedule, a block size and a memory limit need a number of steps and are
///        refused
/// Where grad mode is off this is the plain loop. With `Rng::Preserve` the generators are read before each step of the forward sweep.
/// \throws invalid_plan  before any step runs   \throws invalid_call, recompute_mismatch  while it runs or in backward; what functions throw passes
///        through
template <class KeepGoing, class Step, class X0>
[[nodiscard]] auto checkpointed_while(KeepGoing&& keep_going, Step&& step, X0&& x, LoopOptions options) {
  using State = std::remove_cvref_t<X0>;
  constexpr bool is_state = tensor_state<State>;
  static_assert(is_state, "cairn: the state must be a tensor, tuples, vectors or dictionaries of tensors, or a type with cairn::tensor_traits");
  if constexpr (is_state) {
    constexpr bool asks = detail::asks_of_state<std::remove_reference_t<KeepGoing>, State>;
    static_assert(asks, "cairn: keep_going comes first, `keep_going(x, i)` or `keep_going(x)`, and must return bool; of a tensor, .item<bool>()");
    constexpr bool is_step = detail::tensor_step<std::remove_reference_t<Step>, State>;
    static_assert(is_step, "cairn: the step must be callable as `x1 = step(x, i)` or `x1 = step(x)`, and return the state");
    if constexpr (asks && is_step) {
      State const& x0 = x;
      auto const plan = detail::while_plan(options);
      auto const asked = [&](at::TensorList parts, step_index i) {
        at::NoGradGuard const no_grad;
        return detail::goes_on(keep_going, detail::state_of(x0, parts), i);
      };
      auto const initial = detail::tensors_of(x0);
      if (!asked(detail::detached(initial), 0)) return State{x0};
      if (at::GradMode::is_enabled()) {
        auto listed = detail::listed(std::forward<Step>(step), x0, detail::while_name);
        auto const body =
            std::make_shared<detail::loop_body>(std::move(listed), 0, initial, std::move(options), detail::loop_data{}, detail::while_name);
        detail::loop_sweep sweep{*body};
        auto const last = sweep.run_while(*body, plan, asked);
        return detail::state_of(x0, detail::hand_out(body, std::move(sweep), last, initial, {}).last);
      }
      State last = x0;
      step_index i = 0;
      do {
        last = detail::run_tensor_step(step, std::as_const(last), i);
        if (options.stats()) ++options.stats()->forward;
      } while (asked(detail::tensors_of(last), ++i));
      return last;
    }
  }
}

}  // namespace cairn
