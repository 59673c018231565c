// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_halves.hpp  The two halves of a loop over tensors, as the states and the user of cairn's executor.
#include <cstddef>
#include <cstdint>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_gradients.hpp>
#include <cairn/adapt/torch/loop/detail/loop_slot.hpp>
#include <cairn/adapt/torch/loop/detail/loop_states.hpp>
#include <cairn/adapt/torch/loop/detail/stats_recorder.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/store/store.hpp>

namespace cairn::libtorch::detail {

/// What both halves share as the `states` of `execute`.
class half_sweep : public cairn::detail::no_hooks {
 public:
  half_sweep(loop_states& states, loop_body const& body) : states_{states}, body_{body} {}
  void save(place where, step_index) {
    states_.remember_surroundings(body_);
    states_.save(body_, std::size_t(where.slot));
  }
  [[nodiscard]] bool load(place where, step_index i) {
    states_.load(body_, std::size_t(where.slot), i);
    return true;
  }
  void load_initial() { states_.load_initial(body_); }
  void drop(place where) { states_.drop(std::size_t(where.slot)); }
  [[nodiscard]] std::size_t bytes() const { return states_.bytes_with(body_, {}); }
  bool visit(action const&, moment, event::sink sink, void* context) const {
    return visit_parts(states_.live, sink, context);
  }

 protected:
  /// Shows an observer the bytes of a state; false if there is none, or if some of it is not in the processor's memory
  /// or has gaps there.
  static bool visit_parts(at::TensorList parts, event::sink sink, void* context) {
    for (auto const& part : parts) if (part.defined() && !(part.is_cpu() && is_plain(part))) return false;
    for (auto const& part : parts) if (part.defined()) sink(context, part.data_ptr(), part.nbytes());
    return !parts.empty();
  }

  loop_states& states_;
  loop_body const& body_;
};

/// A half that runs steps for the first time, and holds the last state besides the live one.
class first_half : public half_sweep {
 public:
  first_half(loop_states& states, loop_body& body) : half_sweep{states, body}, running_{body} {}
  tensor_list last;

  [[nodiscard]] std::size_t bytes() const { return states_.bytes_with(body_, last); }
  bool visit(action const& a, moment when, event::sink sink, void* context) const {
    bool const is_turned = a.kind == action_kind::turn && when == moment::after;
    return visit_parts(is_turned ? last : states_.live, sink, context);
  }

 protected:
  loop_body& running_;
};

/// The first run up to the turn, which makes the last state.
class forward_half : public first_half {
 public:
  using first_half::first_half;

  void advance(loop_body&, step_index from, step_index to, step_index&) {
    states_.run_first(running_, states_.live, from, to);
  }
  std::uint64_t turn(forward_half&, action const& a, step_index&) {
    last = states_.live;
    if (a.from < a.to) states_.remember_surroundings(body_);
    states_.turn_at(a.from);
    states_.note_versions();
    states_.run_first(running_, last, a.from, a.to);
    return std::uint64_t(a.to - a.from);
  }
};

/// The reverse of the loop, as long as there are gradients.
class backward_half : public half_sweep {
 public:
  /// \param recorder  null if nothing is measured
  backward_half(loop_states& states, loop_body const& body, gradients_so_far& gradients, stats_recorder* recorder)
      : half_sweep{states, body}, gradients_{gradients}, recorder_{recorder} {}
  void advance(loop_body const&, step_index from, step_index to, step_index&) { states_.run_again(body_, from, to); }
  std::uint64_t reverse(backward_half&, action const& a) {
    gradients_.pull_back(states_.live, a, recorder_);
    return 0;
  }
  [[nodiscard]] bool pauses() const { return !gradients_.any(); }

 private:
  gradients_so_far& gradients_;
  stats_recorder* recorder_;
};

}  // namespace cairn::libtorch::detail
