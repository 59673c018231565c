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
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/online.hpp>

namespace cairn::libtorch::detail {

/// Whether a loop continues from a state with this number.
using state_question = std::function<bool(at::TensorList, step_index)>;

/// The forward half of such a loop, as the states and the user of `open_sweep`. The plan's steps are blocks of `size`
/// steps, and its states are their first states; observers see the numbers of the loop's own steps.
class open_half : public first_half {
 public:
  static constexpr bool in_place = false;

  /// \param size  steps of a block   \param goes_on  called for each state but the first; must outlive the half
  open_half(loop_states& states, loop_body& body, step_index size, state_question const& goes_on)
      : first_half{states, body}, size_{size}, goes_on_{goes_on} {
    states_.note_versions();
  }

  [[nodiscard]] tensor_list const& live() const noexcept { return states_.live; }
  [[nodiscard]] tensor_list const& final_state() const noexcept { return last; }
  /// Runs a block from live as far as the loop goes.
  void turn(loop_body& body, step_index, step_index, step_index&) {
    states_.remember_surroundings(body);
    last = states_.live;
    for (step_index left = size_; more_ && left > 0; --left) {
      states_.run_first(body, last, steps_, steps_ + 1);
      more_ = goes_on_(last, ++steps_);
    }
  }
  void final_becomes_live() {
    states_.live = std::exchange(last, {});
    states_.note_versions();
  }
  /// \pre the block after live has run, which stored the surroundings before it
  void save(place where, step_index) { states_.save(body_, std::size_t(where.slot)); }

  [[nodiscard]] bool goes_on(tensor_list const&, step_index) const noexcept { return more_; }
  void ends_at(step_index blocks) {
    blocks_ = blocks;
    running_.steps = steps_;
    running_.note_end(steps_, last);
    states_.turn_at((blocks - 1) * size_);
  }
  [[nodiscard]] action as_shown(action a) const noexcept {
    for (step_index* const i : {&a.from, &a.to}) *i = step_index(std::uint64_t(*i) * std::uint64_t(size_));
    if (a.kind == action_kind::turn) a.to = steps_;
    return a;
  }
  /// The plan of the backward half.   \param at  the cursor after the turn
  [[nodiscard]] any_schedule rest_of_plan(online::cursor const& at) const {
    return leaves{steps_, size_, stopped_loop{blocks_, at}};
  }

 private:
  step_index size_;
  state_question const& goes_on_;
  step_index steps_ = 0, blocks_ = 0;  ///< run so far; of the loop, once it has ended
  bool more_ = true;                   ///< whether the loop goes on after the state asked about last
};

}  // namespace cairn::libtorch::detail
