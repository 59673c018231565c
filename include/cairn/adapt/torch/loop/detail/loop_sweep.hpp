// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_sweep.hpp  Executes a schedule over a loop of tensors: forward to its turn, and from there back.
#include <memory>
#include <type_traits>
#include <utility>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_gradients.hpp>
#include <cairn/adapt/torch/loop/detail/loop_halves.hpp>
#include <cairn/adapt/torch/loop/detail/loop_states.hpp>
#include <cairn/adapt/torch/loop/detail/open_half.hpp>
#include <cairn/adapt/torch/loop/detail/stats_recorder.hpp>
#include <cairn/adapt/torch/loop/detail/step_surroundings.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/run/sweep/detail/open_sweep.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/revolve.hpp>

namespace cairn::libtorch::detail {

/// Calls run(observer) with the observer of the options. Without one, `run` is compiled separately and costs nothing.
template <class Run>
auto watched(loop_body const& body, Run run) {
  if (auto const& observer = body.options.observer()) return run(observer);
  no_observer nobody;
  return run(nobody);
}

/// A loop between its forward and its backward half, with the plan for the rest. A copy shares the tensors.
class loop_sweep {
 public:
  loop_sweep(any_schedule const& plan, loop_body const& body)
      : plan_{plan},
        cursor_{plan_.walk()},
        states_{body},
        recorder_{stats_recorder::over(body.options.stats(), states_.live)} {}

  /// For a loop of unknown length.
  explicit loop_sweep(loop_body const& body) : loop_sweep{revolve{0, 1}, body} {}

  /// Runs the loop forward and returns the last state.
  [[nodiscard]] tensor_list run(loop_body& body) {
    generator_use const drawing{body.options.rng()};
    states_.begin_forward(body, drawing);
    auto const recording = record_forward(body);
    body.set_blocks(plan_.leaf(), body.steps);
    forward_half half{states_, body};
    run_half(half, body);  // up to the turn
    states_.end_forward(body, drawing);
    return std::move(half.last);
  }

  /// The same while `goes_on` returns true for the state after a step, with a plan over blocks of `size` steps.   \pre
  /// the loop continues at state 0
  [[nodiscard]] tensor_list run_while(loop_body& body, online const& plan, step_index size,
                                      state_question const& goes_on) {
    generator_use const drawing{body.options.rng()};
    states_.begin_forward(body, drawing);
    auto const recording = record_forward(body);
    body.set_blocks(size, -1);
    open_half half{states_, body, size, goes_on};
    auto blocks = plan.walk();
    cairn::detail::sweep_status status;
    watched(body, [&](auto& observer) {
      cairn::detail::open_sweep{blocks, half, body, half, observer, status}.go();
    });
    plan_ = half.rest_of_plan(blocks);
    cursor_ = plan_.walk();
    states_.end_forward(body, drawing);
    return std::move(half.last);
  }

  /// Notes that these tensors belong to the caller from here on.
  void hands_out(at::TensorList parts) { if (recorder_) recorder_->hands_out(parts); }

  /// \param bars  the gradients with respect to the parts of the last state   \param outputs  with respect to the
  ///   outputs
  [[nodiscard]] loop_gradients reverse(loop_body const& body, tensor_list bars, series_list const& outputs,
                                       wanted_gradients const& wanted) {
    states_.check_live(body.who);
    stats_recorder::scope const recording{recorder_, stats_recorder::half::backward,
                                          recorder_ ? states_.kept_tensors(body) : tensor_list{}};
    generator_use const drawing{body.options.rng(), body.draws};
    states_.begin_half(drawing);
    rng_autocast_guard const around{states_.live, body.options.rng(), drawing};
    memory_guard const buffers{body.buffers.first().now()};
    states_.put_back_surroundings(body);
    gradients_so_far gradients{body, std::move(bars), outputs, wanted};
    backward_half half{states_, body, gradients, recorder_.get()};
    if (!half.pauses()) run_half(half, body);
    drawing.check(body.who);
    body.reads.settle(body.who);
    return gradients.take();
  }

 private:
  /// Obeys the plan to the end of a half.
  template <class Half, class Body>
  void run_half(Half& half, Body& body) {
    cairn::detail::sweep_status status;
    status.turned = std::is_same_v<Half, backward_half>;
    (void)watched(body, [&](auto& observer) {
      return cairn::detail::execute(cursor_, half, body, half, observer, status);
    });
  }
  [[nodiscard]] stats_recorder::scope record_forward(loop_body const& body) const {
    return {recorder_, stats_recorder::half::forward, recorder_ ? states_.tensors_around(body) : tensor_list{}};
  }

  any_schedule plan_;
  any_schedule::cursor cursor_;
  loop_states states_;
  std::shared_ptr<stats_recorder> recorder_;
};

}  // namespace cairn::libtorch::detail
