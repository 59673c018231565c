// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file action.hpp  The vocabulary that schedules and executors share, and what a schedule is.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/copyable.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/language.hpp>

namespace cairn {

/// The number of a step or of a state: step i leads from state i to state i+1.
using step_index = std::int64_t;
/// The number of a slot, counted from 0.
using slot_index = std::int64_t;

/// No slot. In a `load`: the initial state of a plan that keeps it outside its slots (see `initial_is_free`).
inline constexpr slot_index no_slot = -1;

/// Where a slot lives, from fast and small to slow and large.
enum class tier : std::uint8_t { memory, device, host, disk };
/// How many tiers there are.
inline constexpr std::size_t tier_count = 4;

/// What a slot holds. States and tapes have slots of their own, each numbered from 0; they live and die separately.
enum class content : std::uint8_t { state, tape };

/// What the executor does next. *live* is the one state that is being advanced. Plans for chains use the same actions;
/// a chain has no live state, and each of its states and tapes has a place of its own, see `chain_actions`.
/// The names in the literature: save is TAKESHOT, load is RESTORE, turn is the forward half of FIRSTTURN, reverse is
/// the backward half of YOUTURN.
enum class action_kind : std::uint8_t {
  advance,  ///< run steps [from, to) on live; nothing is recorded
  save,     ///< copy live, which is state `from`, to `slot`
  load,  ///< live becomes state `from`, read from `slot`; if `what` is tape, from the end of the tape in tape slot
         ///< `slot`
  drop,  ///< free `slot` (a state slot or a tape slot, see `what`)
  record,   ///< run steps [from, to) on live and keep their tape in tape slot `slot`
  turn,     ///< run steps [from, to = n) into the final state; live stays at `from`. Once per sweep; from = n is legal
  reverse,  ///< run the adjoint of steps [from, to) from live, which is state `from`, or, if `what` is tape, from the
            ///< tape in `slot`
  done      ///< nothing is left to do; a cursor at its end returns done again and again
};

/// One instruction of a schedule: a trivially copyable value of 32 bytes.
struct action {
  action_kind kind = action_kind::done;  ///< what to do
  tier where = tier::memory;  ///< where the slot lives
  content what = content::state;  ///< what the slot holds; for `reverse`, what it starts from
  slot_index slot = no_slot;  ///< the slot of save, load, drop and record, and of a reverse that starts from a tape
  step_index from = 0;  ///< the first step, or the number of the state that is saved or loaded
  step_index to = 0;  ///< one past the last step; 0 for actions without a range
  friend constexpr bool operator==(action const&, action const&) = default;
};
static_assert(sizeof(action) <= 32 && std::is_trivially_copyable_v<action>);

/// What a sweep does on one tier.
struct tier_counts {
  wide saves = 0;  ///< states saved there
  wide loads = 0;  ///< states loaded from there; an initial state outside the slots counts as memory
  slot_index peak = 0;  ///< most states held there at once
  friend constexpr bool operator==(tier_counts const&, tier_counts const&) = default;
};

/// What a whole sweep of a schedule does; all totals are exact.
struct schedule_counts {
  wide advances = 0;   ///< steps run by `advance`
  wide turned = 0;     ///< steps run by `turn`
  wide recorded = 0;   ///< steps run by `record`
  wide reversals = 0;  ///< steps reversed
  wide taped = 0;      ///< steps reversed from a tape that `record` kept; part of `reversals`
  wide saves = 0;  ///< states saved
  wide loads = 0;  ///< states loaded from slots, the initial one included
  wide restarts = 0;  ///< states loaded from tapes
  slot_index peak_slots = 0;  ///< most states held at once
  slot_index peak_tapes = 0;  ///< most tapes held at once
  /// Saves, loads and peak of each tier. The initialiser is written out, because without it g++ 12 loses members of
  /// these members in constants.
  tier_counts tiers[tier_count] = {{}, {}, {}, {}};

