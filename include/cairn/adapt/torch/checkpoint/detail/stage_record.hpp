// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stage_record.hpp  What a chain keeps of one stage between its runs.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/checkpoint/detail/active_region.hpp>
#include <cairn/adapt/torch/checkpoint/detail/cached_operations.hpp>
#include <cairn/adapt/torch/checkpoint/detail/group_state.hpp>
#include <cairn/adapt/torch/checkpoint/detail/script_mode.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/detail/saved_metadata.hpp>
#include <cairn/adapt/torch/state/detail/saved_origin.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/core/action.hpp>

namespace cairn::libtorch::detail {

/// What a stage saved, and its output.
struct stage_tape {
  saved_tensors saved;
  saved_tensor output;
  bool is_used = false;  ///< a saved tensor was taken
};

/// What a chain keeps of one stage: facts of its first run, and its tape while the plan keeps one.
class stage_record {
 public:
  bool requires_grad = false;  ///< of its input
  bool begins = false;         ///< the plan runs it again after something other than the stage before it
  bool scripts = false;        ///< TorchScript ran
  bool has_policy = false;     ///< it runs under the policy: there is one, and the plan runs the stage again
  generator_states generators;     ///< before the stage, if `begins`
  read_list reads;                 ///< tensors from outside the chain that it read
  write_log changes;               ///< what it changed outside the chain, as it was before
  cached_operations operations;    ///< results that the policy keeps
  std::vector<kept_result> kept;   ///< parts that `cairn::libtorch::keep` keeps
  group_places places;             ///< its tensors in groups
  std::optional<stage_tape> tape;

  /// The first run saves a tensor. Returns the tensor's number.
  std::size_t note(at::Tensor const& t, saved_metadata metadata, saved_origin origin) {
    metadata_.push_back(std::move(metadata));
    wanted_.push_back(true);
    if (tape) tape->saved.emplace_back(t.detach(), origin);
    return metadata_.size() - 1;
  }
  /// The graph no longer holds this tensor.   \param has_run  whether the first run is over
  void release(std::size_t number, bool has_run) {
    wanted_[number] = false;
    places.release(number);
    if (has_run && std::find(wanted_.begin(), wanted_.end(), true) == wanted_.end()) operations.clear();
  }
  [[nodiscard]] std::size_t saved() const noexcept { return metadata_.size(); }  ///< number of tensors that it saves
  [[nodiscard]] saved_metadata const& metadata(std::size_t number) const { return metadata_[number]; }
  /// \throws recompute_mismatch   if what stage i saves again is not like the first time
  void check(step_index i, std::size_t number, saved_tensor const& again, char const* who) const {
    check_saved(metadata_[number], again, who, number, {"stage", i}, scripts ? script_advice : recompute_advice);
  }
  /// Whether the tape holds everything that the stage saves.
  [[nodiscard]] bool is_whole() const { return tape && !tape->is_used && tape->saved.size() == metadata_.size(); }
  [[nodiscard]] bool holds(std::size_t number) const {
    return tape && number < tape->saved.size() && tape->saved[number].value.defined();
  }
  /// \pre `holds(number)`
  [[nodiscard]] saved_tensor take(std::size_t number) {
    tape->is_used = true;
    return std::exchange(tape->saved[number], {});
  }
  /// Moves the content of the tape to a group.   \pre the tape is whole
  void hand_over(saved_tensors& place) {
    place = std::exchange(tape->saved, {});
    for (std::size_t k = 0; k < place.size(); ++k)
      if (!wanted_[k]) place[k] = {};
  }

 private:
  std::vector<saved_metadata> metadata_;  ///< of each saved tensor
  std::vector<bool> wanted_;              ///< whether the graph still holds it
};

}  // namespace cairn::libtorch::detail
