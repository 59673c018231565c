// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file unit_plan.hpp  The one walk behind `mixed`, `bptt` and `runge_kutta`: states and tapes share a budget of
/// units.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/unit_table.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/walked_counts.hpp>

namespace cairn::detail {

/// What `mixed`, `bptt` and `runge_kutta` have in common: the fewest runs according to `unit_rows`. If no tape fits or
/// none may be kept, this is `revolve`; if the tapes of all steps fit, nothing is run twice. Both need no table and
/// work for any number of steps.
class unit_plan {
 public:
  /// Starts at the first action; copies advance independently.
  class cursor {
   public:
    [[nodiscard]] action next() {  ///< the next action
      switch (phase_) {
        case phase::start: return begin();
        case phase::without_tapes: return states_only_.next();
        case phase::save: return save();
        case phase::advance: return advance();
        case phase::record: return record();
        case phase::drop_state: return drop_state();
        case phase::turn: return turn();
        case phase::reverse: return reverse();
        case phase::load_initial: return load_initial();
        case phase::load_state: return load_state();
        case phase::restart: return restart();
        case phase::reverse_tape: return reverse_tape();
        case phase::drop_tape: return drop_tape();
        case phase::done: return {};
      }
      __builtin_unreachable();
    }

   private:
    friend unit_plan;
    enum class phase : std::uint8_t {
      start,
      without_tapes,
      save,
      advance,
      record,
      drop_state,
      turn,
      reverse,
      load_initial,
      load_state,
      restart,
      reverse_tape,
      drop_tape,
      done
    };
    /// What keeps the live state: nothing, the slot filled last, or an entry below all that may be dropped.
    enum class keeper : std::uint8_t { none, slot, below };

    cursor(step_index steps, slot_index units, unit_rules const& rules, revolve const& states_only, bool without_tapes,
           std::size_t depth, shared<unit_table> const& table)
        : table_{table},
          states_only_{states_only.walk()},
          depth_{depth},
          open_{steps},
          free_{units},
          tape_units_{rules.tape_units},
          restarts_{rules.restarts},
          holds_initial_{rules.holds_initial},
          phase_{without_tapes ? phase::without_tapes : phase::start} {}

    action begin() {
      kept_.assign(depth_, 0);
      if (open_ == 0) phase_ = phase::turn;
      else arrive(holds_initial_ ? keeper::below : keeper::none);
      return next();
    }
    /// With a live state: decides what to do with the steps from there on.
    void arrive(keeper by) noexcept {
      step_index const length = open_ - live_;
      slot_index const units = free_ + (by == keeper::slot ? 1 : 0);
      bool const all_tapes_fit = wide(units) >= wide(tape_units_) * wide(length - 1);
      ahead_ = all_tapes_fit ? 0 : table_->choice(length, units, by == keeper::below);
      if (ahead_ > 0) phase_ = by == keeper::none ? phase::save : phase::advance;
      else phase_ = by == keeper::slot ? phase::drop_state : after_drop();
    }
    [[nodiscard]] phase after_drop() const noexcept {
      return open_ - live_ > 1 ? phase::record : turned_ ? phase::reverse : phase::turn;
    }
    action save() noexcept {
      push(live_);
      --free_;
      phase_ = phase::advance;
      return {action_kind::save, tier::memory, content::state, states_++, live_, 0};
    }
    action advance() noexcept {
      step_index const from = live_;
      live_ += ahead_;
      arrive(keeper::none);
      return {action_kind::advance, tier::memory, content::state, no_slot, from, live_};
    }
    action record() noexcept {
      push(tape_of(live_));
      free_ -= tape_units_;
      step_index const from = live_++;
      arrive(restarts_ ? keeper::below : keeper::none);
      return {action_kind::record, tier::memory, content::tape, tapes_++, from, from + 1};
    }
    action drop_state() noexcept {
      --top_;
      ++free_;
      phase_ = after_drop();
      return {action_kind::drop, tier::memory, content::state, --states_, 0, 0};
    }
    action turn() noexcept {
      turned_ = true;
      phase_ = open_ > 0 ? phase::reverse : phase::done;
      return {action_kind::turn, tier::memory, content::state, no_slot, live_, open_};
    }
    action reverse() noexcept {
      step_index const to = open_--;
      go_back();
      return {action_kind::reverse, tier::memory, content::state, no_slot, open_, to};
    }
    action load_initial() noexcept {
      live_ = 0;
      arrive(keeper::below);
      return {action_kind::load, tier::memory, content::state, no_slot, 0, 0};
    }
    action load_state() noexcept {
      live_ = kept_[top_ - 1];
      slot_index const slot = states_ - 1;
      arrive(keeper::slot);
      return {action_kind::load, tier::memory, content::state, slot, live_, 0};
    }
    action restart() noexcept {
      live_ = step_of(kept_[top_ - 1]) + 1;
      arrive(keeper::below);
      return {action_kind::load, tier::memory, content::tape, tapes_ - 1, live_, 0};
    }
    action reverse_tape() noexcept {
      step_index const to = open_--;
      phase_ = phase::drop_tape;
      return {action_kind::reverse, tier::memory, content::tape, tapes_ - 1, open_, to};
    }
    action drop_tape() noexcept {
      --top_;
      free_ += tape_units_;
      slot_index const slot = --tapes_;
      go_back();
      return {action_kind::drop, tier::memory, content::tape, slot, 0, 0};
    }
    /// After a step has been reversed: continues from the entry kept last.
    void go_back() noexcept {
      if (open_ == 0) phase_ = phase::done;
      else if (top_ == 0) phase_ = phase::load_initial;
      else if (kept_[top_ - 1] >= 0) phase_ = phase::load_state;
      else phase_ = step_of(kept_[top_ - 1]) + 1 == open_ ? phase::reverse_tape : phase::restart;
    }