  /// The counts of one tier.
  [[nodiscard]] constexpr tier_counts& on(tier where) noexcept { return tiers[std::size_t(where)]; }
  /// The counts of one tier.
  [[nodiscard]] constexpr tier_counts const& on(tier where) const noexcept { return tiers[std::size_t(where)]; }
  friend constexpr bool operator==(schedule_counts const&, schedule_counts const&) = default;
};

/// Walks a schedule. Copyable, so that a copy can look ahead, count, draw or resume.
template <class Cursor>
concept cursor = detail::copyable_value<Cursor> && requires(Cursor c) { { c.next() } -> std::same_as<action>; };

namespace detail {
/// An integer type for counts of steps or slots. Any width: `long long` and std::int64_t differ on some platforms.
template <class T>
concept counts_steps = std::integral<T> && !std::same_as<T, bool> && requires(T n) { step_index{n}; };
}  // namespace detail

/// A value that covers `steps()` steps, keeps at most `slots()` states, and returns cursors from `walk()`.
/// `walk()` may return a reference to a cursor at the start: assigning it to an old cursor then reuses the old one's
/// memory. Optional members, each with the default of the function of the same name below: `tapes()`,
/// `tapes_restart()`, `units()` with `tape_units()`, `initial_is_free()`, `is_checkpoint(i)`, `slot_tier(slot)`,
/// `leaves_memory()`, `table_bytes()`, `shared_table_bytes()`, `runs_ahead()`, `learns_length()`, `reserved()`,
/// `counts()`, `remark()`.
template <class PlanGiven>
concept schedule = requires(PlanGiven const& plan) {
  { plan.steps() } -> detail::counts_steps;
  { plan.slots() } -> detail::counts_steps;
  { plan.leaf() } -> detail::counts_steps;  // the most steps that one `reverse` takes, >= 1
  requires cursor<std::remove_cvref_t<decltype(plan.walk())>>;
}
&&detail::copyable_value<PlanGiven>;  // last: g++ 12 takes a closure that was asked for it as not trivially copyable

/// The cursor type of a schedule.
template <schedule PlanGiven>
using cursor_of = std::remove_cvref_t<decltype(std::declval<PlanGiven const&>().walk())>;

/// A schedule that knows its totals without walking.
template <class PlanGiven>
concept counted_schedule = schedule<PlanGiven> && requires(PlanGiven const& plan) {
  { plan.counts() } -> std::same_as<schedule_counts>;
};

namespace detail {
/// Calls see(a) for each action of a plan before `done`. Does not check the plan: use `verify` for plans that may be
/// wrong.   \pre the walk ends
template <schedule Plan, class See>
constexpr void each_action(Plan const& plan, See see) {
  cursor_of<Plan> cursor = plan.walk();
  for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) see(a);
}
}  // namespace detail

/// Most tape slots that a plan fills at once; 0 by default.
template <schedule PlanGiven>
[[nodiscard]] constexpr slot_index tapes_of(PlanGiven const& plan) {
  if constexpr (requires { { plan.tapes() } -> std::convertible_to<slot_index>; }) return plan.tapes();
  else return 0;
}

/// Whether `load` may restore the state at the end of a tape; false by default.
template <schedule PlanGiven>
[[nodiscard]] constexpr bool tapes_restart(PlanGiven const& plan) {
  if constexpr (requires { { plan.tapes_restart() } -> std::convertible_to<bool>; }) return plan.tapes_restart();
  else return false;
}

/// A budget that states and tapes share: a state takes one unit, a tape `tape_units`.
struct unit_budget {
  wide units = ~wide{0};  ///< units in total; unlimited by default
  wide tape_units = 0;  ///< units that one tape takes
};
/// The plan's budget in units; unlimited by default.
template <schedule PlanGiven>
[[nodiscard]] constexpr unit_budget units_of(PlanGiven const& plan) {
  if constexpr (requires {
                  { plan.units() } -> std::convertible_to<wide>;
                  { plan.tape_units() } -> std::convertible_to<wide>;
                })
    return {wide(plan.units()), wide(plan.tape_units())};
  else return {};
}

/// Whether the plan knows the tier of each of its slots. A plan that wraps another one has a member `has_slot_tiers()`.
template <schedule PlanGiven>
[[nodiscard]] constexpr bool has_slot_tiers(PlanGiven const& plan) {
  if constexpr (requires { { plan.has_slot_tiers() } -> std::convertible_to<bool>; }) return plan.has_slot_tiers();
  else return requires { { plan.slot_tier(slot_index{}) } -> std::same_as<tier>; };
}
/// The tier of a slot; memory by default.
template <schedule PlanGiven>
[[nodiscard]] constexpr tier slot_tier(PlanGiven const& plan, slot_index slot) {
  if constexpr (requires { { plan.slot_tier(slot) } -> std::same_as<tier>; }) return plan.slot_tier(slot);
  else return tier::memory;
}

