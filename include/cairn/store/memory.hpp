// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory.hpp  The store in memory. A checkpoint is a frame with one more owner, so saving and loading copy
/// nothing.
#include <utility>
#include <cairn/core/detail/in_use.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/store/store.hpp>

namespace cairn {

/// Keeps checkpoints as frames of the sweep. Costs 8 bytes per slot besides the states themselves; every operation is
/// O(1).
class memory_store {
 public:
  /// See `store_of`.
  static constexpr bool keeps_frames = true;

  /// Forgets everything; see `store_of`.
  void begin(slot_index slots) {
    ++begun_.value;
    frames_.assign(detail::entries_for(slots), no_frame);
  }

  /// Keeps the frame itself.
  template <class Frames>
  void save(Frames& frames, place where, step_index, frame_id frame) {
    frames.keep(frame);
    frames_[where.slot] = frame;
  }
  /// The frame in a slot, with one more owner.
  template <class Frames>
  [[nodiscard]] frame_id load(Frames& frames, place where, step_index) {
    frame_id const frame = frames_[where.slot];
    frames.keep(frame);
    return frame;
  }
  /// Releases the frame.
  template <class Frames>
  void drop(Frames& frames, place where) {
    frames.release(std::exchange(frames_[where.slot], no_frame));
  }

  /// The frame that a slot holds, or no_frame.
  [[nodiscard]] frame_id frame(slot_index slot) const noexcept { return frames_[slot]; }

 private:
  friend detail::store_marks;
  detail::busy_mark busy_;  // first: a move that is refused has moved nothing
  detail::sweep_count begun_;
  detail::table<frame_id> frames_;
};

template <> inline constexpr bool detail::loses_nothing<memory_store> = true;

}  // namespace cairn
