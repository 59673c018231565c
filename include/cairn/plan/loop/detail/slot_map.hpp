// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file slot_map.hpp  The contents of slots, in memory that grows with the slots in use and not with the slot numbers.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>

namespace cairn::detail {

/// The interpreter's record of a slot: state `from` (to = from), or the tape of steps [from, to).
struct slot_content {
  step_index from = 0;
  step_index to = 0;
  tier where = tier::memory;
};

/// Hash map from slot number to content, with open addressing and linear probing, at most half full. Slot numbers are
/// >= 0.
class slot_map {
 public:
  [[nodiscard]] constexpr slot_index size() const noexcept { return size_; }

  /// The content of the slot, or nullptr if it is empty; valid until the map changes.
  [[nodiscard]] constexpr slot_content const* find(slot_index slot) const noexcept {
    if (size_ == 0) return nullptr;
    std::size_t const at = place(slot);
    return entries_[at].slot == slot ? &entries_[at].held : nullptr;
  }
  /// \pre the slot is empty
  constexpr void insert(slot_index slot, slot_content const& held) {
    if (2 * (std::size_t(size_) + 1) > entries_.size()) grow();
    entries_[place(slot)] = {slot, held};
    ++size_;
  }
  /// \pre the slot is full
  constexpr void erase(slot_index slot) noexcept {
    std::size_t hole = place(slot);
    std::size_t const mask = entries_.size() - 1;
    for (std::size_t k = (hole + 1) & mask; entries_[k].slot != no_slot; k = (k + 1) & mask) {
      std::size_t const home = hash(entries_[k].slot) & mask;
      if (((k - home) & mask) < ((k - hole) & mask))
        continue;  // its home lies after the hole: it is found without moving
      entries_[hole] = entries_[k];
      hole = k;
    }
    entries_[hole].slot = no_slot;
    --size_;
  }

 private:
  struct entry {
    slot_index slot = no_slot;
    slot_content held;
  };
  /// An odd multiplier permutes the numbers, so that consecutive slots, the usual case, do not collide.
  [[nodiscard]] static constexpr std::size_t hash(slot_index slot) noexcept {
    std::uint64_t const mixed = std::uint64_t(slot) * 0x9E3779B97F4A7C15u;
    return std::size_t(mixed ^ (mixed >> 32));
  }
  /// The index of the slot, or the index where it would be inserted.
  [[nodiscard]] constexpr std::size_t place(slot_index slot) const noexcept {
    std::size_t const mask = entries_.size() - 1;
    std::size_t at = hash(slot) & mask;
    while (entries_[at].slot != slot && entries_[at].slot != no_slot) at = (at + 1) & mask;
    return at;
  }
  [[gnu::noinline, gnu::cold]] constexpr void grow() {
    table<entry> const old = std::move(entries_);
    entries_ = table<entry>(old.size() == 0 ? 16 : 2 * old.size());
    for (entry const& e : old)
      if (e.slot != no_slot) entries_[place(e.slot)] = e;
  }

  table<entry> entries_;
  slot_index size_ = 0;
};

}  // namespace cairn::detail
