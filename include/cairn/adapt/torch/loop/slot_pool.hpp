// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file slot_pool.hpp  Slots that keep the tensors of a state, by reference or as copies in tensors allocated before
/// the loop.
#include <cstddef>
#include <cstdint>
#include <vector>
#include <ATen/ATen.h>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// How a slot keeps a state.
enum class SlotMode {
  Lazy,  ///< holds a reference to the tensors of the state: no copy, and no memory before a state is kept
  Eager  ///< copies into tensors allocated before the loop: memory runs out at the start or not at all, and steps may
         ///< work in place
};

/// A number of slots, each for one state of any number of tensors. Undefined tensors stay undefined. The tensors have
/// no gradient history.
class slot_pool {
  struct one_slot {
    std::vector<detail::saved_tensor> parts;
    bool full = false;
  };
  template <class Self>
  [[nodiscard]] static auto& slot_at(Self& self, std::size_t slot, char const* operation) {
    if (slot >= self.slots_.size())
      throw invalid_call{
          operation, "there is no such slot", {{"slot", slot}, {"slots", self.slots_.size()}}, "slots count from 0"};
    return self.slots_[slot];
  }

 public:
  slot_pool() = default;
  /// \param like  an Eager pool allocates tensors with the sizes, types and devices of this state now; a Lazy pool
  ///   ignores it
  /// Cost: Eager, `slots` times the bytes of `like`.
  slot_pool(SlotMode mode, std::size_t slots, at::TensorList like) : mode_{mode}, slots_(slots) {
    if (mode == SlotMode::Lazy) return;
    for (auto& slot : slots_)
      for (auto const& part : like)
        slot.parts.emplace_back(part.defined() ? at::empty_like(part.detach()) : at::Tensor{});
  }

  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }  ///< slots
  [[nodiscard]] SlotMode mode() const noexcept { return mode_; }  ///< how it keeps states
  /// Whether a slot keeps a state.   \throws invalid_call
  [[nodiscard]] bool holds(std::size_t slot) const {
    return slot_at(*this, slot, "cairn::libtorch::slot_pool::holds").full;
  }

  /// Keeps a state in a slot, replacing the previous one. An Eager slot copies if its tensor has the sizes and type of
  /// the part and nothing else holds it; otherwise it gets a new tensor, because the old one may be in a graph.
  /// \throws invalid_call  for a slot that does not exist
  void save(std::size_t slot, at::TensorList state) {
    auto& entry = slot_at(*this, slot, "cairn::libtorch::slot_pool::save");
    at::NoGradGuard const no_grad;
    entry.full = false;  // the code below may throw half-way
    entry.parts.resize(state.size());
    for (std::size_t k = 0; k < state.size(); ++k) {
      auto& tensor = entry.parts[k].value;
      if (!state[k].defined() || mode_ == SlotMode::Lazy)
        tensor = state[k].defined() ? state[k].detach() : at::Tensor{};
      else if (fits(tensor, state[k])) tensor.copy_(state[k]);
      else tensor = state[k].detach().clone();
      entry.parts[k].version = detail::version_of(tensor);
    }
    entry.full = true;
  }
  /// The tensors of a kept state. They are the slot's own: do not write to them; the next load would detect it.
  /// \throws invalid_call  for an empty slot, and for a tensor that was changed in place after it was kept
  [[nodiscard]] std::vector<at::Tensor> load(std::size_t slot) const {
    auto const& entry = slot_at(*this, slot, "cairn::libtorch::slot_pool::load");
    if (!entry.full)
      throw invalid_call{
          "cairn::libtorch::slot_pool::load", "the slot keeps no state", {{"slot", slot}}, "save one there first"};
    std::vector<at::Tensor> state;
    for (std::size_t k = 0; k < entry.parts.size(); ++k) {
      if (!entry.parts[k].unchanged())
        throw invalid_call{"cairn::libtorch::slot_pool::load",
                           "a tensor was changed in place after it was kept",
                           {{"slot", slot}, {"part", k}},
                           "let the step make new tensors, or take SlotMode::Eager"};
      state.push_back(entry.parts[k].value);
    }
    return state;
  }
  /// Empties the slot. A Lazy slot releases its tensors, an Eager one keeps them for the next state.
  /// \throws invalid_call
  void drop(std::size_t slot) {
    auto& entry = slot_at(*this, slot, "cairn::libtorch::slot_pool::drop");
    entry.full = false;
    if (mode_ == SlotMode::Lazy) entry.parts.clear();
  }
  /// Releases the tensors of all empty slots; an Eager slot allocates new ones at its next save.
  void release_unused() noexcept {
    for (auto& slot : slots_) if (!slot.full) slot.parts.clear();
  }
  /// Bytes of the tensors that the slots hold, including those of empty Eager slots.
  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (auto const& slot : slots_)
      for (auto const& part : slot.parts) sum += part.value.defined() ? std::int64_t(part.value.nbytes()) : 0;
    return sum;
  }

 private:
  [[nodiscard]] static bool fits(at::Tensor const& entry, at::Tensor const& part) {
    return entry.defined() && entry.sizes() == part.sizes() && entry.scalar_type() == part.scalar_type() &&
           entry.device() == part.device() && entry.use_count() == 1 && entry.storage().use_count() == 1;
  }

  SlotMode mode_ = SlotMode::Lazy;
  std::vector<one_slot> slots_;
};

}  // namespace cairn::libtorch
