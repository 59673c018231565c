// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_inputs.hpp  What the steps of a loop read besides its state.
#include <cstddef>
#include <vector>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/loop/detail/tensor_series.hpp>
#include <cairn/adapt/torch/state/detail/saved_tensor.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// The tensor with its present version; empty if it is undefined.
[[nodiscard]] inline saved_tensor saved_part(at::Tensor const& t) {
  return t.defined() ? saved_tensor{t} : saved_tensor{};
}

/// The inputs of the steps of a loop.
class step_inputs {
 public:
  explicit step_inputs(series_list const& given) {
    for (auto const& one : given) {
      flags_.push_back(require_gradients(one.tensors()));
      series_.emplace_back(one.form(), one.steps(), detached(one.tensors()));
      for (auto const& t : series_.back().tensors()) saved_.push_back(saved_part(t));
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return series_.size(); }  ///< number of series
  [[nodiscard]] series_list const& series() const noexcept { return series_; }  ///< without history
  /// Which tensors of each series require a gradient.
  [[nodiscard]] std::vector<part_flags> const& flags() const noexcept { return flags_; }
  /// The inputs of step i.
  [[nodiscard]] tensor_list at(step_index i) const { return slices_at(series_, i); }
  /// Which inputs of step i require a gradient.
  [[nodiscard]] part_flags flags_at(step_index i) const {
    part_flags flags;
    for (std::size_t q = 0; q < series_.size(); ++q) flags.push_back(flags_[q][series_[q].number(i)]);
    return flags;
  }
  /// \throws invalid_call   if an input has changed since the loop was made
  void check_unchanged(char const* who) const {
    for (std::size_t k = 0; k < saved_.size(); ++k)
      if (saved_[k].value.defined() && !saved_[k].unchanged())
        throw invalid_call{who, "an input of the steps was changed in place since the loop used it",
                           {{"input tensor", k}, {"of", saved_.size()}},
                           "run backward first, or give the loop a clone"};
  }

 private:
  series_list series_;
  std::vector<part_flags> flags_;
  std::vector<saved_tensor> saved_;
};

}  // namespace cairn::libtorch::detail
