// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tier_plan.hpp  What `hrevolve`, `multistage` and `disk_revolve` have in common.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/shared.hpp>
#include <cairn/schedule/storage_tier.hpp>

namespace cairn::detail {

/// `repetitions(x, slots)` for x that never decreases, at one comparison each: the number rises where x passes
/// beta(slots, t). It is also the number of advances that one more step adds, because the fewest advances are the sum
/// of max(0, x - beta(slots, t)) over all t >= 0.   \pre slots >= 1
class repetition_run {
 public:
  /// \param longest  the largest x of any call
  constexpr repetition_run(slot_index slots, step_index longest) noexcept : slots_{slots}, longest_{longest} {}
  [[nodiscard]] constexpr step_index at(step_index x) noexcept {
    while (beta_ < x) beta_ = capped_beta(slots_, ++t_, longest_);
    return t_;
  }

 private:
  slot_index slots_;
  step_index longest_;
  step_index t_ = 0;
  step_index beta_ = 1;  // beta(slots, t)
};

/// How the choices on a level are found.
enum class level_kind : std::uint8_t {
  binomial,  ///< by the rule of `revolve`: no level below, and its slots cost nothing
  chosen,    ///< from the table
  chain      ///< every state is kept here until the slots of the level below suffice for the rest
};

/// A tier in use. Levels are numbered from 0, the cheapest.
struct tier_level {
  slot_index slots = 0;       ///< no more than can be used
  slot_index first_slot = 0;  ///< number of its first slot in the plan
  tier where = tier::memory;
  level_kind kind = level_kind::chosen;
  std::size_t choices = 0;  ///< index of its first choice in the table
  std::size_t stride = 0;   ///< distance from the choices for m slots to those for m + 1; 0 if they do not depend on m
};

/// A choice in one number: the steps from the kept state to the next state to keep, 0 if the slot is freed and the
/// levels below do the rest. The highest bit says that a state that is not kept yet is left to the levels below.
using tier_choice = std::uint32_t;
inline constexpr tier_choice left_below = tier_choice{1} << 31;

/// All choices of a plan.
struct tier_table {
  step_index steps = 0;
  std::size_t levels = 0;
  slot_index most_states = 0;  ///< most states at once
  tier_level level[tier_count];
  table<tier_choice> choices;

  /// Whether level k, with `free` free slots, is skipped: the state before x >= 2 steps is not kept there.
  [[nodiscard]] bool passes_down(std::size_t k, step_index x, slot_index free) const noexcept {
    switch (level[k].kind) {
      case level_kind::binomial: return false;
      case level_kind::chain: return k > 0 && x - 1 <= level[k - 1].slots;
      case level_kind::chosen: break;
    }
    return free == 0 || (choice(k, x, free) & left_below) != 0;
  }
  /// The distance from a state kept on level k, which is not binomial, to the next state to keep; 0 if the levels below
  /// do the rest.
  /// \param free  its own slot included   \pre x >= 2
  [[nodiscard]] step_index split(std::size_t k, step_index x, slot_index free) const noexcept {
    return level[k].kind == level_kind::chain ? 1 : step_index(choice(k, x, free) & ~left_below);
  }
  [[nodiscard]] slot_index slots() const noexcept {
    slot_index sum = 0;
    for (std::size_t k = 0; k < levels; ++k) sum += level[k].slots;
    return sum;
  }
  [[nodiscard]] tier tier_of(slot_index slot) const noexcept {
    for (std::size_t k = 0; k < levels; ++k)
      if (slot >= level[k].first_slot && slot - level[k].first_slot < level[k].slots) return level[k].where;
    return tier::memory;
  }

