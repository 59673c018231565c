// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file advanced_copy.hpp  A copy of a state that steps advance beside the sweep.
#include <utility>
#include <cairn/door/forms.hpp>
#include <cairn/run/sweep/detail/frames.hpp>

namespace cairn::detail {

/// A copy of a state in frames of its own: one, or two for steps that write another state.
template <class State>
class advanced_copy {
 public:
  advanced_copy(State const& x, step_form form) {
    own_.begin(form == step_form::in_place ? 1 : 2);
    live_ = own_.take();
    own_.copy_in(x, live_);
  }
  template <class Step>
  void run(Step& step, step_index from, step_index to, step_index& failed) {
    own_.run(step, live_, from, to, failed);
  }
  [[nodiscard]] State& state() noexcept { return own_.state(live_); }
  [[nodiscard]] State const& state() const noexcept { return own_.state(live_); }

 private:
  frames<State> own_;
  frame_id live_ = no_frame;
};

}  // namespace cairn::detail
