// SPDX-License-Identifier: Apache-2.0
// Stores that look at the tier: one that keeps memory and the other tiers apart and refuses what the plan did not say,
// and one that counts.
#pragma once
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <cairn/store/memory.hpp>
#include "support/pendulum.hpp"

namespace toys {

using cairn::frame_id;
using cairn::place;
using cairn::slot_index;
using cairn::step_index;
using cairn::tier;

/// A store was asked for what its plan does not do.
struct refused : std::logic_error {
  using std::logic_error::logic_error;
};

/// What went through a store, tier by tier, and what lies there.
struct tier_book {
  std::array<cairn::tier_counts, cairn::tier_count> seen;
  std::array<slot_index, cairn::tier_count> now{};

  void saved(tier where) {
    auto& here = seen[std::size_t(where)];
    ++here.saves;
    if (++now[std::size_t(where)] > here.peak) here.peak = now[std::size_t(where)];
  }
  void loaded(tier where) { ++seen[std::size_t(where)].loads; }
  void dropped(tier where) { --now[std::size_t(where)]; }
};

/// The tier of every slot of a plan, and how many slots lie on each.
class tier_map {
 public:
  template <cairn::schedule Plan>
  [[nodiscard]] static tier_map of(Plan const& plan) {
    tier_map made;
    for (slot_index slot = 0; slot < plan.slots(); ++slot) {
      made.tiers_.push_back(cairn::slot_tier(plan, slot));
      ++made.room_[std::size_t(made.tiers_.back())];
    }
    return made;
  }
  [[nodiscard]] slot_index slots() const { return slot_index(tiers_.size()); }
  [[nodiscard]] slot_index on(tier where) const { return room_[std::size_t(where)]; }
  /// \throws refused   for a slot that does not exist, or lies elsewhere
  void check(char const* verb, place where) const {
    if (where.slot < 0 || where.slot >= slots())
      throw refused{std::string{verb} + ": no slot " + std::to_string(where.slot)};
    if (tiers_[std::size_t(where.slot)] != where.where)
      throw refused{std::string{verb} + ": slot " + std::to_string(where.slot) + " does not lie on tier " +
                    std::to_string(int(where.where))};
  }

 private:
  std::vector<tier> tiers_;
  std::array<slot_index, cairn::tier_count> room_{};
};

/// How a `tiered` store keeps the states of the tier memory.
enum class in_memory : bool { as_frames, as_bytes };

/// Keeps states in memory as frames of the sweep, and those of each other tier as bytes under (tier, slot).
/// Refuses a slot on another tier than the plan's, more slots than the plan has there, and what is not there or is
/// there already.
class tiered {
 public:
  tier_book book;

  tiered() = default;
  template <cairn::schedule Plan>
  tiered(Plan const& plan, in_memory memory)
      : map_{tier_map::of(plan)}, frames_in_memory_{memory == in_memory::as_frames} {}

