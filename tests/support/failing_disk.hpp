// SPDX-License-Identifier: Apache-2.0
// A store with a disk that loses states, cannot be written, and outlives its process.
#pragma once
#include "support/pendulum.hpp"
#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>
#include <cairn/store/store.hpp>

namespace toys {

using cairn::frame_id;
using cairn::place;
using cairn::slot_index;
using cairn::step_index;

/// Slots in memory hold frames, all others bytes on a "disk" that outlives the store's process and can fail.
struct failing_disk {
  struct file {
    step_index at = -1;
    std::vector<double> bytes;
  };
  /// What outlives a process.
  struct disk {
    std::map<slot_index, file> files;
    long writes_left = std::numeric_limits<long>::max();  // then no write succeeds
    slot_index bad = cairn::no_slot;      // cannot be written at all
    std::map<slot_index, int> failed;                     // writes, by slot
    long saves = 0, loads = 0;
  };
  static constexpr bool may_lose = true;
  disk& on;
  cairn::sweep_shape told;                          // by the sweep
  slot_index in_memory = 0;                         // how many slots are frames
  long loads = 0, lose_at = -1, lost_distance = 0;  // on all tiers; the load that fails, and what it takes to mend it
  std::map<slot_index, std::pair<frame_id, step_index>> kept;

  explicit failing_disk(disk& outliving) : on{outliving} {}
  slot_index extra_frames() const { return in_memory; }
  void begin(cairn::sweep_shape const& shape) {
    told = shape;
    in_memory = 0;
    for (slot_index slot = 0; slot < shape.slots; ++slot) in_memory += shape.tier_of(slot) == cairn::tier::memory;
    if (shape.resumed) return;
    kept.clear();
    on.files.clear();
  }
  frame_id frame(slot_index slot) const { return kept.count(slot) ? kept.at(slot).first : cairn::no_frame; }
  std::size_t bytes(cairn::tier where) const {
    std::size_t sum = 0;
    if (where == cairn::tier::disk)
      for (auto const& [slot, one] : on.files) sum += one.bytes.size() * sizeof(double);
    return sum;
  }
  bool save(auto& frames, place where, step_index i, frame_id frame) {
    if (where.where == cairn::tier::memory) {
      if (kept.count(where.slot)) throw std::logic_error{"a slot in memory is full"};
      frames.keep(frame);
      kept[where.slot] = {frame, i};
      return true;
    }
    if (on.writes_left-- <= 0 || where.slot == on.bad) {
      ++on.failed[where.slot];
      on.files.erase(where.slot);  // torn
      return false;
    }
    ++on.saves;
    on.files[where.slot] = {i, frames.state(frame).v};
    return true;
  }
  frame_id load(auto& frames, place where, step_index i) {
    if (loads++ == lose_at) {
      drop(frames, where);
      step_index before = 0;
      for (auto const& [slot, held] : kept)
        if (held.second <= i) before = std::max(before, held.second);
      for (auto const& [slot, held] : on.files)
        if (held.at <= i) before = std::max(before, held.at);
      lost_distance = i - before;
      return cairn::no_frame;
    }
    if (where.where == cairn::tier::memory) {
      if (!kept.count(where.slot) || kept[where.slot].second != i) throw std::logic_error{"not in memory"};
      frames.keep(kept[where.slot].first);
      return kept[where.slot].first;
    }
    if (!on.files.count(where.slot) || on.files[where.slot].at != i) return cairn::no_frame;
    ++on.loads;
    frame_id const k = frames.take();
    if (auto* const old = frames.reusable(k)) old->v = on.files[where.slot].bytes;
    else frames.emplace(k, pendulum::state{on.files[where.slot].bytes});
    return k;
  }
  void drop(auto& frames, place where) {
    if (where.where != cairn::tier::memory) on.files.erase(where.slot);
    else if (kept.count(where.slot)) frames.release(kept.extract(where.slot).mapped().first);
  }
  step_index at(slot_index slot) const { return on.files.count(slot) ? on.files.at(slot).at : -1; }
};

}  // namespace toys
