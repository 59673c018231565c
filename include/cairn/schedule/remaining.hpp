// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file remaining.hpp  Plans the rest of a sweep around the checkpoints that still exist.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/detail/leaves_in.hpp>
#include <cairn/schedule/position.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/walked_counts.hpp>

namespace cairn {
namespace detail {

/// \throws invalid_plan   unless a sweep can have stopped there
constexpr void check_stop(stopped_sweep const& sweep) {
  bool const possible =
      sweep.steps >= 0 && sweep.slots >= 0 && sweep.leaf >= 1 && sweep.open >= 0 && sweep.open <= sweep.steps;
  if (possible && (sweep.open == sweep.steps || (sweep.turned && sweep.open % sweep.leaf == 0))) return;
  throw invalid_plan{"cairn::remaining", "a sweep cannot have stopped there",
                     {{"steps", sweep.steps}, {"open steps", sweep.open}, {"slots", sweep.slots}, {"leaf", sweep.leaf}},
                     "all steps are open before the turn, and whole leaves after it"};
}

/// Shell's sort with Knuth's gaps, O(n^1.5): there are few stored states, and headers of the core do not include
/// `<algorithm>`.
template <class T, class Before>
constexpr void sort(table<T>& values, Before before) noexcept {
  std::size_t stride = 1;
  while (stride < values.size() / 3) stride = 3 * stride + 1;
  for (; stride > 0; stride /= 3)
    for (std::size_t k = stride; k < values.size(); ++k)
      for (std::size_t j = k; j >= stride && before(values[j], values[j - stride]); j -= stride)
        std::swap(values[j], values[j - stride]);
}

/// Moves the states from which open leaves can be run again to the front, in order, and returns their number. The
/// others follow: the initial state, states after the open steps or inside a leaf, and duplicates.
constexpr std::size_t put_useful_first(table<stored_state>& stored, stopped_sweep const& sweep) {
  sort(stored, [](stored_state const& a, stored_state const& b) {
    return a.state < b.state || (a.state == b.state && a.slot < b.slot);
  });
  std::size_t useful = 0;
  for (std::size_t k = 0; k < stored.size(); ++k) {
    step_index const state = stored[k].state;
    bool const copy = useful > 0 && stored[useful - 1].state == state;
    if (state > 0 && state < sweep.open && state % sweep.leaf == 0 && !copy) std::swap(stored[useful++], stored[k]);
  }
  return useful;
}

/// Lists the lowest slots that hold no useful state and can be written, no more than the open leaves can fill, and
/// returns their number. `empty` has room for the slots of the useful states after them.
/// \param unwritable  how many slots can_write(slot) refuses; with 0 it is not called
template <class CanWrite>
constexpr std::size_t list_empty_slots(table<stored_state> const& stored, std::size_t useful,
                                       stopped_sweep const& sweep, table<stored_state>& empty, slot_index unwritable,
                                       CanWrite can_write) {
  auto there = std::uint64_t(sweep.slots) - std::uint64_t(unwritable);
  for (std::size_t k = 0; k < useful; ++k)
    if (unwritable == 0 || can_write(stored[k].slot)) --there;
  auto const leaves = std::uint64_t(sweep.open / sweep.leaf) + 1;
  auto const count = std::size_t(lesser(leaves, there));
  empty.assign(count + useful + std::size_t(unwritable), {});
  for (std::size_t k = 0; k < useful; ++k)
    if (auto const slot = std::size_t(stored[k].slot); slot < empty.size()) empty[slot].state = 1;
  if (unwritable > 0)
    for (std::size_t slot = 0; slot < empty.size() && slot < std::size_t(sweep.slots); ++slot)
      if (!can_write(slot_index(slot))) empty[slot].state = 1;
  std::size_t found = 0;
  for (std::size_t slot = 0; found < count; ++slot)  // each mark is read before its place is written
    if (empty[slot].state == 0) empty[found++].slot = slot_index(slot);
  return count;
}

struct all_in_memory {
  [[nodiscard]] constexpr tier operator()(slot_index) const noexcept { return tier::memory; }
};

}  // namespace detail

/// Reverses the rest of a loop from the last gap between stored states to the first, each gap by `revolve` with the
/// slots that are free by then. The initial state is free: executors restore it by a load of `no_slot`. The first
/// actions drop stored states that do not help (states after the open steps, states inside a leaf, duplicates, and the
/// initial state); then comes a load, because there is no live state. Works without any slot.
/// Each gap takes the fewest advances. For arbitrary stored states moving one of them can be cheaper (exact: a dynamic
/// program over (checkpoint, slots, end), up to 1.88 times fewer advances), which does not pay for a rare event. Cost:
/// O(stored^1.5 + slots that help) to make, O(1) per action.
class remaining {
 public:
  class cursor;

