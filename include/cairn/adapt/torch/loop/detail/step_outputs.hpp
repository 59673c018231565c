// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_outputs.hpp  What the steps of a loop return besides the next state.
#include <cstddef>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/loop/detail/tensor_series.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// The outputs of the steps of a loop: step i returns the parts of the next state, followed by its outputs.
class step_outputs {
 public:
  /// \param parts  number of parts of a state
  step_outputs(series_form form, std::size_t parts) : form_{form}, parts_{parts} {}

  /// Which outputs are differentiable, as far as is known.
  [[nodiscard]] part_flags const& flags() const noexcept { return flags_; }
  /// Undefined tensors in the form of the outputs.
  [[nodiscard]] series_list like(step_index steps) const {
    return series_list(flags_.size(), tensor_series{form_, steps});
  }
  /// Moves out the outputs of the steps.   \post there are none left
  [[nodiscard]] series_list take() { return std::exchange(all_, {}); }
  /// The part of the state after step i that is the same tensor as output number q; the number of parts if there is
  /// none.
  [[nodiscard]] std::size_t part_shared(step_index i, std::size_t q) const {
    bool const shared = part_of_[q] < parts_ && is_part_[std::size_t(i) * part_of_.size() + q];
    return shared ? part_of_[q] : parts_;
  }
  /// Finds which outputs are differentiable, and which are always a part of the state: their gradients are added before
  /// those of the next step.
  /// \param y  the results of a taped step   \param state_flags  which parts of the state after it are differentiable
  void learn(at::TensorList y, part_flags const& state_flags) {
    flags_.resize(y.size() - parts_);
    part_of_.resize(y.size() - parts_, unknown);
    for (std::size_t q = 0; q < flags_.size(); ++q) {
      auto const& t = y[parts_ + q];
      if (!t.defined() || !t.requires_grad()) continue;
      flags_[q] = true;
      auto const edge = torch::autograd::impl::gradient_edge(t);
      std::size_t part = 0;
      while (part < parts_ && !(state_flags[part] && torch::autograd::impl::gradient_edge(y[part]) == edge)) ++part;
      part_of_[q] = part_of_[q] == unknown || part_of_[q] == part ? part : parts_;
    }
  }
  /// Keeps the outputs of the first run of step i.   \param steps  of the loop, or 0 if that is not known
  void keep(tensor_list const& y, step_index i, step_index steps, char const* who) {
    if (i == 0) all_ = like(steps);
    keep_outputs(who, all_, at::TensorList{y}.slice(parts_), i);
    for (std::size_t q = 0; q < all_.size(); ++q) {
      auto const& t = y[parts_ + q];
      is_part_.push_back(part_of_[q] < parts_ && t.defined() && t.is_same(y[part_of_[q]]));
    }
  }
  /// \param y  the results of step i, run again   \throws recompute_mismatch   if an output is no longer a part of the
  ///   state
  void check_shared(at::TensorList y, step_index i, char const* who) const {
    for (std::size_t q = 0; q < flags_.size(); ++q) {
      auto const part = part_shared(i, q);
      if (part < parts_ && !y[part].is_same(y[parts_ + q]))
        throw recompute_mismatch{who, "a step gives one tensor as a state and an output, and two when it is run again",
                                 {{"step", i}, {"part", part}, {"output", q}},
                                 "make the step a function of its state and its number"};
    }
  }
  /// \param y  the results of step i, run again   \throws invalid_call   if an output is differentiable that was not in
  ///   the first run
  void check_flags(at::TensorList y, step_index i, char const* who) const {
    for (std::size_t q = 0; q < flags_.size(); ++q)
      if (auto const& t = y[parts_ + q]; t.defined() && t.requires_grad() && !flags_[q])
        throw invalid_call{who,
                           "an output of the step becomes differentiable later than in the first steps",
                           {{"step", i}, {"output", q}},
                           "use Capture::EveryStep"};
  }

 private:
  static constexpr std::size_t unknown = std::size_t(-1);

  series_form form_;
  std::size_t parts_;
  part_flags flags_;
  series_list all_;
  /// For each output: the part that it equals, the number of parts if there is none, or `unknown`.
  std::vector<std::size_t> part_of_;
  std::vector<bool> is_part_;  ///< for each output of each step
};

}  // namespace cairn::libtorch::detail
