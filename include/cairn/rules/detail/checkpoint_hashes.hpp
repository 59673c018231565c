// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checkpoint_hashes.hpp  The hashes that a replay check of checkpoints needs, in a table that does not grow.
#include <cstddef>
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/rules/replay_check.hpp>

namespace cairn::detail {

/// A state with a known hash.
struct noted_state {
  step_index at = -1;
  std::uint64_t hash = 0;
};
static_assert(sizeof(noted_state) == bytes_a_noted_state);

/// The state that was last saved in each place, and states between them, sorted by number. When the table of the latter
/// is full, only the last one in each gap between saved states stays; there are fewer gaps than entries.
class checkpoint_hashes {
 public:
  /// Forgets everything. Allocates only what is missing.
  /// \param keeps_run  `remember` and `rewind` will be called
  void begin(slot_index slots, slot_index tapes, bool keeps_run) {
    forget();
    slots_ = slots;
    initial_ = slots + tapes;
    auto const places = replay_places(slots, tapes);
    saved_.assign(entries_for(std::int64_t(places)), {});
    noted_.assign(entries_for(std::int64_t(noted_states(places))), {});
    if (keeps_run) {
      saved_at_turn_.assign(saved_.size(), {});
      noted_at_turn_.assign(noted_.size(), {});
    }
  }
  /// Forgets the states that were noted; those saved in places stay.
  void forget() noexcept { count_ = remembered_ = 0; }
  /// Forgets the noted states from state `open` on.
  void forget_from(step_index open) noexcept {
    while (count_ > 0 && noted_[count_ - 1].at >= open) --count_;
  }

  /// The first noted state from `at` to `to`, both included; `to + 1` if there is none.
  [[nodiscard]] step_index next(step_index at, step_index to) const noexcept {
    std::size_t const k = not_before(at);
    return k < count_ && noted_[k].at <= to ? noted_[k].at : to + 1;
  }
  /// State i as it was noted before. Null if it was not noted yet; then this call notes it.
  [[nodiscard]] noted_state const* note(step_index i, std::uint64_t hash) noexcept {
    std::size_t const k = not_before(i);
    if (k < count_ && noted_[k].at == i) return &noted_[k];
    insert(k, {i, hash});
    return nullptr;
  }
  /// The hash of state i if it was noted or saved, else 0.
  [[nodiscard]] std::uint64_t known(step_index i) const noexcept {
    if (std::size_t const k = not_before(i); k < count_ && noted_[k].at == i) return noted_[k].hash;
    for (noted_state const& one : saved_)
      if (one.at == i) return one.hash;
    return 0;
  }
  /// Whether all noted and saved states have this hash.
  [[nodiscard]] bool are_all(std::uint64_t hash) const noexcept {
    for (std::size_t k = 0; k < count_; ++k)
      if (noted_[k].hash != hash) return false;
    for (noted_state const& one : saved_)
      if (one.at >= 0 && one.hash != hash) return false;
    return true;
  }
  /// The state that was last saved in a place: a slot, slots + a tape, or, after these, the initial state.
  [[nodiscard]] noted_state& saved(slot_index place) noexcept { return saved_[place]; }

  /// Stores what is known at the turn of a kept run.
  void remember() noexcept {
    copy(noted_, noted_at_turn_, remembered_ = count_);
    copy(saved_, saved_at_turn_, saved_.size());
  }
  /// Restores what was known at the turn.
  void rewind() noexcept {
    copy(noted_at_turn_, noted_, count_ = remembered_);
    copy(saved_at_turn_, saved_, saved_.size());
  }
  /// State i as it was noted at the turn; null if it was not.
  [[nodiscard]] noted_state const* at_turn(step_index i) const noexcept {
    for (std::size_t k = 0; k < remembered_; ++k)
      if (noted_at_turn_[k].at == i) return &noted_at_turn_[k];
    return nullptr;
  }

 private:
  /// The first entry of state `at` or a later one. Most runs end near the last entries, so these are searched first.
  [[nodiscard]] std::size_t not_before(step_index at) const noexcept {
    if (count_ == 0 || noted_[count_ - 1].at < at) return count_;
    std::size_t low = 0, high = count_ - 1;
    while (low < high) {
      std::size_t const middle = low + (high - low) / 2;
      if (noted_[middle].at < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  void insert(std::size_t k, noted_state const& next) noexcept {
    if (count_ == noted_.size()) {
      sort_out(next.at);
      k = not_before(next.at);
    }
    for (std::size_t j = count_++; j > k; --j) noted_[j] = noted_[j - 1];
    noted_[k] = next;
  }
  /// Discards entries: keeps only the last one in each gap between states that are kept, or were when their places were
  /// last filled. The complement of an entry's number marks the first entry of a gap.
  void sort_out(step_index next) noexcept {
    auto const mark = [this](step_index kept) {
      std::size_t low = 0, high = count_;
      while (low < high) {
        std::size_t const middle = low + (high - low) / 2;
        if (number_of(noted_[middle]) < kept) low = middle + 1;
        else high = middle;
      }
      if (low < count_ && noted_[low].at >= 0) noted_[low].at = ~noted_[low].at;
    };
    for (std::size_t place = 0; place < saved_.size(); ++place) {
      bool const tape = place >= std::size_t(slots_) && place < std::size_t(initial_);
      if (step_index const at = saved_[place].at; at >= 0)
        mark(tape ? at - 1 : at);  // a recomputation stops before a tape
    }
    mark(next);
    std::size_t left = 0;
    for (std::size_t k = 0; k < count_; ++k) {
      bool const last = k + 1 == count_ || noted_[k + 1].at < 0;
      if (last) noted_[left++] = {number_of(noted_[k]), noted_[k].hash};
    }
    count_ = left;
  }
  [[nodiscard]] static step_index number_of(noted_state const& noted) noexcept {
    return noted.at >= 0 ? noted.at : ~noted.at;
  }
  static void copy(table<noted_state> const& from, table<noted_state>& to, std::size_t count) noexcept {
    for (std::size_t k = 0; k < count; ++k) to[k] = from[k];
  }

  table<noted_state> noted_, saved_, noted_at_turn_, saved_at_turn_;  // noted_ has count_ entries, sorted by state
  std::size_t count_ = 0, remembered_ = 0;
  slot_index slots_ = 0, initial_ = 0;  // places: tapes come after slots, then the initial state
};

}  // namespace cairn::detail