  /// \param state_in  state_in(slot) returns the state that a slot holds, negative for none, `unusable_slot` for a slot
  ///   that cannot be written; called for 0 .. slots - 1
  /// \param tier_of   tier_of(slot) returns the tier of a slot; memory by default
  /// \throws invalid_plan   unless 0 <= open <= steps, open = steps before the turn and a multiple of leaf or steps
  /// after it, slots >= 0, leaf >= 1, and every stored state is one of the loop
  template <class StateIn, class TierOf = detail::all_in_memory>
    requires requires(StateIn& state_in) { step_index(state_in(slot_index{})); }
  constexpr remaining(stopped_sweep const& sweep, StateIn state_in, TierOf tier_of = {}) : slots_{sweep.slots} {
    detail::check_stop(sweep);
    auto const can_write = [&](slot_index slot) {
      return step_index(state_in(slot)) != unusable_slot && (!sweep.saves_in_memory || tier_of(slot) == tier::memory);
    };
    std::size_t count = 0;
    slot_index unwritable = 0;
    for (slot_index slot = 0; slot < sweep.slots; ++slot) {
      step_index const state = step_index(state_in(slot));
      if (state > sweep.steps)
        throw invalid_plan{"cairn::remaining", "no such state",
                           {{"slot", slot}, {"state", state}, {"steps", sweep.steps}}, ""};
      if (state >= 0) ++count;
      if (!can_write(slot)) ++unwritable;
    }
    start_.stored_.assign(count, {});
    count = 0;
    for (slot_index slot = 0; slot < sweep.slots && count < start_.stored_.size(); ++slot)
      if (step_index const state = step_index(state_in(slot)); state >= 0)
        start_.stored_[count++] = {slot, state, tier_of(slot)};
    std::size_t const useful = detail::put_useful_first(start_.stored_, sweep);
    start_.gap_ = start_.next_useless_ = useful;
    start_.free_count_ = detail::list_empty_slots(start_.stored_, useful, sweep, start_.free_, unwritable, can_write);
    for (std::size_t k = 0; k < start_.free_count_; ++k) {
      start_.free_[k].where = tier_of(start_.free_[k].slot);
      one_tier_ = one_tier_ && start_.free_[k].where == tier::memory;
    }
    for (stored_state const& stored : start_.stored_) one_tier_ = one_tier_ && stored.where == tier::memory;
    start_.steps_ = sweep.steps;
    start_.leaf_ = sweep.leaf;
    start_.open_ = sweep.open;
    start_.turned_ = sweep.turned;
    start_.saves_in_memory_ = sweep.saves_in_memory;
    start_.finished_ = sweep.turned && sweep.open == 0;
    start_.enter_ = !start_.finished_;
  }

  [[nodiscard]] constexpr step_index steps() const noexcept { return start_.steps_; }  ///< length of the whole loop
  [[nodiscard]] constexpr slot_index slots() const noexcept { return slots_; }  ///< all slots, full or empty
  /// The most steps of one `reverse`.
  [[nodiscard]] constexpr step_index leaf() const noexcept { return start_.leaf_; }
  [[nodiscard]] constexpr bool initial_is_free() const noexcept { return true; }  ///< always
  /// Bytes that a cursor allocates: exact for a copied cursor; an assigned cursor keeps its old memory if that was
  /// more.
  [[nodiscard]] constexpr wide table_bytes() const noexcept {
    wide widest = 0;
    each_gap([&](std::size_t, step_index, step_index, revolve const& inside) {
      if (inside.table_bytes() > widest) widest = inside.table_bytes();
    });
    return start_.stored_.size() * sizeof(stored_state) + start_.free_.size() * sizeof(stored_state) + widest;
  }
  /// The start; valid as long as the plan.
  [[nodiscard]] constexpr cursor const& walk() const noexcept { return start_; }
  /// Whether all slots are in memory, so that the totals have a closed form.
  [[nodiscard]] constexpr bool is_counted() const noexcept { return one_tier_; }
  /// The totals of the rest. Cost: O(stored) if `is_counted()`, otherwise a walk.
  [[nodiscard]] constexpr schedule_counts counts() const {
    if (!one_tier_) return walked_counts(*this, start_.stored_.begin(), start_.stored_.size());
    schedule_counts sum;
    bool turned = start_.turned_;
    sum.reversals = wide(start_.open_);
    sum.peak_slots = slot_index(start_.stored_.size());
    each_gap([&](std::size_t gap, step_index base, step_index open, revolve const& inside) {
      auto const inner = inside.counts();
      if (!std::exchange(turned, true) && open > 0)
        sum.turned = wide(open - base) - wide(inside.steps() - 1) * wide(start_.leaf_);
      sum.advances += inner.advances * wide(start_.leaf_);
      sum.saves += inner.saves;
      sum.loads += inner.loads + 1;
      slot_index const peak = slot_index(gap) + inner.peak_slots;
      if (peak > sum.peak_slots) sum.peak_slots = peak;
    });
    sum.on(tier::memory) = {sum.saves, sum.loads, sum.peak_slots};
    return sum;
  }

