// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tier_table.hpp  Where a plan over several tiers keeps its states: one choice for every number of steps and of
/// free slots.
/// O(k, x, m) reverses x steps whose first state is live and not kept, with m free slots on level k and all slots below
/// it; P(k, x, m) is the same with that state kept on level k, in one of these m slots (Herrmann & Pallez 2020,
/// algorithm H-Revolve).
#include <cstddef>
#include <cstdint>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/shared.hpp>

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

}  // namespace cairn::detail