  [[nodiscard]] slot_index extra_frames() const { return frames_in_memory_ ? map_.on(tier::memory) : 0; }
  void begin(slot_index slots) {
    if (slots != map_.slots()) throw refused{"begin: another number of slots"};
    kept_.clear();
    book.now = {};
  }
  void save(auto& frames, place where, step_index i, frame_id frame) {
    map_.check("save", where);
    if (kept_.count(key(where)) != 0) throw refused{"save: slot " + std::to_string(where.slot) + " is full"};
    book.saved(where.where);
    if (book.now[std::size_t(where.where)] > map_.on(where.where))
      throw refused{"save: more slots than the plan has on a tier"};
    entry& e = kept_[key(where)];
    e.at = i;
    if (as_frame(where)) {
      frames.keep(e.frame = frame);
    } else {
      auto const& numbers = std::as_const(frames).state(frame).v;
      e.bytes.resize(numbers.size() * sizeof(double));
      std::memcpy(e.bytes.data(), numbers.data(), e.bytes.size());
    }
  }
  [[nodiscard]] frame_id load(auto& frames, place where, step_index i) {
    entry const& e = find("load", where);
    if (e.at != i)
      throw refused{"load: slot " + std::to_string(where.slot) + " holds state " + std::to_string(e.at) + ", not " +
                    std::to_string(i)};
    book.loaded(where.where);
    if (as_frame(where)) {
      frames.keep(e.frame);
      return e.frame;
    }
    pendulum::numbers numbers(e.bytes.size() / sizeof(double));
    std::memcpy(numbers.data(), e.bytes.data(), e.bytes.size());
    frame_id const k = frames.take();
    if (auto* const old = frames.reusable(k)) old->v = std::move(numbers);
    else frames.emplace(k, std::move(numbers));  // made in place: there is never one state more
    return k;
  }
  void drop(auto& frames, place where) {
    entry const& e = find("drop", where);
    if (as_frame(where)) frames.release(e.frame);
    kept_.erase(key(where));
    book.dropped(where.where);
  }
  /// Which state survives there. A slot has one tier, so that at most one entry is found.
  [[nodiscard]] step_index at(slot_index slot) const {
    for (auto const& [where, e] : kept_)
      if (where.second == slot) return e.at;
    return -1;
  }
  /// Loses all states for which `gone(tier, slot)`, as when a process ends or a file is deleted.
  template <class Gone>
  void lose(Gone gone) {
    for (auto one = kept_.begin(); one != kept_.end();) {
      auto const [where, slot] = one->first;
      if (!gone(where, slot)) {
        ++one;
        continue;
      }
      book.dropped(where);
      one = kept_.erase(one);
    }
  }

 private:
  struct entry {
    step_index at = -1;
    frame_id frame = cairn::no_frame;
    std::vector<std::byte> bytes;
  };
  [[nodiscard]] static std::pair<tier, slot_index> key(place where) { return {where.where, where.slot}; }
  [[nodiscard]] bool as_frame(place where) const { return frames_in_memory_ && where.where == tier::memory; }
  [[nodiscard]] entry const& find(char const* verb, place where) const {
    map_.check(verb, where);
    auto const found = kept_.find(key(where));
    if (found == kept_.end()) throw refused{std::string{verb} + ": slot " + std::to_string(where.slot) + " is empty"};
    return found->second;
  }

  tier_map map_;
  std::map<std::pair<tier, slot_index>, entry> kept_;
  bool frames_in_memory_ = true;
};

/// The store in memory for all tiers, counted; a state is brought back from, and dropped on, the tier on which it was
/// kept.
class counting {
 public:
  static constexpr bool keeps_frames = true;
  tier_book book;

  void begin(slot_index slots) {
    inner_.begin(slots);
    where_.assign(std::size_t(slots), {});
    book.now = {};
  }
  void save(auto& frames, place where, step_index i, frame_id frame) {
    if (inner_.frame(where.slot) != cairn::no_frame)
      throw refused{"save: slot " + std::to_string(where.slot) + " is full"};
    where_[std::size_t(where.slot)] = where.where;
    book.saved(where.where);
    inner_.save(frames, where, i, frame);
  }
  [[nodiscard]] frame_id load(auto& frames, place where, step_index i) {
    check("load", where);
    book.loaded(where.where);
    return inner_.load(frames, where, i);
  }
  void drop(auto& frames, place where) {
    check("drop", where);
    book.dropped(where.where);
    inner_.drop(frames, where);
  }
  [[nodiscard]] frame_id frame(slot_index slot) const { return inner_.frame(slot); }

 private:
  void check(char const* verb, place where) const {
    if (inner_.frame(where.slot) == cairn::no_frame)
      throw refused{std::string{verb} + ": slot " + std::to_string(where.slot) + " is empty"};
    if (where_[std::size_t(where.slot)] != where.where)
      throw refused{std::string{verb} + ": slot " + std::to_string(where.slot) + " was filled on another tier"};
  }

  cairn::memory_store inner_;
  std::vector<tier> where_;
};

}  // namespace toys