 private:
  [[nodiscard]] tier_choice choice(std::size_t k, step_index x, slot_index free) const noexcept {
    return choices[level[k].choices + std::size_t(free - 1) * level[k].stride + std::size_t(x)];
  }
};

/// A `tier_table` that plans and cursors share.
struct shared_tier_table : shared_object {
  explicit shared_tier_table(tier_table&& made) noexcept : of{std::move(made)} {}
  tier_table of;
  [[nodiscard]] wide bytes() const noexcept {
    return sizeof(shared_tier_table) + wide(of.choices.size()) * sizeof(tier_choice);
  }
};

/// Called before a table is made with `rows` choices for each number of steps 0 .. steps; making the table takes `work`
/// more bytes for each number of steps.
/// \throws invalid_plan
constexpr void check_choices(char const* who, step_index steps, wide rows, wide work, wide most) {
  constexpr wide all = ~wide{0};
  wide const each = rows > all / sizeof(tier_choice) - work ? all : rows * sizeof(tier_choice) + work;
  wide const lengths = wide(steps) + 1;
  check_table(who, steps, each > all / lengths ? all : each * lengths, most);
  if (rows > 0 && wide(steps) >= left_below)
    throw invalid_plan{who,
                       "the table of this plan is for loops of less than 2^31 steps",
                       {{"steps", steps}},
                       "cairn::revolve needs no table"};
}

/// Starts at the first action; copies advance independently. The kept states are a stack with those of higher levels
/// below, so that the number of kept states on each level determines the level and the slot of the last one.
class tier_cursor {
 public:
  explicit tier_cursor(shared<shared_tier_table> const& made) noexcept : made_{made}, end_{made->of.steps} {}

  [[nodiscard]] action next() {  ///< the next action
    switch (phase_) {
      case phase::start: return begin();
      case phase::save: return save();
      case phase::advance: return advance();
      case phase::turn: return turn();
      case phase::reverse: return reverse();
      case phase::load: return load();
      case phase::drop: return drop();
      case phase::done: return {};
    }
    __builtin_unreachable();
  }

  /// Bytes that a cursor over these choices allocates at its first action; nothing is allocated later.
  [[nodiscard]] static wide bytes(tier_table const& of) noexcept {
    return of.steps < 2 ? 0 : wide(of.most_states) * sizeof(held_state);
  }

 private:
  enum class phase : std::uint8_t { start, save, advance, turn, reverse, load, drop, done };
  /// `ahead` is used on a binomial level.
  struct held_state { step_index at; bracket ahead; };

  [[nodiscard]] tier_table const& plan() const noexcept { return made_->of; }
  [[nodiscard]] tier_level const& level() const noexcept { return plan().level[level_]; }
  [[nodiscard]] slot_index free_slots() const noexcept { return level().slots - used_[level_]; }
  [[nodiscard]] slot_index last_slot() const noexcept { return level().first_slot + used_[level_] - 1; }

  [[gnu::noinline]] action begin() {
    if (end_ < 2) {
      phase_ = phase::turn;
    } else {
      kept_.assign(std::size_t(plan().most_states), {});
      level_ = plan().levels - 1;
      keep_or_arrive();
    }
    return next();
  }
  /// Live is not kept: finds the level that keeps it, unless only its own step is left.
  void keep_or_arrive() noexcept {
    step_index const steps = end_ - live_;
    if (steps < 2) {
      phase_ = arrived_;
      return;
    }
    while (plan().passes_down(level_, steps, free_slots())) --level_;
    if (level().kind == level_kind::binomial && used_[level_] == 0)
      kept_[top_].ahead = bracket_of(steps, level().slots);
    phase_ = phase::save;
  }
  action save() noexcept {
    kept_[top_++].at = live_;
    ++used_[level_];
    phase_ = phase::advance;
    return {action_kind::save, level().where, content::state, last_slot(), live_, 0};
  }
  action advance() noexcept {
    step_index const from = live_;
    step_index const steps = end_ - live_;
    slot_index const slots = free_slots() + 1;
    if (level().kind != level_kind::binomial) live_ += plan().split(level_, steps, slots);
    else live_ += slots == 1 || steps == 2 ? steps - 1 : binomial_split(steps, slots);
    keep_or_arrive();
    return {action_kind::advance, tier::memory, content::state, no_slot, from, live_};
  }
  step_index binomial_split(step_index steps, slot_index slots) noexcept {
    held_state* const own = &kept_[top_ - 1];
    step_index const below =
        is_narrow(slots, own->ahead) ? q_below<std::uint64_t>(slots, own->ahead) : q_below<wide>(slots, own->ahead);
    return take_split(steps, below, own[0].ahead, own[1].ahead);
  }
  action turn() noexcept {
    arrived_ = phase::reverse;
    phase_ = end_ > 0 ? phase::reverse : phase::done;
    return {action_kind::turn, tier::memory, content::state, no_slot, live_, end_};
  }
  action reverse() noexcept {
    step_index const to = end_--;
    phase_ = end_ > 0 ? phase::load : phase::done;
    return {action_kind::reverse, tier::memory, content::state, no_slot, end_, to};
  }
  action load() noexcept {
    live_ = kept_[top_ - 1].at;
    level_ = 0;
    while (used_[level_] == 0) ++level_;
    step_index const steps = end_ - live_;
    bool const last =
        steps < 2 || (level().kind != level_kind::binomial && plan().split(level_, steps, free_slots() + 1) == 0);
    phase_ = last ? phase::drop : phase::advance;
    return {action_kind::load, level().where, content::state, last_slot(), live_, 0};
  }
  action drop() noexcept {
    action const a{action_kind::drop, level().where, content::state, last_slot(), 0, 0};
    --top_;
    --used_[level_];
    keep_or_arrive();  // finds a level below: to keep the dropped state on its old level again would cost no less
    return a;
  }

