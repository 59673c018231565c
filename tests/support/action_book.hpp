// SPDX-License-Identifier: Apache-2.0
#pragma once
// What actions mean, by the book: a second reading of the rules, on plain numbers and std::map, with no header of
// cairn but for integers of 128 bits. It says of the first wrong action *every* rule that it breaks, because which one
// is named first is not defined.
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>
#include "support/int128.hpp"

namespace book {

using number = std::int64_t;
using count = int128::natural;
using signed_count = int128::whole;

enum kinds { advance, save, load, drop, record, turn, reverse, done };
enum contents { state, tape };

/// An action as numbers, in the order of the enumerations above.
struct entry {
  int kind = done, where = 0, what = state;
  number slot = -1, from = 0, to = 0;
};

/// What a plan says of itself.
struct promises {
  number steps = 0, slots = 0, tapes = 0, leaf = 1;
  bool free_initial = false, tapes_restart = false;
  count units = ~count{0}, tape_units = 0;
  bool says_tiers = false;
  std::map<number, int> tier_of;  ///< of slots, where it says tiers; those left out lie on tier 0
};

enum class rule {
  kept,
  impossible_plan,
  unknown_action,
  nothing_live,
  wrong_live,
  empty_range,
  past_the_end,
  longer_than_leaf,
  no_such_slot,
  slot_taken,
  slot_empty,
  unknown_tier,
  wrong_tier,
  cannot_restart,
  over_budget,
  wrong_content,
  second_turn,
  turn_not_to_the_end,
  reverse_before_turn,
  reverse_out_of_order,
  done_before_turn,
  done_with_steps_open,
  done_with_slots_full,
  no_progress
};
inline constexpr int rules = int(rule::no_progress) + 1;

struct tier_totals {
  count saves = 0, loads = 0;
  number peak = 0;
};
struct totals {
  count advances = 0, turned = 0, recorded = 0, reversals = 0, taped = 0, saves = 0, loads = 0, restarts = 0;
  number peak_slots = 0, peak_tapes = 0;
  tier_totals tiers[4];
};

/// Obeys actions one by one.
class ledger {
 public:
  explicit ledger(promises const& plan) : plan_{plan}, open_{plan.steps} {}

  /// The rules that the action breaks; it is obeyed only if there are none.
  std::set<rule> obey(entry const& a) {
    std::set<rule> broken;
    auto const rule_is = [&](bool holds, rule r) { if (!holds) broken.insert(r); };
    rule_is(plan_.steps >= 0 && plan_.slots >= 0 && plan_.tapes >= 0 && plan_.leaf >= 1, rule::impossible_plan);
    rule_is(signed_count(++idle_) <= 8 * (signed_count(plan_.steps) + plan_.slots + plan_.tapes) + 64,
            rule::no_progress);
    if (a.kind < advance || a.kind > done) return broken.insert(rule::unknown_action), broken;
    bool const about_content = a.kind == load || a.kind == drop || a.kind == reverse;
    if (about_content && a.what != state && a.what != tape) return broken.insert(rule::unknown_action), broken;
    bool const on_tape = a.kind == record || (about_content && a.what == tape);

    if (a.kind == advance || a.kind == save || a.kind == record || a.kind == turn || (a.kind == reverse && !on_tape)) {
      rule_is(!live_.empty(), rule::nothing_live);
      rule_is(live_.empty() || *live_.begin() == a.from, rule::wrong_live);
    }
    if (a.kind == advance || a.kind == record || a.kind == reverse) {
      rule_is(a.from < a.to, rule::empty_range);
      rule_is(a.kind == reverse              ? a.from >= 0
              : a.kind == advance && turned_ ? a.to < open_
                                             : a.to <= open_,
              rule::past_the_end);
      rule_is(a.kind == advance || signed_count(a.to) - a.from <= plan_.leaf, rule::longer_than_leaf);
    }
    if (a.kind == turn) {
      rule_is(!turned_, rule::second_turn);
      rule_is(a.to == plan_.steps, rule::turn_not_to_the_end);
    }
    if (a.kind == reverse) {
      rule_is(turned_, rule::reverse_before_turn);
      rule_is(a.to == open_, rule::reverse_out_of_order);
    }
    if (a.kind == load && on_tape) rule_is(plan_.tapes_restart, rule::cannot_restart);
    if (a.kind == save || a.kind == load || a.kind == record) rule_is(a.where >= 0 && a.where < 4, rule::unknown_tier);
    if (a.kind == load && !on_tape && a.slot == -1 && plan_.free_initial) {
      rule_is(a.from == 0, rule::wrong_content);
    } else if (a.kind == save || a.kind == load || a.kind == drop || on_tape) {
      bool const there = a.slot >= 0 && a.slot < (on_tape ? plan_.tapes : plan_.slots);
      rule_is(there, rule::no_such_slot);
      bool const full = on_tape ? tapes_.count(a.slot) > 0 : states_.count(a.slot) > 0;
      if (there && (a.kind == save || a.kind == record)) rule_is(!full, rule::slot_taken);
      if (there && a.kind != save && a.kind != record) {
        rule_is(full, rule::slot_empty);
        if (full && on_tape) {
          held const& h = tapes_.at(a.slot);
          rule_is(h.where == a.where && (a.kind != load || h.to == a.from) &&
                      (a.kind != reverse || (h.from == a.from && h.to == a.to)),
                  rule::wrong_content);
        } else if (full) {
          held const& h = states_.at(a.slot);
          rule_is(h.where == a.where && (a.kind != load || h.from == a.from), rule::wrong_content);
        }
      }
    }
    if (a.kind == save && plan_.says_tiers) {
      auto const said = plan_.tier_of.find(a.slot);
      rule_is((said == plan_.tier_of.end() ? 0 : said->second) == a.where, rule::wrong_tier);
    }
    if (a.kind == save || a.kind == record)
      rule_is(affordable(states_.size() + (a.kind == save), tapes_.size() + (a.kind == record)), rule::over_budget);
    if (a.kind == done) {
      rule_is(turned_, rule::done_before_turn);
      rule_is(open_ == 0, rule::done_with_steps_open);
      rule_is(states_.empty() && tapes_.empty(), rule::done_with_slots_full);
    }
    if (broken.empty()) carry_out(a, on_tape);
    return broken;
  }
  [[nodiscard]] totals const& sum() const { return sum_; }

