// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_reads.hpp  What the steps of a loop read from outside.
#include <cstddef>
#include <string>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

[[noreturn]] inline void refuse_earlier_state(char const* who, step_index i) {
  throw invalid_call{who, "the step reads a state of its own loop, but not from its argument", {{"step", i}},
                     "read the argument; for an earlier state, make the state a tuple of both"};
}

/// The tensors that the steps of a loop read besides their arguments.
class step_reads {
 public:
  bool tracks_later = true;  ///< whether some of the steps without a tape are tracked

  /// How parameters are compared.
  void compare(Check how) noexcept { reads_.compare(how); }
  /// Step i reads this tensor.
  void add(at::Tensor const& t, step_index i) { reads_.add(t, i); }
  /// Whether to track step i though it is run without a tape: the last step, steps 2^k and 2^k + 1, and every step as
  /// soon as such a step has read something new, or if tracking costs little.
  /// \param steps  of the loop, or 0 if that is not known   \pre i > 0
  [[nodiscard]] bool tracks(step_index i, step_index steps) const noexcept {
    auto const is_power = [](step_index k) { return (k & (k - 1)) == 0; };
    return tracks_later && (tracks_all_ || is_power(i) || is_power(i - 1) || i + 1 == steps);
  }
  /// From now on what lies in this memory may change.
  void leave_out(void const* memory) { reads_.leave_out(memory); }
  /// Notes what a step has read.   \param given  its state and inputs   \param y  what it made
  /// \param parts  number of parts of a state
  void note(read_tracker const& tracker, at::TensorList given, at::TensorList y, std::size_t parts, step_index i) {
    auto const reads = tracker.reads(given);
    bool varies = false;
    for (auto const& read : reads) {
      auto const t = read.lock();
      if (state_read_ < 0 && states_made_.holds(t)) state_read_ = i;
      // A view that each step makes anew, such as a row of its input, is not a new tensor.
      varies = varies || (i > 0 && !reads_.knows_memory_of(t));
    }
    // The step's own state, but not through its argument: such a step keeps the state in an object.
    tracker.each_read_beside(given, [&](void const* memory) {
      if (state_read_ < 0 && states_made_.holds_address(memory)) state_read_ = i;
    });
    reads_.add(reads, i);
    tracks_all_ = tracks_all_ || varies || tracker.costs_little();
    for (std::size_t k = 0; k < parts && k < y.size(); ++k)
      if (y[k].defined() && tracker.made(y[k])) states_made_.add(y[k]);
  }
  /// Notes the state that a step without tracking made, so that a later step that is tracked cannot read it unseen.
  /// Parts in the memory of its arguments, or of what steps read, do not count as made by it.
  /// \param x, given  its state and inputs   \param y  its result, which begins with the parts of the next state
  void note_made(at::TensorList x, at::TensorList given, at::TensorList y) {
    if (!tracks_later) return;
    for (std::size_t k = 0; k < x.size() && k < y.size(); ++k) {
      if (!y[k].defined()) continue;
      auto const* const memory = memory_key(y[k]);
      if (!any_in_memory(x, memory) && !any_in_memory(given, memory) && !reads_.knows_memory_of(y[k]))
        states_made_.add(y[k]);
    }
  }
  /// \throws invalid_call   if a step was seen to read an earlier state
  void check_states(char const* who) const {
    if (state_read_ >= 0) refuse_earlier_state(who, state_read_);
  }
  /// \throws invalid_call   if a tensor has changed since a step read it
  void check_unchanged(char const* who) const {
    if (auto const k = reads_.first_changed(); k < reads_.size())
      throw invalid_call{
          who,
          (std::string{"a captured tensor was changed in place since the loop used it"} + reads_.text(k)).c_str(),
          {{"step", reads_.step(k)}, {"captured tensor", k}, {"of", reads_.size()}},
          "run backward before the optimiser's step, and change nothing that the step uses from within it"};
    if (auto const k = reads_.first_rewritten(); k < reads_.size())
      throw invalid_call{who,
                         (std::string{rewritten} + reads_.text(k)).c_str(),
                         {{"step", reads_.step(k)}, {"captured tensor", k}, {"of", reads_.size()}},
                         rewritten_advice};
  }

 private:
  read_list reads_;
  storage_set states_made_;  ///< memory of states that were made while reads were tracked
  step_index state_read_ = -1;  ///< the first step that was seen to read one of them
  bool tracks_all_ = false;  ///< every later step is tracked
};

}  // namespace cairn::libtorch::detail
