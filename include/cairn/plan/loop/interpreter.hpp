// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file interpreter.hpp  The only definition of what each action means, in terms of step numbers.
#include <cstddef>
#include <cairn/core/action.hpp>
#include <cairn/plan/loop/detail/slot_map.hpp>
#include <cairn/plan/loop/flaw.hpp>
#include <cairn/schedule/position.hpp>

namespace cairn {

/// The limits that a plan declares and the interpreter enforces.
struct schedule_limits {
  step_index steps = 0;  ///< loop length
  slot_index slots = 0;  ///< most states kept at once
  slot_index tapes = 0;  ///< most tapes kept at once
  step_index leaf = 1;  ///< most steps of one `record` or `reverse`
  bool initial_is_free = false;  ///< a `load` of `no_slot` restores the initial state
  bool tapes_restart = false;  ///< a `load` from a tape may restore the state after its steps
  unit_budget budget = {};  ///< the units that states and tapes may take together
};

/// Obeys actions on step numbers and reports the first flaw. Memory: O(slots in use).
///
/// These rules apply to loops only. The rules of chains and graphs (`place_walk`, with `chain_walk` and `graph_walk` on
/// top) are neither special nor more general cases of them. In a loop, one live state moves from step to step, a slot
/// takes any state, and `reverse` needs the live state. In a chain or graph nothing is live: each value has a place of
/// its own, a run makes the next value beside the values it reads, and several values may have to be present at once.
/// The only common rule is that adjoints come in order.
class interpreter {
 public:
  /// The beginning of a sweep: the initial state is live, and nothing is kept.
  constexpr explicit interpreter(schedule_limits const& limits) noexcept : limits_{limits}, open_{limits.steps} {}
  /// The middle of a sweep: nothing is live. A wrong position is reported as the flaw of the first action.
  constexpr interpreter(schedule_limits const& limits, sweep_position const& position)
      : limits_{limits}, open_{position.open}, live_{nothing}, turned_{position.turned} {
    misplaced_ = open_ < 0 || open_ > limits.steps || (!turned_ && open_ != limits.steps);
    for (std::size_t k = 0; k < position.stored_count && !misplaced_; ++k) {
      auto const& stored = position.stored[k];
      misplaced_ = stored.slot < 0 || stored.slot >= limits.slots || states_.find(stored.slot) || stored.state < 0 ||
                   stored.state > limits.steps;
      if (!misplaced_) states_.insert(stored.slot, {stored.state, stored.state, stored.where});
    }
    for (std::size_t k = 0; k < position.stored_count && !misplaced_; ++k) {
      misplaced_ = !known(position.stored[k].where);
      if (!misplaced_)
        raise(counts_.on(position.stored[k].where).peak, ++on_tier_[std::size_t(position.stored[k].where)]);
    }
    counts_.peak_slots = states_.size();
  }

  /// Obeys one action. After a flaw the interpreter must not be used again.
  [[nodiscard]] constexpr flaw obey(action const& a) {
    if (impossible()) return flaw::impossible_plan;
    if (++since_reverse_ > patience()) return flaw::no_progress;
    switch (a.kind) {
      case action_kind::advance: return advance(a);
      case action_kind::save: return save(a);
      case action_kind::load: return load(a);
      case action_kind::drop: return drop(a);
      case action_kind::record: return record(a);
      case action_kind::turn: return turn(a);
      case action_kind::reverse: return reverse(a);
      case action_kind::done: return done();
    }
    return flaw::unknown_action;
  }
  /// Totals of the actions obeyed so far.
  [[nodiscard]] constexpr schedule_counts const& counts() const noexcept { return counts_; }
  /// Steps [0, open()) are not yet reversed.
  [[nodiscard]] constexpr step_index open() const noexcept { return open_; }

 private:
  static constexpr step_index nothing = -1;

  [[nodiscard]] constexpr bool impossible() const noexcept {
    return misplaced_ || limits_.steps < 0 || limits_.slots < 0 || limits_.tapes < 0 || limits_.leaf < 1;
  }
  /// A few times the actions needed to run, save, load and drop everything once.
  [[nodiscard]] constexpr wide patience() const noexcept {
    return 8 * (wide(limits_.steps) + wide(limits_.slots) + wide(limits_.tapes)) + 64;
  }
  [[nodiscard]] constexpr flaw starts_from_live(step_index from) const noexcept {
    return live_ == from && from >= 0 ? flaw::none : live_ == nothing ? flaw::nothing_live : flaw::wrong_live;
  }
  [[nodiscard]] static constexpr flaw in_range(slot_index slot, slot_index count) noexcept {
    return slot >= 0 && slot < count ? flaw::none : flaw::no_such_slot;
  }

  [[nodiscard]] static constexpr bool known(tier where) noexcept { return std::size_t(where) < tier_count; }
  [[nodiscard]] constexpr bool over_budget() const noexcept {
    return wide(states_.size()) > limits_.budget.units ||
           (tapes_.size() > 0 &&
            limits_.budget.tape_units > (limits_.budget.units - wide(states_.size())) / wide(tapes_.size()));
  }
  static constexpr void raise(slot_index& peak, slot_index now) noexcept {
    if (now > peak) peak = now;
  }