  /// Reverses gap by gap; copies advance independently.
  class cursor {
   public:
    constexpr cursor() = default;
    [[nodiscard]] constexpr action next() {  ///< the next action
      if (next_useless_ < stored_.size()) return drop(stored_[next_useless_++]);
      if (drop_start_) {
        drop_start_ = false;
        return drop(stored_[gap_ - 1]);
      }
      if (enter_) return enter();
      while (!finished_) {
        auto const [kind, where, what, slot, from, to] = inside_.next();
        switch (kind) {
          case action_kind::done:
            if (leave()) return enter();
            break;
          case action_kind::turn:
            if (!std::exchange(turned_, true)) return {kind, where, what, slot, place(from), steps_};
            break;
          case action_kind::reverse: open_ = place(from); [[fallthrough]];
          case action_kind::advance: return {kind, where, what, slot, place(from), place(to)};
          case action_kind::drop: return drop(free_[slot]);
          default:  // save and load
            if (slot == no_slot) return load_start();
            return {kind, free_[slot].where, what, free_[slot].slot, place(from), 0};
        }
      }
      return {};
    }

   private:
    friend remaining;
    [[nodiscard]] static constexpr action drop(stored_state const& stored) noexcept {
      return {action_kind::drop, stored.where, content::state, stored.slot, 0, 0};
    }
    [[nodiscard]] constexpr step_index base() const noexcept { return gap_ > 0 ? stored_[gap_ - 1].state : 0; }
    /// The schedule of a gap, over its leaves, with `empty` slots in addition to the slot of its first state.
    [[nodiscard]] static constexpr revolve over(step_index steps, step_index leaf, std::size_t empty) noexcept {
      return revolve{detail::leaves_in(steps, leaf), slot_index(empty), {.free_initial = true}};
    }
    /// The state before leaf i of the gap; for the leaf after the last, the end of the gap.
    [[nodiscard]] constexpr step_index place(step_index i) const noexcept {
      return i < inside_leaves_ ? base() + i * leaf_ : end_;
    }

    constexpr action enter() {
      enter_ = false;
      revolve const inside = over(open_ - base(), leaf_, free_count_);
      end_ = open_;
      inside_leaves_ = inside.steps();
      inside_ = inside.walk();
      return load_start();
    }
    constexpr action load_start() noexcept {
      stored_state const start = gap_ > 0 ? stored_[gap_ - 1] : stored_state{};
      drop_start_ = gap_ > 0 && open_ - start.state <= leaf_;
      return {action_kind::load, start.where, content::state, start.slot, start.state, 0};
    }
    /// Whether there is another gap; frees the slot of this gap's first state.
    constexpr bool leave() noexcept {
      finished_ = gap_ == 0;
      if (!finished_ && can_write(stored_[--gap_])) free_[free_count_++] = stored_[gap_];
      return !finished_;
    }
    [[nodiscard]] constexpr bool can_write(stored_state const& freed) const noexcept {
      return !saves_in_memory_ || freed.where == tier::memory;
    }

    detail::table<stored_state> stored_;  // first states of gaps in order; then those that are dropped at once
    detail::table<stored_state> free_;   // the empty slots, free_count_ of them
    std::size_t free_count_ = 0;
    std::size_t next_useless_ = 0;
    std::size_t gap_ = 0;                // the gap starts at stored_[gap_ - 1], gap 0 at the initial state
    step_index steps_ = 0, leaf_ = 1;
    step_index open_ = 0;                // steps [0, open_) are not yet reversed
    step_index inside_leaves_ = 0;
    step_index end_ = 0;                 // the end of the gap
    revolve::cursor inside_ = revolve{0, 1}.walk();
    bool turned_ = false, enter_ = true, drop_start_ = false, finished_ = false, saves_in_memory_ = false;
  };

 private:
  /// Calls f(stored states before the gap, its start, its end, the schedule inside), from the last gap to the first.
  template <class Fn>
  constexpr void each_gap(Fn f) const noexcept {
    step_index open = start_.open_;
    std::size_t empty = start_.free_count_;
    for (std::size_t gap = start_.gap_ + 1; gap-- > 0 && !start_.finished_;) {
      step_index const base = gap > 0 ? start_.stored_[gap - 1].state : 0;
      f(gap, base, open, cursor::over(open - base, start_.leaf_, empty));
      open = base;
      if (gap > 0 && start_.can_write(start_.stored_[gap - 1])) ++empty;
    }
  }

  slot_index slots_ = 0;
  bool one_tier_ = true;
  cursor start_;
};
static_assert(schedule<remaining>);

}  // namespace cairn
