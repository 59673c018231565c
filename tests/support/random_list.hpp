// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random lists of actions for a device: sound, and such as no planner makes. States are kept, moved from slot to slot
// and brought back for nothing, before the turn, too.
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/schedule/action_list.hpp>

class list_maker {
  using kind = cairn::action_kind;
  using step_index = cairn::step_index;
  using slot_index = cairn::slot_index;

 public:
  explicit list_maker(std::uint64_t seed) : random_{seed} {}

  /// A list of at most `longest` steps, with leaf 1.
  [[nodiscard]] cairn::action_list make(step_index longest) {
    n_ = open_ = below(longest + 1);
    slots_.assign(std::size_t(1 + below(5)), {});
    free_ = below(3) == 0;
    live_ = 0;
    turned_ = false;
    actions_.clear();
    if (!free_) save(0);
    for (slot_index idle = below(25); !turned_ || open_ > 0;) {
      if (idle > 0 && below(2) == 0) --idle, do_anything();
      else go_on();
    }
    for (slot_index slot = 0; slot < slot_index(slots_.size()); ++slot)
      if (slots_[std::size_t(slot)].state != none) drop(slot);
    return {n_, slot_index(slots_.size()), actions_.data(), actions_.size(), {1, 0, free_}};
  }

 private:
  static constexpr step_index none = -1;
  struct kept {
    step_index state = none;
    cairn::tier where = cairn::tier::host;
  };

  [[nodiscard]] slot_index below(slot_index bound) { return slot_index(random_() % std::uint64_t(bound)); }
  void put(kind what, slot_index slot, step_index from, step_index to, cairn::tier where = cairn::tier::memory) {
    actions_.push_back({what, where, cairn::content::state, slot, from, to});
  }

  void save(slot_index slot) {
    auto const where = below(4) == 0 ? cairn::tier::device : cairn::tier::host;
    slots_[std::size_t(slot)] = {live_, where};
    put(kind::save, slot, live_, 0, where);
  }
  void load(slot_index slot) {
    auto const& from = slot == cairn::no_slot ? kept{0, cairn::tier::memory} : slots_[std::size_t(slot)];
    live_ = from.state;
    put(kind::load, slot, live_, 0, from.where);
  }
  void drop(slot_index slot) {
    put(kind::drop, slot, slots_[std::size_t(slot)].state, 0, slots_[std::size_t(slot)].where);
    slots_[std::size_t(slot)] = {};
  }
  void advance(step_index last) {
    if (live_ == none || live_ >= last) return;
    step_index const to = live_ + 1 + below(last - live_);
    put(kind::advance, cairn::no_slot, live_, to);
    live_ = to;
  }
  /// A slot of those for which is(kept) holds, or the outer initial state where that may be had, or `missing`.
  template <class Is>
  [[nodiscard]] slot_index some(bool initial, slot_index missing, Is is) {
    std::vector<slot_index> found;
    if (initial && free_) found.push_back(cairn::no_slot);
    for (slot_index slot = 0; slot < slot_index(slots_.size()); ++slot)
      if (is(slots_[std::size_t(slot)])) found.push_back(slot);
    return found.empty() ? missing : found[std::size_t(below(slot_index(found.size())))];
  }
  /// Whether the reversal works without this slot.
  [[nodiscard]] bool can_spare(slot_index slot) const {
    if (free_ || slots_[std::size_t(slot)].state > 0) return true;
    for (slot_index other = 0; other < slot_index(slots_.size()); ++other)
      if (other != slot && slots_[std::size_t(other)].state == 0) return true;
    return false;
  }

  void do_anything() {
    constexpr slot_index missing = -2;
    switch (below(4)) {
      case 0:
        if (auto const slot = some(false, missing, [](kept const& k) { return k.state == none; });
            slot != missing && live_ != none)
          save(slot);
        break;
      case 1:
        if (auto const slot =
                some(true, missing, [this](kept const& k) { return k.state != none && k.state <= open_; });
            slot != missing)
          load(slot);
        break;
      case 2:
        if (auto const slot = some(false, missing, [](kept const& k) { return k.state != none; });
            slot != missing && can_spare(slot))
          drop(slot);
        break;
      default: advance(turned_ ? open_ - 1 : n_); break;
    }
  }
  /// What brings the sweep nearer to its end.
  void go_on() {
    if (!turned_) {
      if (live_ < n_ - 1) return advance(n_);
      put(kind::turn, cairn::no_slot, live_, n_);
      turned_ = true;
    } else if (live_ == none || live_ >= open_) {
      load(some(true, cairn::no_slot, [this](kept const& k) { return k.state != none && k.state < open_; }));
    } else if (live_ < open_ - 1) {
      advance(open_ - 1);
    } else {
      put(kind::reverse, cairn::no_slot, live_, open_);
      --open_;
      live_ = none;
    }
  }

  std::mt19937_64 random_;
  step_index n_ = 0, open_ = 0;  // open: the first step that is reversed already
  step_index live_ = 0;
  bool free_ = false, turned_ = false;
  std::vector<kept> slots_;
  std::vector<cairn::action> actions_;
};