    void push(step_index what) noexcept { kept_[top_++] = what; }
    [[nodiscard]] static constexpr step_index tape_of(step_index step) noexcept { return ~step; }
    [[nodiscard]] static constexpr step_index step_of(step_index tape) noexcept { return ~tape; }

    shared<unit_table> table_;
    table<step_index>
        kept_;  // lowest step first; states by their number, tapes by the complement of their step's number
    revolve::cursor states_only_;
    std::size_t depth_;             // size of kept_
    std::size_t top_ = 0;           // entries in use
    step_index open_;               // steps [0, open_) are not yet reversed
    step_index live_ = 0;
    step_index ahead_ = 0;
    slot_index states_ = 0, tapes_ = 0;  // kept at present
    slot_index free_;               // free units
    slot_index tape_units_;
    bool restarts_, holds_initial_;
    bool turned_ = false;
    phase phase_;
  };

  [[nodiscard]] step_index steps() const noexcept { return steps_; }  ///< loop length
  [[nodiscard]] slot_index slots() const noexcept { return counts_.peak_slots; }  ///< most states kept at once, exact
  [[nodiscard]] slot_index tapes() const noexcept { return counts_.peak_tapes; }  ///< most tapes kept at once, exact
  [[nodiscard]] step_index leaf() const noexcept { return 1; }  ///< steps of one `reverse`
  [[nodiscard]] slot_index units() const noexcept { return units_; }  ///< units that states and tapes share
  [[nodiscard]] slot_index tape_units() const noexcept { return tape_units_; }  ///< units that a tape takes; a state
                                                                                ///< takes 1
  /// Whether some state is restored from a tape.
  [[nodiscard]] bool tapes_restart() const noexcept { return counts_.restarts > 0; }
  /// See `cairn::initial_is_free`.
  [[nodiscard]] bool initial_is_free() const noexcept { return rules_.holds_initial; }
  [[nodiscard]] wide table_bytes() const noexcept { return cursor_bytes_; }  ///< bytes that a cursor allocates
  /// Bytes that the plan shares with its copies and cursors.
  [[nodiscard]] wide shared_table_bytes() const noexcept { return table_->bytes(); }
  /// See `remark_of`; more units than the plan can use suggests swapped numbers.
  [[nodiscard]] char const* remark() const noexcept {
    wide const all = wide(greater<step_index>(steps_, 1)) * wide(tape_units_);
    return wide(units_) > all ? "more units than all states and tapes of the loop take: are steps and units swapped?"
                              : "";
  }
  /// The totals of a sweep, known since the plan was made.
  [[nodiscard]] schedule_counts counts() const noexcept { return counts_; }
  /// Advances plus the recorded run of each step: what the plan minimises.
  [[nodiscard]] wide forward_steps() const noexcept {
    return counts_.advances + counts_.recorded + counts_.reversals - counts_.taped;
  }
  [[nodiscard]] cursor const& walk() const noexcept { return start_; }  ///< the start; valid as long as the plan

