// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file host_loads.hpp  Looks ahead on a copy of the cursor: which state is loaded from the host next, and from when
/// on a frame is free for it.
#include <cstdint>
#include <cairn/adapt/cuda/detail/device_needs.hpp>
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// Walks to the next load from the host whose state is not the one loaded last, because the start of a period may be
/// loaded several times in a row. Actions are numbered from 0. Costs one additional walk in total.
template <class Cursor>
class host_loads {
 public:
  /// \param frames  number of frames
  host_loads(Cursor const& start, frames_held held, slot_index frames) : cursor_{start}, held_{held}, frames_{frames} {
    find_next();
  }

  [[nodiscard]] bool is_next(slot_index slot, step_index state) const noexcept {
    return !ended_ && slot == next_slot_ && state == next_state_;
  }
  [[nodiscard]] slot_index next_slot() const noexcept { return next_slot_; }
  [[nodiscard]] step_index next_state() const noexcept { return next_state_; }
  /// Whether a frame can be given to the next state from action `now` on: no action before its load needs all frames.
  /// \param keeps_current  one more frame is kept for later loads of the current state
  [[nodiscard]] bool has_free_frame(std::int64_t now, bool keeps_current) const noexcept {
    return !ended_ && now > full_ && (!keeps_current || now > nearly_full_for_current_);
  }
  /// Whether the current state is loaded again after action `now`.
  [[nodiscard]] bool comes_again(std::int64_t now) const noexcept { return now < last_of_current_; }

  /// The next state was loaded and becomes the current one.
  void pass() {
    slot_ = next_slot_;
    state_ = next_state_;
    last_of_current_ = now_;
    nearly_full_for_current_ = -1;
    find_next();
  }

 private:
  void find_next() {
    for (;;) {
      action const a = cursor_.next();
      ++now_;
      if (a.kind == action_kind::done) {
        ended_ = true;
        return;
      }
      slot_index const frames = held_.during(a);
      if (frames >= frames_) full_ = now_;
      if (frames >= frames_ - 1) nearly_full_ = now_;
      if (a.kind != action_kind::load || a.slot == no_slot || a.where != tier::host) continue;
      if (a.slot == slot_ && a.from == state_) {
        last_of_current_ = now_;
        nearly_full_for_current_ = nearly_full_;
        continue;
      }
      next_slot_ = a.slot;
      next_state_ = a.from;
      return;
    }
  }

  Cursor cursor_;
  frames_held held_;
  slot_index frames_;
  std::int64_t now_ = -1;               // the last action looked at
  std::int64_t full_ = -1;              // the last action that needs all frames
  std::int64_t nearly_full_ = -1;       // the last action that needs all frames but one
  std::int64_t last_of_current_ = -1;   // the last load of the current state so far
  std::int64_t nearly_full_for_current_ = -1;  // nearly_full_ at that load
  slot_index slot_ = no_slot, next_slot_ = no_slot;
  step_index state_ = -1, next_state_ = -1;
  bool ended_ = false;
};

}  // namespace cairn::detail