  constexpr flaw advance(action const& a) noexcept {
    if (auto const bad = starts_from_live(a.from); bad != flaw::none) return bad;
    if (a.to <= a.from) return flaw::empty_range;
    if (turned_ ? a.to >= open_ : a.to > open_) return flaw::past_the_end;
    counts_.advances += wide(a.to - a.from);
    live_ = a.to;
    return flaw::none;
  }
  constexpr flaw save(action const& a) {
    if (auto const bad = starts_from_live(a.from); bad != flaw::none) return bad;
    if (auto const bad = in_range(a.slot, limits_.slots); bad != flaw::none) return bad;
    if (!known(a.where)) return flaw::unknown_tier;
    if (states_.find(a.slot)) return flaw::slot_taken;
    states_.insert(a.slot, {a.from, a.from, a.where});
    raise(counts_.peak_slots, states_.size());
    auto& there = counts_.on(a.where);
    raise(there.peak, ++on_tier_[std::size_t(a.where)]);
    ++there.saves;
    ++counts_.saves;
    if (over_budget()) return flaw::over_budget;
    return flaw::none;
  }
  constexpr flaw load(action const& a) noexcept {
    if (!known(a.where)) return flaw::unknown_tier;
    if (a.what == content::tape) return restart(a);
    if (a.what != content::state) return flaw::unknown_action;
    if (a.slot == no_slot && limits_.initial_is_free) {
      if (a.from != 0) return flaw::wrong_content;
    } else {
      if (auto const bad = in_range(a.slot, limits_.slots); bad != flaw::none) return bad;
      auto const* const held = states_.find(a.slot);
      if (!held) return flaw::slot_empty;
      if (held->from != a.from || held->where != a.where) return flaw::wrong_content;
    }
    live_ = a.from;
    ++counts_.loads;
    ++counts_.on(a.where).loads;
    return flaw::none;
  }
  constexpr flaw restart(action const& a) noexcept {
    if (!limits_.tapes_restart) return flaw::cannot_restart;
    if (auto const bad = in_range(a.slot, limits_.tapes); bad != flaw::none) return bad;
    auto const* const held = tapes_.find(a.slot);
    if (!held) return flaw::slot_empty;
    if (held->to != a.from || held->where != a.where) return flaw::wrong_content;
    live_ = a.from;
    ++counts_.restarts;
    return flaw::none;
  }
  constexpr flaw drop(action const& a) noexcept {
    if (a.what != content::state && a.what != content::tape) return flaw::unknown_action;
    bool const tape = a.what == content::tape;
    auto& slots = tape ? tapes_ : states_;
    if (auto const bad = in_range(a.slot, tape ? limits_.tapes : limits_.slots); bad != flaw::none) return bad;
    auto const* const held = slots.find(a.slot);
    if (!held) return flaw::slot_empty;
    if (held->where != a.where) return flaw::wrong_content;
    slots.erase(a.slot);
    if (!tape) --on_tier_[std::size_t(a.where)];
    return flaw::none;
  }
  constexpr flaw record(action const& a) {
    if (auto const bad = starts_from_live(a.from); bad != flaw::none) return bad;
    if (a.to <= a.from) return flaw::empty_range;
    if (a.to > open_) return flaw::past_the_end;
    if (a.to - a.from > limits_.leaf) return flaw::longer_than_leaf;
    if (auto const bad = in_range(a.slot, limits_.tapes); bad != flaw::none) return bad;
    if (!known(a.where)) return flaw::unknown_tier;
    if (tapes_.find(a.slot)) return flaw::slot_taken;
    tapes_.insert(a.slot, {a.from, a.to, a.where});
    raise(counts_.peak_tapes, tapes_.size());
    counts_.recorded += wide(a.to - a.from);
    live_ = a.to;
    if (over_budget()) return flaw::over_budget;
    return flaw::none;
  }
  constexpr flaw turn(action const& a) noexcept {
    if (turned_) return flaw::second_turn;
    if (auto const bad = starts_from_live(a.from); bad != flaw::none) return bad;
    if (a.to != limits_.steps) return flaw::turn_not_to_the_end;
    counts_.turned += wide(a.to - a.from);
    turned_ = true;
    return flaw::none;
  }
  constexpr flaw reverse(action const& a) noexcept {
    if (!turned_) return flaw::reverse_before_turn;
    if (a.to != open_) return flaw::reverse_out_of_order;
    if (a.from >= a.to) return flaw::empty_range;
    if (a.from < 0) return flaw::past_the_end;
    if (a.to - a.from > limits_.leaf) return flaw::longer_than_leaf;
    if (auto const bad = a.what == content::tape ? from_tape(a) : from_state(a); bad != flaw::none) return bad;
    counts_.reversals += wide(a.to - a.from);
    open_ = a.from;
    since_reverse_ = 0;
    return flaw::none;
  }
  /// The adjoint may change or replace live, so nothing is live until the next load.
  constexpr flaw from_state(action const& a) noexcept {
    if (a.what != content::state) return flaw::unknown_action;
    auto const bad = starts_from_live(a.from);
    if (bad == flaw::none) live_ = nothing;
    return bad;
  }
  constexpr flaw from_tape(action const& a) noexcept {
    if (auto const bad = in_range(a.slot, limits_.tapes); bad != flaw::none) return bad;
    auto const* const held = tapes_.find(a.slot);
    if (!held) return flaw::slot_empty;
    if (held->from != a.from || held->to != a.to || held->where != a.where) return flaw::wrong_content;
    counts_.taped += wide(a.to - a.from);
    return flaw::none;
  }
  [[nodiscard]] constexpr flaw done() const noexcept {
    if (!turned_) return flaw::done_before_turn;
    if (open_ != 0) return flaw::done_with_steps_open;
    return states_.size() + tapes_.size() > 0 ? flaw::done_with_slots_full : flaw::none;
  }

  schedule_limits limits_;
  step_index open_;
  step_index live_ = 0;
  bool turned_ = false;
  bool misplaced_ = false;
  wide since_reverse_ = 0;
  detail::slot_map states_;
  detail::slot_map tapes_;
  slot_index on_tier_[tier_count] = {};
  schedule_counts counts_;
};

}  // namespace cairn