namespace detail {
template <class Plan>
[[nodiscard]] constexpr slot_index slots_in_memory(Plan const& plan) {
  slot_index here = plan.slots();
  if (has_slot_tiers(plan))
    for (slot_index slot = 0; slot < plan.slots(); ++slot) here -= slot_tier(plan, slot) != tier::memory;
  return here;
}
}  // namespace detail

/// Whether the plan may save states on tiers other than memory; by default, if it says of one of its slots that it is
/// on one. A plan of your own that uses tiers has `slot_tier(slot)`, or a member `leaves_memory()`.
template <schedule PlanGiven>
[[nodiscard]] constexpr bool leaves_memory(PlanGiven const& plan) {
  if constexpr (requires { { plan.leaves_memory() } -> std::same_as<bool>; }) return plan.leaves_memory();
  else if constexpr (requires { { plan.slot_tier(slot_index{}) } -> std::same_as<tier>; }) {
    for (slot_index slot = 0; slot < slot_index(plan.slots()); ++slot)
      if (plan.slot_tier(slot) != tier::memory) return true;
  }
  return false;
}

/// Whether the initial state is kept outside the plan's slots, so that `load` of `no_slot` restores it; false by
/// default.
template <schedule PlanGiven>
[[nodiscard]] constexpr bool initial_is_free(PlanGiven const& plan) {
  if constexpr (requires { { plan.initial_is_free() } -> std::convertible_to<bool>; }) return plan.initial_is_free();
  else return false;
}

/// Whether executors run one step past each state that the plan saves before its turn, as executors of loops of unknown
/// length do; false by default.
template <schedule PlanGiven>
[[nodiscard]] constexpr bool runs_ahead(PlanGiven const& plan) {
  if constexpr (requires { { plan.runs_ahead() } -> std::convertible_to<bool>; }) return plan.runs_ahead();
  else return false;
}

/// Whether the plan is for a loop whose length is known only when it ends, as `online` is; false by default.
template <schedule PlanGiven>
[[nodiscard]] constexpr bool learns_length(PlanGiven const& plan) {
  if constexpr (requires { { plan.learns_length() } -> std::convertible_to<bool>; }) return plan.learns_length();
  else return false;
}

/// Whether saved state i is a place to restart from; true by default. If false, it is only the input of the next
/// adjoints.
template <schedule PlanGiven>
[[nodiscard]] constexpr bool is_checkpoint(PlanGiven const& plan, step_index i) {
  if constexpr (requires { { plan.is_checkpoint(i) } -> std::convertible_to<bool>; }) return plan.is_checkpoint(i);
  else return true;
}

/// A note on how the plan differs from what was asked for, a text with static storage; "" by default.
template <schedule PlanGiven>
[[nodiscard]] constexpr char const* remark_of(PlanGiven const& plan) {
  if constexpr (requires { { plan.remark() } -> std::convertible_to<char const*>; }) return plan.remark();
  else return "";
}

/// Bytes of the tables that a plan shares with its copies and cursors; 0 by default.
template <schedule PlanGiven>
[[nodiscard]] constexpr wide shared_table_bytes_of(PlanGiven const& plan) {
  if constexpr (requires {
                  { plan.shared_table_bytes() } -> std::convertible_to<wide>;
                })
    return plan.shared_table_bytes();
  else return 0;
}

/// Bytes that one cursor of the plan allocates; 0 by default.
template <schedule PlanGiven>
[[nodiscard]] constexpr wide table_bytes_of(PlanGiven const& plan) {
  if constexpr (requires { { plan.table_bytes() } -> std::convertible_to<wide>; }) return plan.table_bytes();
  else return 0;
}

/// What a sweep reserves before it knows the number of steps.
struct reserved_memory {
  slot_index slots = 0;  ///< slots that it reserves
  wide table_bytes = 0;  ///< bytes that one cursor allocates
};
/// What a sweep of the plan reserves. A plan for a loop of unknown length reserves more slots than it may need in the
/// end. By default the plan's `slots()` and `table_bytes_of`.
template <schedule PlanGiven>
[[nodiscard]] constexpr reserved_memory reserved_of(PlanGiven const& plan) {
  if constexpr (requires { { plan.reserved() } -> std::same_as<reserved_memory>; }) return plan.reserved();
  else return {plan.slots(), table_bytes_of(plan)};
}

}  // namespace cairn
