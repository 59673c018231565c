#pragma once
/// \file host_loads.hpp  Looks ahead on a copy of the cursor: which state comes back from the host next, and from when
/// on there is a frame for it.
#include <cstdint>
#include <cairn/adapt/cuda/device_capacity.hpp>
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// Walks to the next load from the host that is not one of the state that came last: a period's start may be loaded
/// several times in a row. Actions are numbered from 0. One walk more in all.
template <class Cursor>
class host_loads {
 public:
  /// \param frames  there are
  host_loads(Cursor const& start, frames_held held, slot_index frames) : cursor_{start}, held_{held}, frames_{frames} {
    find_next();
  }

  [[nodiscard]] bool is_next(slot_index slot, step_index state) const noexcept {
    return !ended_ && slot == next_slot_ && state == next_state_;
  }
  [[nodiscard]] slot_index next_slot() const noexcept { return next_slot_; }
  [[nodiscard]] step_index next_state() const noexcept { return next_state_; }
  /// Whether a frame can be given to the next state from action `now` on: until it is loaded no action needs all of
  /// them.
  /// \param keeps_current  one frame more stands by for the loads of the current state that are still to come
  [[nodiscard]] bool has_free_frame(std::int64_t now, bool keeps_current) const noexcept {
    return !ended_ && now > full_ && (!keeps_current || now > nearly_full_for_current_);
  }
  /// Whether the current state is loaded again behind action `now`.
  [[nodiscard]] bool comes_again(std::int64_t now) const noexcept { return now < last_of_current_; }

  /// The next one is loaded and becomes the current one.
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
  std::int64_t now_ = -1;               // the action that was looked at last
  std::int64_t full_ = -1;              // the last one that needs all frames
  std::int64_t nearly_full_ = -1;       // the last one that needs all but one
  std::int64_t last_of_current_ = -1;   // the last load of the current state so far
  std::int64_t nearly_full_for_current_ = -1;  // nearly_full_ at that load
  slot_index slot_ = no_slot, next_slot_ = no_slot;
  step_index state_ = -1, next_state_ = -1;
  bool ended_ = false;
};

}  // namespace cairn::detail
