// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file while.hpp  A loop over tensors of unknown length, as one node of the autograd graph.
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <ATen/core/grad_mode.h>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_probe.hpp>
#include <cairn/adapt/torch/loop/detail/loop_sweep.hpp>
#include <cairn/adapt/torch/loop/detail/step_data.hpp>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/door/detail/refused.hpp>
#include <cairn/schedule/online.hpp>

namespace cairn::libtorch {
namespace detail {

/// `keep_going(x, i)` or `keep_going(x)`.
template <class KeepGoing, class State>
concept asks_of_state = requires(KeepGoing& keep_going, State const& x, step_index i) {
  { keep_going(x, i) } -> std::convertible_to<bool>;
}
|| requires(KeepGoing& keep_going, State const& x) {
  { keep_going(x) } -> std::convertible_to<bool>;
};

template <class KeepGoing, class State>
[[nodiscard]] bool goes_on(KeepGoing& keep_going, State const& x, step_index i) {
  if constexpr (requires { { keep_going(x, i) } -> std::convertible_to<bool>; }) return keep_going(x, i);
  else return keep_going(x);
}
/// Asks a function about each state once, in order; states that a measurement has asked about are not asked again.
class asked_once {
 public:
  explicit asked_once(state_question question) : question_{std::move(question)} {}
  [[nodiscard]] bool operator()(at::TensorList parts, step_index i) {
    if (i < known_) return i + 1 < known_ || goes_on_;
    goes_on_ = question_(parts, i);
    ++known_;
    return goes_on_;
  }

