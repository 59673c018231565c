// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file outside_memory.hpp  The memory beside their state that the steps of a loop write to.
#include <cstddef>
#include <vector>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// Pieces of memory, and generators of the program's own, as they were before the first step that wrote to them or drew
/// from them. Memory whose earlier values a step needs is stored with each state; a trajectory nobody reads is not.
class outside_memory {
 public:
  outside_memory() = default;
  /// \param named  by the user: earlier values are needed
  explicit outside_memory(at::TensorList named) : first_{named} { pieces_.resize(first_.size(), {0, true, false}); }

  [[nodiscard]] std::size_t size() const noexcept { return first_.size(); }
  /// What lies in these pieces is not noted anew.
  void leave_out_of(write_log& log) const {
    for (auto const& one : first_.images()) log.leave_out(one.key());
    for (auto const& one : first_.generators()) log.leave_out(one.key());
  }
  /// What a step has changed that is not known, as it was before it.
  void add(write_log const& log, step_index step) {
    first_.add(log);
    pieces_.resize(first_.size(), {step, false, false});
  }
  /// Notes which earlier values a step has read.
  /// \throws invalid_call   if they are missing with a state that is stored already
  void note_reads(read_tracker const& tracker, step_index step, char const* who) {
    last_ = step;
    for (std::size_t k = 0; k < size(); ++k) {
      auto& one = pieces_[k];
      if (one.is_needed || !tracker.needs_earlier(first_.images()[k].key())) continue;
      one.is_needed = true;
      if (one.is_missing)
        throw invalid_call{who,
                           "a step reads what earlier steps have written, but the first ones did not",
                           {{"step", step}, {"bytes", first_.images()[k].bytes()}},
                           "name the tensor by LoopOptions::buffers, or make it a part of the state"};
    }
  }
  /// To be stored with a state: what is needed, as it is now.   \param last  what was stored last
  [[nodiscard]] memory_images stored_now(memory_images const& last) const {
    unseen_operations const unseen;
    memory_images all;
    for (std::size_t k = 0; k < size(); ++k) {
      auto const& before = k < last.size() && last.images()[k].has_values() ? last.images()[k] : first_.images()[k];
      auto const& one = pieces_[k];
      bool const is_stored = one.is_needed || last_ <= one.first;  // the step after the first may read it
      one.is_missing = one.is_missing || (!is_stored && before.is_changed());
      if (!is_stored) all.add(before.without_values());
      else all.add(before.is_changed() ? before.now() : before);
    }
    all.add_now(first_.generators());
    return all;
  }
  /// What was stored with a state. What was not was as at first, or nobody needs it.
  void put_back(memory_images const& stored) const {
    stored.put_back();
    unseen_operations const unseen;
    for (std::size_t k = 0; k < size(); ++k)
      if (pieces_[k].is_needed && (k >= stored.size() || !stored.images()[k].has_values())) {
        auto const& one = first_.images()[k];
        if (one.is_changed()) one.put_back();
      }
    for (auto const& one : first_.generators())
      if (!stored.holds_generator(one.key())) one.put_back();
  }
  /// All pieces, as they were at first.
  [[nodiscard]] memory_images const& first() const noexcept { return first_; }

 private:
  struct piece {
    step_index first;  ///< step that wrote to it
    bool is_needed;
    mutable bool is_missing;  ///< with some state that was stored
  };
  memory_images first_;
  std::vector<piece> pieces_;
  step_index last_ = 0;  ///< step whose reads are known
};

}  // namespace cairn::libtorch::detail