 protected:
  /// \param who  the public name that is made   \param most  most bytes of the table   \throws invalid_plan,
  /// too_much_work
  unit_plan(char const* who, step_index steps, slot_index units, unit_rules const& rules, wide most,
            work_limit const& limit)
      : steps_{checked(who, steps, units, rules)},
        units_{units},
        tape_units_{rules.tape_units},
        free_{units},
        rules_{rules},
        table_{make_table(who, most, limit)},
        start_{start(std::size_t(most_states()))} {
    count();
  }

 private:
  [[nodiscard]] static step_index checked(char const* who, step_index steps, slot_index units,
                                          unit_rules const& rules) {
    check_steps(who, steps);
    if (rules.tape_units < 1)
      throw invalid_plan{who, "a tape takes 1 unit or more", {{"tape units", rules.tape_units}}, "give 1 or more"};
    slot_index const least = rules.holds_initial || steps < 2 ? 0 : 1;
    if (units < least)
      throw invalid_plan{who, "too few units", {{"steps", steps}, {"units", units}, {"least units", least}}, ""};
    return steps;
  }
  [[nodiscard]] bool no_tape_fits() const noexcept { return !rules_.keeps_tapes || rules_.tape_units > free_; }
  [[nodiscard]] bool all_tapes_fit() const noexcept {
    return steps_ < 2 || wide(free_) >= wide(rules_.tape_units) * wide(steps_ - 1);
  }
  [[nodiscard]] bool has_table() const noexcept { return !no_tape_fits() && !all_tapes_fit(); }
  /// The most states and tapes at once.
  [[nodiscard]] slot_index most_states() const noexcept {
    if (no_tape_fits() || steps_ < 2) return 0;
    return free_ < steps_ - 1 ? free_ : steps_ - 1;
  }

  /// If only tapes are kept, one tape is the unit.
  [[nodiscard]] unit_table const* make_table(char const* who, wide most, work_limit const& limit) {
    if (!rules_.keeps_states) free_ /= std::exchange(rules_.tape_units, 1);
    return has_table() ? new unit_table{who, steps_, free_, rules_, most, limit} : new unit_table;
  }
  [[nodiscard]] revolve states_only() const {
    slot_index const slots = rules_.keeps_states ? free_ : 0;
    return {steps_, rules_.holds_initial || slots > 0 ? slots : 1, {.free_initial = rules_.holds_initial}};
  }
  [[nodiscard]] cursor start(std::size_t depth) const {
    return {steps_, free_, rules_, states_only(), no_tape_fits(), depth, table_};
  }
  /// Fills `counts_` and `cursor_bytes_`: with a table by a walk, which takes less time than the table did; otherwise
  /// in closed form.
  void count() {
    if (no_tape_fits()) {
      revolve const plan = states_only();
      counts_ = plan.counts();
      cursor_bytes_ = plan.table_bytes();
      return;
    }
    slot_index depth = all_tapes_fit() ? most_states() : 0;
    if (all_tapes_fit()) {
      counts_.turned = steps_ > 0 ? 1 : 0;
      counts_.reversals = wide(steps_);
      counts_.recorded = counts_.taped = wide(depth);
      counts_.peak_tapes = depth;
    } else {
      held_counts now;
      cursor walk = start_;
      for (action a = walk.next(); a.kind != action_kind::done; a = walk.next()) {
        add_to(counts_, now, a);
        raise_to(depth, now.states + now.tapes);
      }
      start_ = start(std::size_t(depth));
    }
    cursor_bytes_ = wide(depth) * sizeof(step_index);
  }

  step_index steps_;
  slot_index units_, tape_units_;  // as given
  slot_index free_;  // the same in the unit of `rules_`: a tape, if only tapes are kept
  unit_rules rules_;
  shared<unit_table> table_;
  cursor start_;
  schedule_counts counts_;
  wide cursor_bytes_ = 0;
};

}  // namespace cairn::detail
