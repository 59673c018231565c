// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules as the plain numbers that support/action_book.hpp reads, and its totals in our words.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/plan/loop/flaw.hpp>
#include "support/action_book.hpp"

inline book::entry entry_of(cairn::action const& a) {
  return {int(a.kind), int(a.where), int(a.what), a.slot, a.from, a.to};
}

/// \pre a plan that says where its slots lie has not too many of them to be asked one by one
template <cairn::schedule Plan>
book::promises promises_of(Plan const& plan) {
  book::promises said;
  said.steps = plan.steps();
  said.slots = plan.slots();
  said.tapes = cairn::tapes_of(plan);
  said.leaf = plan.leaf();
  said.free_initial = cairn::initial_is_free(plan);
  said.tapes_restart = cairn::tapes_restart(plan);
  said.units = cairn::units_of(plan).units;
  said.tape_units = cairn::units_of(plan).tape_units;
  said.says_tiers = cairn::has_slot_tiers(plan);
  for (cairn::slot_index slot = 0; slot < plan.slots() && said.says_tiers; ++slot)
    said.tier_of[slot] = int(cairn::slot_tier(plan, slot));
  return said;
}

/// Plays a plan by the book; it must end.
template <cairn::schedule Plan>
book::ruling rule_on(Plan const& plan) {
  book::ledger one{promises_of(plan)};
  cairn::cursor_of<Plan> cursor = plan.walk();
  book::ruling found;
  for (;; ++found.number) {
    book::entry const a = entry_of(cursor.next());
    found.broken = one.obey(a);
    if (!found.broken.empty() || a.kind == book::done) break;
  }
  found.sum = one.sum();
  return found;
}

inline cairn::schedule_counts counts_of(book::totals const& sum) {
  cairn::schedule_counts counts;
  counts.advances = sum.advances;
  counts.turned = sum.turned;
  counts.recorded = sum.recorded;
  counts.reversals = sum.reversals;
  counts.taped = sum.taped;
  counts.saves = sum.saves;
  counts.loads = sum.loads;
  counts.restarts = sum.restarts;
  counts.peak_slots = sum.peak_slots;
  counts.peak_tapes = sum.peak_tapes;
  for (std::size_t k = 0; k < cairn::tier_count; ++k)
    counts.tiers[k] = {sum.tiers[k].saves, sum.tiers[k].loads, sum.tiers[k].peak};
  return counts;
}

/// The book's name for a flaw.
inline book::rule rule_of(cairn::flaw reason) {
  using cairn::flaw;
  using book::rule;
  switch (reason) {
    case flaw::none: return rule::kept;
    case flaw::impossible_plan: return rule::impossible_plan;
    case flaw::unknown_action: return rule::unknown_action;
    case flaw::nothing_live: return rule::nothing_live;
    case flaw::wrong_live: return rule::wrong_live;
    case flaw::empty_range: return rule::empty_range;
    case flaw::past_the_end: return rule::past_the_end;
    case flaw::longer_than_leaf: return rule::longer_than_leaf;
    case flaw::no_such_slot: return rule::no_such_slot;
    case flaw::slot_taken: return rule::slot_taken;
    case flaw::slot_empty: return rule::slot_empty;
    case flaw::unknown_tier: return rule::unknown_tier;
    case flaw::wrong_tier: return rule::wrong_tier;
    case flaw::cannot_restart: return rule::cannot_restart;
    case flaw::over_budget: return rule::over_budget;
    case flaw::wrong_content: return rule::wrong_content;
    case flaw::second_turn: return rule::second_turn;
    case flaw::turn_not_to_the_end: return rule::turn_not_to_the_end;
    case flaw::reverse_before_turn: return rule::reverse_before_turn;
    case flaw::reverse_out_of_order: return rule::reverse_out_of_order;
    case flaw::done_before_turn: return rule::done_before_turn;
    case flaw::done_with_steps_open: return rule::done_with_steps_open;
    case flaw::done_with_slots_full: return rule::done_with_slots_full;
    case flaw::no_progress: return rule::no_progress;
  }
  return rule::kept;
}
