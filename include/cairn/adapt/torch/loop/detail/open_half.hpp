// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file open_half.hpp  The forward half of a loop over tensors whose length is known only when it ends.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_halves.hpp>
#include <cairn/adapt/torch/loop/detail/loop_states.hpp>
#include <cairn/adapt/torch/loop/detail/stopped_loop.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/run/detail/execute.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/online.hpp>

namespace cairn::libtorch::detail {

/// Whether a loop continues from a state with this number.
using state_question = std::function<bool(at::TensorList, step_index)>;

/// Runs a loop with a plan over blocks of some steps. Each block runs before it is known whether it is the last one;
/// only then are the plan's earlier actions obeyed, and observers are told what observers of the core's loops are told.
template <class Observer>
class open_half : public first_half {
 public:
  /// \param size  steps of a block
  open_half(loop_states& states, loop_body& body, step_index size, state_question const& goes_on, Observer& observer)
      : first_half{states, body}, size_{size}, goes_on_{goes_on}, observer_{observer} {}

  /// Runs the loop; returns the plan of the way back.   \pre the loop continues at state 0
  [[nodiscard]] any_schedule go(online const& plan) {
    auto walk = plan.walk();
    states_.note_versions();
    step_index block = 0;
    action a;
    for (; runs_ahead(); ++block) {
      if (block == a.to) {
        for (a = walk.next(); a.kind != action_kind::advance; a = walk.next()) keep(a);
        tell(a, moment::before);
      }
      states_.live = std::exchange(last, {});
      states_.note_versions();
      if (block + 1 == a.to) tell(a, moment::after);
    }
    if (block < a.to) {  // the loop ends within the advance
      a.to = block;
      tell(a, moment::after);
    }
    running_.steps = steps_;
    running_.note_end(steps_, last);
    walk.stop_at(block + 1, block);
    for (a = walk.next(); a.kind != action_kind::turn; a = walk.next()) keep(a);
    states_.turn_at(block * size_);
    tell_turn(a);
    return leaves{steps_, size_, stopped_loop{block + 1, walk}};
  }

 private:
  /// Runs the block that starts at live as far as the loop goes; returns whether the loop continues after it.
  /// \post `last` is the state after it
  [[nodiscard]] bool runs_ahead() {
    states_.remember_generators(body_);
    last = states_.live;
    for (step_index left = size_; left > 0; --left) {
      states_.run_first(running_, last, steps_, steps_ + 1);
      if (!goes_on_(last, ++steps_)) return false;
    }
    return true;
  }
  /// Obeys the action that the plan gave before a block that has run by now.
  /// \pre for a save, the generators' states are stored
  void keep(action const& a) {
    tell(a, moment::before);
    if (a.kind == action_kind::save) states_.save(body_, std::size_t(a.slot));
    else states_.drop(std::size_t(a.slot));
    tell(a, moment::after);
  }
  void tell([[maybe_unused]] action a, [[maybe_unused]] moment when) {
    if constexpr (cairn::detail::observed<Observer>) {
      for (step_index* const i : {&a.from, &a.to}) *i = step_index(std::uint64_t(*i) * std::uint64_t(size_));
      cairn::detail::show(*this, cairn::detail::no_cursor_yet{}, a, phase::forward, when, observer_);
    }
  }
  /// Tells the observer of the turn, whose block has run already.
  void tell_turn([[maybe_unused]] action a) {
    if constexpr (cairn::detail::observed<Observer>) {
      a.from *= size_;
      a.to = steps_;
      for (auto const when : {moment::before, moment::after})
        cairn::detail::show(*this, cairn::detail::no_cursor_yet{}, a, phase::forward, when, observer_);
    }
  }

  step_index size_;
  state_question const& goes_on_;
  Observer& observer_;
  step_index steps_ = 0;  ///< run so far
};

}  // namespace cairn::libtorch::detail