  shared<shared_tier_table> made_;
  table<held_state> kept_;  // the kept states, lowest step first; the cursor's only memory
  std::size_t top_ = 0;  // entries of kept_ in use
  slot_index used_[tier_count] = {};
  std::size_t level_ = 0;  // level of the last kept state, or the highest level that may keep live
  step_index end_;         // steps [0, end_) are not yet reversed
  step_index live_ = 0;
  phase phase_ = phase::start;
  phase arrived_ = phase::turn;
};

/// A plan over several tiers. Its choices are in a table that it shares with its copies and cursors.
class tier_plan {
 public:
  using cursor = tier_cursor;  ///< the cursor

  [[nodiscard]] step_index steps() const noexcept { return table_->of.steps; }  ///< loop length
  /// Slots on all tiers, no more than can be used; on an unlimited disk the most that are in use at once.
  [[nodiscard]] slot_index slots() const noexcept { return table_->of.slots(); }
  [[nodiscard]] step_index leaf() const noexcept { return 1; }  ///< steps of one `reverse`
  /// The tier of a slot; the slots of the cheapest tier come first.
  [[nodiscard]] tier slot_tier(slot_index slot) const noexcept { return table_->of.tier_of(slot); }
  /// Bytes that a cursor allocates.
  [[nodiscard]] wide table_bytes() const noexcept { return cursor::bytes(table_->of); }
  /// Bytes of the table that copies and cursors share.
  [[nodiscard]] wide shared_table_bytes() const noexcept { return table_->bytes(); }
  [[nodiscard]] cursor const& walk() const noexcept { return start_; }  ///< the start; valid as long as the plan

 protected:
  explicit tier_plan(tier_table&& of) : table_{new shared_tier_table{std::move(of)}}, start_{table_} {}

 private:
  shared<shared_tier_table> table_;
  cursor start_;
};

/// The table of a plan whose steps, saves and loads have costs.
struct costed_table {
  tier_table table;
  double cost = 0, turns = 0;  ///< without turns, and of turns

  /// \throws overflow_error   if the cost exceeds a double
  void add_turns(char const* who, step_index steps, double turn_cost) {
    turns = double(steps) * turn_cost;
    if (!is_cost(cost + turns))
      throw overflow_error{who, "the cost of this plan is too large for a double", {{"steps", steps}},
                           "give the costs in a larger unit"};
  }
};

/// A plan over several tiers with costs.
class costed_tier_plan : public tier_plan {
 public:
  /// The cost of a sweep: the sum over advances, saves and loads, and turns.
  [[nodiscard]] double cost() const noexcept { return cost_ + turns_; }
  /// The cost without turns, as many papers count.
  [[nodiscard]] double cost_without_turns() const noexcept { return cost_; }

 protected:
  explicit costed_tier_plan(costed_table&& of)
      : tier_plan{std::move(of.table)}, cost_{of.cost}, turns_{of.turns} {}

 private:
  double cost_, turns_;
};

}  // namespace cairn::detail
