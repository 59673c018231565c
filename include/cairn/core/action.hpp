#pragma once
/// \file action.hpp  The vocabulary between schedules and executors, and what a schedule is.
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/wide.hpp>

namespace cairn {

/// The number of a step or of a state: step i leads from state i to state i+1.
using step_index = std::int64_t;
/// The number of a slot, counted from 0.
using slot_index = std::int64_t;

/// No slot; in a `load`, the initial state of a plan that keeps it outside its slots (see `initial_is_free`).
inline constexpr slot_index no_slot = -1;

/// Where a slot lives, from fast and small to slow and large.
enum class tier : std::uint8_t { memory, device, host, disk };

/// What a slot holds. States and tapes have slots of their own, each numbered from 0; they live and die separately.
enum class content : std::uint8_t { state, tape };

/// What the executor does next. *live* is the one state that is being advanced.
/// In the literature: save is TAKESHOT, load is RESTORE, turn the forward half of FIRSTTURN, reverse the backward half of YOUTURN.
enum class action_kind : std::uint8_t {
  advance,  ///< run steps [from, to) on live, nothing is recorded
  save,     ///< keep live, which is state `from`, in `slot`
  load,     ///< live becomes the state `from` kept in `slot`
  drop,     ///< `slot` (of states or of tapes, see `what`) is free from here on
  record,   ///< run steps [from, to) on live and keep their tape in tape slot `slot`
  turn,     ///< run steps [from, to = n) into the final state; live stays at `from`. Once a walk, and from = n is legal
  reverse,  ///< run the adjoint of steps [from, to): live is state `from`, or `what` is tape and `slot` holds their tape
  done      ///< nothing is left; a cursor goes on answering done
};

/// One instruction of a schedule: a trivially copyable value of 32 bytes.
struct action {
  action_kind kind = action_kind::done;  ///< what to do
  tier where = tier::memory;  ///< where the slot lives
  content what = content::state;  ///< what the slot holds, or what a `reverse` starts from
  slot_index slot = no_slot;  ///< the slot of save, load, drop and record, and of a reverse from a tape
  step_index from = 0;  ///< the first step, or the state that is saved or loaded
  step_index to = 0;  ///< one past the last step; 0 where there is no range
  friend constexpr bool operator==(action const&, action const&) = default;
};
static_assert(sizeof(action) <= 32 && std::is_trivially_copyable_v<action>);

/// What a whole sweep of a schedule does; all totals are exact.
struct schedule_counts {
  wide advances = 0;   ///< steps run by `advance`
  wide turned = 0;     ///< steps run by `turn`
  wide recorded = 0;   ///< steps run by `record`
  wide reversals = 0;  ///< steps reversed
  wide taped = 0;      ///< of these, from a tape that `record` kept
  wide saves = 0;  ///< states kept
  wide loads = 0;  ///< states brought back, the initial one included
  slot_index peak_slots = 0;  ///< most states kept at once
  slot_index peak_tapes = 0;  ///< most tapes kept at once
  friend constexpr bool operator==(schedule_counts const&, schedule_counts const&) = default;
};

/// Walks a schedule. Copyable, so that one may look ahead, count, draw or resume on a copy.
template <class C>
concept cursor = std::copyable<C> && requires(C c) { { c.next() } -> std::same_as<action>; };

/// A value that covers `steps()` steps with at most `slots()` kept states and hands out cursors.
/// `walk()` may return a reference to a cursor that stands at the start: assigning it to an old one reuses that one's memory.
/// Optional members, each with the default of the function of the same name below:
/// `tapes()`, `initial_is_free()`, `is_checkpoint(i)`, `table_bytes()`, `counts()`.
template <class P>
concept schedule = std::copyable<P> && requires(P const& plan) {
  { plan.steps() } -> std::same_as<step_index>;
  { plan.slots() } -> std::same_as<slot_index>;
  { plan.leaf() } -> std::same_as<step_index>;  // the most steps that one `reverse` takes, >= 1
  requires cursor<std::remove_cvref_t<decltype(plan.walk())>>;
};

/// The cursor type of a schedule.
template <schedule P>
using cursor_of = std::remove_cvref_t<decltype(std::declval<P const&>().walk())>;

/// A schedule that knows its totals without a walk.
template <class P>
concept counted_schedule = schedule<P> && requires(P const& plan) { { plan.counts() } -> std::same_as<schedule_counts>; };

/// Tape slots that a plan may fill at once; 0 unless the plan says otherwise.
template <schedule P>
[[nodiscard]] constexpr slot_index tapes_of(P const& plan) {
  if constexpr (requires { { plan.tapes() } -> std::convertible_to<slot_index>; }) return plan.tapes();
  else return 0;
}

/// Whether the initial state stands outside the plan's slots, so that `load` of `no_slot` brings it back; false by default.
template <schedule P>
[[nodiscard]] constexpr bool initial_is_free(P const& plan) {
  if constexpr (requires { { plan.initial_is_free() } -> std::convertible_to<bool>; }) return plan.initial_is_free();
  else return false;
}

/// Whether a saved state i is a place to restart from (default), or only passes the next adjoints their input.
template <schedule P>
[[nodiscard]] constexpr bool is_checkpoint(P const& plan, step_index i) {
  if constexpr (requires { { plan.is_checkpoint(i) } -> std::convertible_to<bool>; }) return plan.is_checkpoint(i);
  else return true;
}

/// Bytes that one cursor of the plan allocates; 0 unless the plan says otherwise.
template <schedule P>
[[nodiscard]] constexpr wide table_bytes_of(P const& plan) {
  if constexpr (requires { { plan.table_bytes() } -> std::convertible_to<wide>; }) return plan.table_bytes();
  else return 0;
}

}  // namespace cairn