 private:
  state_question question_;
  step_index known_ = 0;  ///< number of states that it was asked about
  bool goes_on_ = true;  ///< the answer for the last of them; it was true for the others
};

}  // namespace detail

/// `x = step(x, i)` for i = 0, 1, ... as long as `keep_going(x, i)` returns true, as one node of the autograd graph;
/// returns the last state. States are kept during the run by cairn's `online` schedule, and steps recomputed as by
/// `checkpointed_loop`; gradients have the bits of the plain loop.
///
/// \param step  `x1 = step(x, i)` or `x1 = step(x)`, as for `checkpointed_loop`   \param x  the initial state, see
///   `tensor_state`
/// \param keep_going  `keep_going(x, i)` or `keep_going(x)`, returns bool: called once for each state 0..T in order,
///   without grad mode, and never in backward. It must not change x, nor draw random numbers
/// \param options  `checkpoints(c)`: most states kept, 0 means 32. `block_size(k)`: steps are differentiated k at a
///   time, the last ones possibly fewer, and only each k-th state may be kept; 0 means 1. A schedule needs a number of
///   steps and is refused. With `memory_limit` the first five steps, or all if there are fewer, are run before the
///   loop, and then measured as by `checkpointed_loop`; the loop does not ask `keep_going` about their states again. It
///   uses the checkpoints and the block size within the limit that suit loops of 10 .. 1,000,000 steps best, at most
///   4,096 and 1,024; temporary memory of `keep_going` is included. `plans` are for one step with one `keep_going`;
///   they keep measurements of five steps only, and so nothing of a loop that ends earlier
/// If grad mode is off this is the plain loop. With `Rng::Preserve` the generators are read before each block of the
/// forward sweep. Memory: in the forward half the kept states, the first state of the present block, and temporary
/// memory of its steps; in backward as `checkpointed_loop`.
/// \throws invalid_plan  before any step runs   \throws infeasible_budget  with the least feasible limit, after the
///   first steps were measured
/// \throws invalid_call, recompute_mismatch  during the run or in backward; what functions throw passes through
template <class Step, class X0, class KeepGoing>
[[nodiscard]] auto checkpointed_while(Step&& step, X0&& x, KeepGoing&& keep_going, LoopOptions options) {
  using State = std::remove_cvref_t<X0>;
  using Third = std::remove_cvref_t<KeepGoing>;
  constexpr bool in_order = tensor_state<State> || !tensor_state<Third>;
  static_assert(in_order, "cairn: the step comes first, then the state, then keep_going, and the options last");
  if constexpr (!in_order) return cairn::detail::refuse<Third>();
  else if constexpr (!detail::check_state<State>())
    return cairn::detail::refuse<typename cairn::detail::first_returned<State>::type>();
  else {
    constexpr bool asks = detail::asks_of_state<std::remove_reference_t<KeepGoing>, State>;
    static_assert(asks,
                  "cairn: keep_going comes third, `keep_going(x, i)` or `keep_going(x)`, and must return bool; of a "
                  "tensor, .item<bool>()");
    if constexpr (!asks) return cairn::detail::refuse<typename cairn::detail::first_returned<State>::type>();
    else if constexpr (!detail::check_step<std::remove_reference_t<Step>, State>())
      return cairn::detail::refuse<typename cairn::detail::first_returned<State>::type>();
    else {
      State const& x0 = x;
      (void)detail::plan_of_while(options);
      detail::asked_once asked{[&](at::TensorList parts, step_index i) {
        at::NoGradGuard const no_grad;
        detail::autocast_scope const casts{detail::autocast_state{}.without_cache()};
        auto const before = detail::versions_of(parts);
        bool const more = detail::goes_on(keep_going, detail::state_of(x0, parts), i);
        for (std::size_t k = 0; k < parts.size(); ++k)
          if (detail::version_of(parts[k]) != before[k])
            throw invalid_call{detail::while_name, "keep_going changed the state in place",
                               {{"state", i}, {"part", k}}, "make a new tensor, or clone that part first"};
        return more;
      }};
      auto const initial = detail::tensors_of(x0);
      if (at::GradMode::is_enabled()) detail::refuse_tangents(detail::while_name, initial);
      if (!asked(detail::detached(initial), 0)) return detail::own_state(x0);
      if (at::GradMode::is_enabled()) {
        auto of = detail::identity_of(step);
        of.template add_type<Third>();
        of.is_known = false;  // the memory of keep_going counts, too, and what it refers to is unknown
        if (detail::checks_rebuilt<State>(options))
          detail::check_rebuilt(detail::while_name, detail::whole_step<State>(step), x0, options,
                                [&](at::TensorList parts) { return asked(parts, 1); });
        auto flat = detail::flattened(std::forward<Step>(step), x0, detail::while_name);
        options = detail::while_within_limit(flat, std::move(of), initial, std::move(options), std::ref(asked));
        auto const plan = detail::plan_of_while(options);
        auto const body = std::make_shared<detail::loop_body>(std::move(flat), 0, initial, std::move(options),
                                                              detail::loop_data{}, detail::while_name);
        detail::loop_sweep sweep{*body};
        auto const last = sweep.run_while(online{plan.checkpoints}, plan.block_size, std::ref(asked));
        return detail::state_of(x0, detail::hand_out(body, std::move(sweep), last, initial, {}).last);
      }
      detail::stats_recorder::scope const recording{detail::stats_recorder::over(options.stats(), initial),
                                                    detail::stats_recorder::half::forward};
      State last = detail::own_state(x0);
      step_index i = 0;
      do {
        last = detail::own_state<State>(detail::run_tensor_step(step, std::as_const(last), i));
        if (options.stats()) ++options.stats()->forward;
      } while (asked(detail::tensors_of(last), ++i));
      return last;
    }
  }
}
/// Refused with one message: the options are missing.
template <class Step, class State, class KeepGoing>
  requires(tensor_state<State> || tensor_state<KeepGoing>)
auto checkpointed_while(Step&&, State const&, KeepGoing const&) {
  constexpr bool has_options = std::is_void_v<State>;
  static_assert(has_options,
                "cairn: a loop over tensors is called with its options at the end, at least LoopOptions()");
  return cairn::detail::refuse<std::conditional_t<tensor_state<State>, State, KeepGoing>>();
}

}  // namespace cairn::libtorch
