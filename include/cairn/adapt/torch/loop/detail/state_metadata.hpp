// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file state_metadata.hpp  The metadata of a loop's states when they were first computed.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/determinism.hpp>
#include <cairn/adapt/torch/state/recompute_mismatch.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/replay_check.hpp>

namespace cairn::libtorch::detail {

/// The metadata of all states. Consecutive states with the same metadata are stored once: a few bytes for a loop. If
/// bits are compared, some bytes for each compared state: for all states, or for those between blocks.
class state_metadata {
 public:
  state_metadata(Check check, replay_check verify)
      : verify_{check == Check::Bits ? replay_check::every_step : verify},
        compares_{check != Check::Off || verify != replay_check::off} {}

  /// For `replay_check::checkpoints`: the number of steps that are reversed together, and the end of the loop, -1 if
  /// unknown.
  void set_blocks(step_index size, step_index end) noexcept { block_ = size, last_ = end; }

  /// \pre called for states in order
  void note(step_index i, at::TensorList parts) { note(i, parts, wants_bits(i)); }
  /// The same for the last state of a loop whose length was unknown; it was noted before.
  void note_last(step_index i, at::TensorList parts) {
    if (verify_ != replay_check::checkpoints || wants_bits(i)) return;
    if (!all_.empty() && all_.back().from == i) all_.pop_back();
    last_ = i;
    note(i, parts, true);
  }
  /// \throws recompute_mismatch   \pre state i was noted
  void compare(char const* who, step_index i, at::TensorList parts) const {
    if (!compares_) return;
    auto const& first = metadata_at(i);
    for (std::size_t k = 0; k < parts.size() && k < first.size(); ++k) {
      auto const now = tensor_metadata::of(parts[k], wants_bits(i));
      if (!first[k].is_like(now))
        throw recompute_mismatch{
            who,
            ("a step gives " + now.text() + " when it is run again, and gave " + first[k].text()).c_str(),
            {{"step", i - 1}, {"part", k}},
            advice};
      if (first[k].bits == now.bits) continue;
      if (verify_ == replay_check::every_step)
        throw recompute_mismatch{
            who, "a step gives different bits when it is run again", {{"step", i - 1}, {"part", k}}, advice};
      throw recompute_mismatch{who,
                               "steps give different bits when they are run again",
                               {{"first step", (i - 1) / block_ * block_}, {"last step", i - 1}, {"part", k}},
                               advice};
    }
  }

 private:
  [[nodiscard]] bool wants_bits(step_index i) const noexcept {
    return verify_ == replay_check::every_step ||
           (verify_ == replay_check::checkpoints && (i % block_ == 0 || i == last_));
  }
  void note(step_index i, at::TensorList parts, bool with_bits) {
    if (!compares_) return;
    metadata_list now;
    for (auto const& part : parts) now.push_back(tensor_metadata::of(part, with_bits));
    if (all_.empty() || !same(all_.back().metadata, now)) all_.push_back({i, std::move(now)});
  }
  static constexpr char const* advice =
      "make the step a function of its state and its number: no counters, no global state, no other random generators";
  using metadata_list = std::vector<tensor_metadata>;
  struct noted {
    step_index from;  ///< the first state with this metadata
    metadata_list metadata;
  };

  [[nodiscard]] static bool same(metadata_list const& x, metadata_list const& y) {
    bool same = x.size() == y.size();
    for (std::size_t k = 0; same && k < x.size(); ++k) same = x[k].is_like(y[k]) && x[k].bits == y[k].bits;
    return same;
  }
  [[nodiscard]] metadata_list const& metadata_at(step_index i) const {
    std::size_t low = 0, high = all_.size();  // all_[low].from <= i, and i < all_[high].from
    while (high - low > 1) {
      auto const middle = low + (high - low) / 2;
      (all_[middle].from <= i ? low : high) = middle;
    }
    return all_[low].metadata;
  }

  replay_check verify_;
  bool compares_;
  step_index block_ = 1, last_ = -1;
  std::vector<noted> all_;
};

}  // namespace cairn::libtorch::detail
