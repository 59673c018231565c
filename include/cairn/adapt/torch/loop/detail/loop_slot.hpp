// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_slot.hpp  A slot of a loop over tensors, which keeps a state by reference, in tensors of its own, or in
/// pinned host memory.
#include <cstddef>
#include <cstdint>
#include <vector>
#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <cairn/adapt/torch/loop/detail/step_effects.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

[[nodiscard]] inline bool same_layout(at::Tensor const& a, at::Tensor const& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

/// Whether a copy has the same layout, and so the same bits: false if there are gaps or overlaps in memory, or if it is
/// not a plain strided tensor.
[[nodiscard]] inline bool is_plain(at::Tensor const& t) {
  return t.layout() == at::kStrided && t.has_storage() && !t.is_nested() && !t.is_quantized() && !t.is_conj() &&
         !t.is_neg() && t.is_non_overlapping_and_dense();
}

/// One tensor of a kept state. A copy of this object shares the memory, which is not overwritten while both have it:
/// the next `put` then allocates.
class slot_part {
 public:
  /// Keeps a tensor. If this makes a copy on the same device, t becomes the copy, so that the values exist only once.
  void put(at::Tensor& t, SlotMode slots, Offload offload) {
    if (offload == Offload::Pinned && t.is_cuda() && is_plain(t)) {
      auto const there = t.options().device(at::kCPU).pinned_memory(true);
      pinned_ = at::empty_strided(t.sizes(), t.strides(), there).copy_(t, true);
      device_ = t.device();
    } else {
      if (slots == SlotMode::Eager && is_plain(t)) t = own_copy(t);
      refer(t);
    }
  }
  /// Keeps a reference.
  void refer(at::Tensor const& t) { saved_ = saved_tensor{t}; }
  /// The tensor, undefined if there is none.
  [[nodiscard]] at::Tensor get() const {
    if (!pinned_.defined()) return saved_.value;
    auto const there = pinned_.options().device(device_).pinned_memory(false);
    return at::empty_strided(pinned_.sizes(), pinned_.strides(), there).copy_(pinned_, true);
  }
  /// The tensor that holds the values, wherever it is; undefined if there is none.
  [[nodiscard]] at::Tensor const& held() const noexcept { return pinned_.defined() ? pinned_ : saved_.value; }
  /// Whether a tensor that it refers to has not changed.
  [[nodiscard]] bool unchanged() const { return saved_.unchanged(); }
  /// Drops the tensor, but keeps memory of the device for the next one.
  void drop() noexcept {
    saved_ = {};
    pinned_.reset();
  }

 private:
  /// A copy in memory that nothing else uses.   \pre nothing is kept
  [[nodiscard]] at::Tensor own_copy(at::Tensor const& t) {
    bool const fits = own_.defined() && own_.use_count() == 1 && own_.storage().use_count() == 1 &&
                      own_.device() == t.device() && same_layout(own_, t);
    if (!fits) {
      own_.reset();
      own_ = at::empty_strided(t.sizes(), t.strides(), t.options());
    }
    own_.copy_(t);
    return own_;
  }

  saved_tensor saved_;
  at::Tensor own_, pinned_;
  c10::Device device_{at::kCPU};  ///< from which the pinned values come
};

/// Keeps a state, and generators and buffers before its step. A copy shares the tensors.
class loop_slot {
 public:
  /// \param state  replaced by the slot's own tensors if these are on the same device   \param initial  state 0, which
  ///   lives anyway and is not copied
  void put(tensor_list& state, std::vector<saved_tensor> const& initial, step_surroundings const& around,
           SlotMode slots, Offload offload) {
    at::NoGradGuard const no_grad;
    drop();
    around_ = around;
    parts_.resize(state.size());
    first_.clear();
    for (std::size_t k = 0; k < state.size(); ++k) first_.push_back(first_place(state, k));
    for (std::size_t k = 0; k < state.size(); ++k) {
      if (!state[k].defined()) continue;
      bytes_ += std::int64_t(state[k].nbytes());
      if (first_[k] < k) state[k] = state[first_[k]];
      else if (stands_in(state[k], initial)) parts_[k].refer(state[k]);
      else parts_[k].put(state[k], slots, offload);
    }
  }
  /// The state. Parts that were the same tensor are the same tensor again.
  /// \throws invalid_call   if a tensor was changed in place
  [[nodiscard]] tensor_list get(char const* who, step_index i) const {
    tensor_list state;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      if (!parts_[k].unchanged()) throw_changed(who, i, k);
      state.push_back(first_[k] < k ? state[first_[k]] : parts_[k].get());
    }
    return state;
  }
  /// Frees the slot; keeps its memory for the next state unless it holds references.
  void drop() noexcept {
    for (auto& part : parts_) part.drop();
    around_ = {};
    bytes_ = 0;
  }
  [[nodiscard]] step_surroundings const& around() const noexcept { return around_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }  ///< of its tensors, wherever they are
  /// Appends the parts of its state, wherever they are.
  void list_parts(tensor_list& all) const { for (auto const& part : parts_) all.push_back(part.held()); }
  /// Appends its tensors, those of generators and buffers included.
  void list_tensors(tensor_list& all) const {
    list_parts(all);
    around_.list_tensors(all);
  }

  [[noreturn]] static void throw_changed(char const* who, step_index i, std::size_t part) {
    throw invalid_call{who, "a state was changed in place after it was kept", {{"state", i}, {"part", part}},
                       "clone what the loop was given, what it returned and what steps see before you change it"};
  }

 private:
  [[nodiscard]] static bool stands_in(at::Tensor const& t, std::vector<saved_tensor> const& state) {
    for (auto const& part : state)
      if (part.value.defined() &&
          (part.value.is_same(t) || (part.value.has_storage() && t.has_storage() && part.value.is_alias_of(t))))
        return true;
    return false;
  }

  std::vector<slot_part> parts_;
  std::vector<std::size_t> first_;  ///< for each part: the first part that is the same tensor
  step_surroundings around_;
  std::int64_t bytes_ = 0;
};

}  // namespace cairn::libtorch::detail
