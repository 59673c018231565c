// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file call_leaves.hpp  The tensors that a call of a captured graph finds: inputs, parameters, buffers and others.
#include <cstddef>
#include <cstdint>
#include <vector>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>

namespace cairn::libtorch::detail {

/// The leaves of one call, without a history. Leaves that are the same tensor in the call share one here, too, which is
/// found under the first of them, their slot.
class call_leaves {
 public:
  /// \param leaves  the inputs of the call, then the other leaves of the graph
  explicit call_leaves(at::TensorList leaves) : slots_(leaves.size()) {
    tensors_.reserve(leaves.size());
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      slots_[k] = first_place(leaves, k);
      tensors_.push_back(leaves[k].defined() ? leaves[k].detach() : at::Tensor{});
      requires_grad_.push_back(leaves[k].defined() && leaves[k].requires_grad());
      is_end_.push_back(requires_grad_.back() && leaves[k].is_leaf());
    }
    versions_ = versions_of(tensors_);
  }
  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
  /// The first leaf that is the same tensor as this one.
  [[nodiscard]] std::size_t slot(std::size_t leaf) const { return slots_[leaf]; }
  [[nodiscard]] at::Tensor const& operator[](std::size_t leaf) const { return tensors_[slots_[leaf]]; }
  [[nodiscard]] tensor_list all() const {
    tensor_list list;
    for (std::size_t k = 0; k < size(); ++k) list.push_back((*this)[k]);
    return list;
  }
  [[nodiscard]] bool requires_grad(std::size_t leaf) const { return requires_grad_[leaf]; }
  /// Whether the gradient of this leaf becomes its `.grad`.
  [[nodiscard]] bool is_end(std::size_t leaf) const { return is_end_[slots_[leaf]]; }
  /// Whether this leaf was changed in place since the call began.
  [[nodiscard]] bool is_changed(std::size_t leaf) const { return version_of(tensors_[leaf]) != versions_[leaf]; }

 private:
  tensor_list tensors_;
  part_flags requires_grad_, is_end_;
  std::vector<std::size_t> slots_;
  std::vector<std::int64_t> versions_;
};

}  // namespace cairn::libtorch::detail
