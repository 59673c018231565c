// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_sweep.hpp  Executes a schedule over a loop of tensors: forward to its turn, and from there back.
#include <functional>
#include <memory>
#include <utility>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_gradients.hpp>
#include <cairn/adapt/torch/loop/detail/loop_halves.hpp>
#include <cairn/adapt/torch/loop/detail/loop_states.hpp>
#include <cairn/adapt/torch/loop/detail/stats_recorder.hpp>
#include <cairn/adapt/torch/loop/detail/stopped_loop.hpp>
#include <cairn/adapt/torch/state/detail/buffers_guard.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/run/detail/execute.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/revolve.hpp>

namespace cairn::libtorch::detail {

/// Whether a loop continues from a state with this number.
using state_question = std::function<bool(at::TensorList, step_index)>;

/// A loop between its forward and its backward half, with the plan of what is left. A copy shares the tensors.
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
    auto const recording = record_forward(body);
    generator_use const drawing{body.options.rng()};
    states_.begin_half(drawing);
    body.set_blocks(plan_.leaf(), body.steps);
    forward_half half{states_, body};
    no_observer nobody;
    cairn::detail::sweep_status status;
    (void)cairn::detail::execute(cursor_, half, body, half, nobody, status);  // up to the turn
    states_.end_forward(body, drawing);
    return std::move(half.last);
  }

  /// The same while `goes_on` returns true for the state after a step, with a plan over blocks of `size` steps. Each
  /// block runs before it is known whether it is the last one; only then are the plan's earlier actions obeyed.   \pre
  /// the loop continues at state 0
  [[nodiscard]] tensor_list run_while(loop_body& body, online const& plan, step_index size,
                                      state_question const& goes_on) {
    auto const recording = record_forward(body);
    generator_use const drawing{body.options.rng()};
    states_.begin_half(drawing);
    body.set_blocks(size, -1);
    auto walk = plan.walk();
    states_.note_versions();
    tensor_list ahead;
    step_index steps = 0, block = 0;
    for (action a; runs_ahead(body, steps, size, ahead, goes_on); ++block) {
      if (block == a.to)
        for (a = walk.next(); a.kind != action_kind::advance; a = walk.next()) keep(body, a);
      states_.live = std::move(ahead);
      states_.note_versions();
    }
    body.steps = steps;
    body.note_end(steps, ahead);
    walk.stop_at(block + 1, block);
    for (auto a = walk.next(); a.kind != action_kind::turn; a = walk.next()) keep(body, a);
    plan_ = leaves{steps, size, stopped_loop{block + 1, walk}};
    cursor_ = plan_.walk();
    states_.turn_at(block * size);
    states_.end_forward(body, drawing);
    return ahead;
  }

  /// These tensors belong to the caller from here on.
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
    rng_autocast_guard const around{states_.live, body.options.rng(), &drawing};
    buffers_guard const buffers{body.options.restored_buffers()};
    states_.put_back_generators();
    gradients_so_far gradients{body, std::move(bars), outputs, wanted};
    backward_half half{states_, body, gradients, recorder_.get()};
    no_observer nobody;
    cairn::detail::sweep_status status;
    if (!half.pauses()) (void)cairn::detail::execute(cursor_, half, body, half, nobody, status);
    drawing.check(body.who);
    return gradients.take();
  }

 private:
  /// Runs the block that starts at live, state i, as far as the loop goes; returns whether the loop continues after it.
  /// \post state i is the one ahead
  [[nodiscard]] bool runs_ahead(loop_body& body, step_index& i, step_index size, tensor_list& ahead,
                                state_question const& goes_on) {
    states_.remember_generators(body);
    ahead = states_.live;
    for (step_index left = size; left > 0; --left) {
      states_.run_first(body, ahead, i, i + 1);
      if (!goes_on(ahead, ++i)) return false;
    }
    return true;
  }
  /// For a loop of unknown length: obeys the action that the plan gave before a block that has run by now.
  /// \pre for a save, the generators' states are stored
  void keep(loop_body const& body, action const& a) {
    if (a.kind == action_kind::save) states_.save(body, std::size_t(a.slot));
    else states_.drop(std::size_t(a.slot));
  }
  [[nodiscard]] stats_recorder::scope record_forward(loop_body const& body) const {
    return {recorder_, stats_recorder::half::forward, recorder_ ? states_.generator_tensors(body) : tensor_list{}};
  }

  any_schedule plan_;
  any_schedule::cursor cursor_;
  loop_states states_;
  std::shared_ptr<stats_recorder> recorder_;
};

}  // namespace cairn::libtorch::detail