 private:
  struct held {
    number from, to;
    int where;
  };

  /// By taking units away one state and one tape at a time.
  [[nodiscard]] bool affordable(std::size_t states, std::size_t tapes) const {
    count left = plan_.units;
    for (; states > 0; --states) {
      if (left < 1) return false;
      left -= 1;
    }
    for (; tapes > 0; --tapes) {
      if (left < plan_.tape_units) return false;
      left -= plan_.tape_units;
    }
    return true;
  }
  void carry_out(entry const& a, bool on_tape) {
    count const length = a.to > a.from ? count(a.to) - count(a.from) : 0;
    switch (a.kind) {
      case advance: sum_.advances += length; live_ = {a.to}; break;
      case save: {
        states_[a.slot] = {a.from, a.from, a.where};
        sum_.saves += 1;
        sum_.tiers[a.where].saves += 1;
        number on_its_tier = 0;
        for (auto const& [slot, h] : states_) on_its_tier += h.where == a.where ? 1 : 0;
        if (on_its_tier > sum_.tiers[a.where].peak) sum_.tiers[a.where].peak = on_its_tier;
        if (number(states_.size()) > sum_.peak_slots) sum_.peak_slots = number(states_.size());
        break;
      }
      case load:
        live_ = {a.from};
        if (on_tape) {
          sum_.restarts += 1;
        } else {
          sum_.loads += 1;
          sum_.tiers[a.where].loads += 1;
        }
        break;
      case drop: on_tape ? tapes_.erase(a.slot) : states_.erase(a.slot); break;
      case record:
        tapes_[a.slot] = {a.from, a.to, a.where};
        if (number(tapes_.size()) > sum_.peak_tapes) sum_.peak_tapes = number(tapes_.size());
        sum_.recorded += length;
        live_ = {a.to};
        break;
      case turn: sum_.turned += length; turned_ = true; break;
      case reverse:
        sum_.reversals += length;
        if (on_tape) sum_.taped += length;
        else live_.clear();
        open_ = a.from;
        idle_ = 0;
        break;
      default: break;
    }
  }

  promises plan_;
  std::map<number, held> states_, tapes_;
  std::set<number> live_{0};  // one state or none
  number open_;
  bool turned_ = false;
  number idle_ = 0;
  totals sum_;
};

/// What came of a whole list.
struct ruling {
  std::set<rule> broken;   ///< by the action below; none for a schedule
  std::size_t number = 0;  ///< of the last action that was looked at
  totals sum;
};
/// Plays a list up to its first wrong action or its first `done`. A list that just ends is done there.
inline ruling rule_on(promises const& plan, std::vector<entry> const& actions) {
  ledger one{plan};
  ruling found;
  for (;; ++found.number) {
    entry const a = found.number < actions.size() ? actions[found.number] : entry{};
    found.broken = one.obey(a);
    if (!found.broken.empty() || a.kind == done) break;
  }
  found.sum = one.sum();
  return found;
}

}  // namespace book
