// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file store.hpp  What a sweep requires of the store that holds its checkpoints.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cairn/core/action.hpp>

namespace cairn {

/// Number of a frame: a state that the executor owns.
using frame_id = std::int64_t;
inline constexpr frame_id no_frame = -1;  ///< no frame; returned by a `load`: the state is lost

/// Where a checkpoint is kept.
struct place {
  slot_index slot = no_slot;  ///< which slot
  tier where = tier::memory;  ///< on which tier
};

/// What a sweep tells its store when it begins, or goes on where another one stopped.
struct sweep_shape {
  slot_index slots = 0;         ///< numbered 0 .. slots - 1
  step_index steps = -1;        ///< the length of the loop, -1 if it is not known
  std::size_t state_bytes = 0;  ///< of the initial state, or 0 if they are not known
  bool resumed = false;         ///< what the slots hold is to be kept
  tier (*tier_in)(void const* plan, slot_index) = nullptr;  ///< implements `tier_of`
  void const* plan = nullptr;                               ///< passed to `tier_in`; valid while the sweep runs
  /// The tier of a slot; memory if the plan does not say.
  [[nodiscard]] tier tier_of(slot_index slot) const { return tier_in == nullptr ? tier::memory : tier_in(plan, slot); }
};

namespace detail {

/// The frames of a sweep as a store sees them. This declaration documents them; stores receive the real type as a
/// template argument.
template <class Value>
struct frames_of {
  using value_type = Value;
  Value const& state(frame_id) const;  // the state in a frame that has an owner
  void keep(frame_id);                 // adds an owner: the frame does not change until it is released
  void release(frame_id);              // removes an owner
  frame_id take();                     // a free frame, owned once by the caller, who must write its contents
  Value* reusable(frame_id);           // the old state in a frame from take(), to be overwritten; may be null
  void emplace(frame_id, Value&&);     // puts a new state into a frame from take()
  template <class Fn>
  void coming_loads(Fn f) const;       // f(place, i) for each state that the plan loads next, until f returns false
};

}  // namespace detail

/// Keeps states by slot. A store may keep a frame itself (`keep`: nothing is copied), or copy or serialise the state in
/// it, at once or later; until the copy is finished, the store owns the frame by `keep`. A store never sees an action.
/// - begin(slots): forget everything; slots are numbered 0..slots-1
/// - save(frames, place, i, frame): store state i, which is in `frame`. May return bool, with `may_lose`: false if the
///   slot cannot be written; this sweep does not use it again
/// - load(frames, place, i) -> frame: a frame with state i that the caller owns once and releases; no_frame if the
///   state is lost
/// - drop(frames, place): free the slot
/// Optional members:
/// - begin(sweep_shape const&) in place of begin(slots): is told the tiers, the length and the size of a state, and is
///   called for resumed sweeps, too
/// - static constexpr bool keeps_frames = true: every slot holds a frame of the sweep, so the sweep reserves frames for
///   all slots; `frame(slot) -> frame_id` returns the slot's frame or no_frame
/// - frame(slot) without it: a store that keeps some slots as frames, and others elsewhere; `extra_frames()` counts them
/// - bytes(tier) -> std::size_t: what it holds on a tier besides frames, for `event::bytes_held`
/// - reversed(open, bar): called after the seed, and at the end of each action that reverses steps, whatever the form of
///   the adjoint: bar is that of state `open`, and steps [0, open) are left; `library_bar` if the library has it
/// - reversing(open, look): called before such an action, if state `open` is live then; look(f) returns f of that state,
///   or of a snapshot of the object
/// - static constexpr bool looks_ahead = true: its `save`, `load` and `drop` may ask `frames.coming_loads(f)`; each call
///   copies the plan's cursor and walks it as far as f wants
/// - static constexpr bool may_lose = true: a load may return no_frame; the sweep then runs to that state again from the
///   nearest one before it, saves it again, and goes on with its plan
/// - extra_frames() -> slot_index: most frames that it owns besides its slots while saves complete late; 0 by default
/// - settle(frames): finish pending saves and release their frames, also when it throws; called when the sweep runs out
///   of frames, when it ends or throws, and before its workspace dies or runs another sweep. What it throws passes to
///   the caller, unless an exception is already under way or the workspace dies
/// - at(slot) -> step_index: the state that a slot holds, or -1; for stores that outlive a sweep, so that `resume` can
///   use them
/// - note_hash(i, hash, before): called before state i is saved if there is a replay check; hash is that of state i,
///   before that of a state before it with which another process can compare, or 0. And each_hash(f): calls
///   f(slot, i, hash, before) with what was noted of the states that it holds; called by `resume` with a replay check,
///   which then compares what it runs again with states of another process. And is_wrong(): a replay check is about to
///   throw; what this process has saved may be wrong
/// All calls come from the thread of the sweep, and the store may call `frames` only from that thread. Threads of the
/// store may read a state of a frame that the store owns.
template <class Store, class Value>
concept store_of = (requires(Store& store) { store.begin(slot_index{}); } ||
                    requires(Store& store, sweep_shape const& shape) { store.begin(shape); }) &&
                   requires(Store& store, detail::frames_of<Value>& frames, place where, step_index i, frame_id frame) {
  store.save(frames, where, i, frame);
  { store.load(frames, where, i) } -> std::same_as<frame_id>;
  store.drop(frames, where);
};

namespace detail {

/// A state and where it is kept; in `no_slot` if it is in none.
struct placed_state {
  step_index state = 0;
  place in = {};
};

template <class Store> inline constexpr bool keeps_frames = requires { requires bool(Store::keeps_frames); };
/// A store of the library, which loads every state of a valid plan; its loads are not checked.
template <class Store> inline constexpr bool loses_nothing = false;
template <class Store> inline constexpr bool may_lose = requires { requires bool(Store::may_lose); };
/// A store that is told the shape of its sweeps.
template <class Store>
concept takes_shape = requires(Store& store, sweep_shape const& shape) { store.begin(shape); };
/// A store in which slots may hold frames, all of them or some.
template <class Store>
concept shows_frames = requires(Store const& store) {
  { store.frame(slot_index{}) } -> std::same_as<frame_id>;
};
/// A store that is told before a reverse action.
struct any_look {
  template <class Fn> void operator()(Fn const&) const;
};
template <class Store>
concept is_told_before = requires(Store& store) { store.reversing(step_index{}, any_look{}); };
/// A store that is asked before each step whether it ends the sweep there, and may hold a state between two places of
/// the plan from which the sweep goes on.
template <class Store> inline constexpr bool may_end_sweeps = requires { requires bool(Store::may_end_sweeps); };
template <class Store> inline constexpr bool looks_ahead = requires { requires bool(Store::looks_ahead); };
/// Whether a save may say that it failed.
template <class Store, class Frames>
concept fails_to_save = requires(Store& store, Frames& frames, place where, step_index i, frame_id frame) {
  { store.save(frames, where, i, frame) } -> std::same_as<bool>;
};
template <class Store>
concept outliving_store = requires(Store const& store) {
  { store.at(slot_index{}) } -> std::same_as<step_index>;
};

/// Whether sweeps make states again that this store does not have: states that it lost, or that were not in it when the
/// sweep was resumed.
template <class Store> inline constexpr bool mends_states = may_lose<Store> || outliving_store<Store>;

/// The marks of stores of the library.
struct store_marks {
  template <class Store>
  [[nodiscard]] static auto of(Store& store) noexcept -> decltype((store.busy_)) { return store.busy_; }
  /// How many sweeps have begun in a store; 0 if that is not known.
  template <class Store>
  [[nodiscard]] static std::uint64_t begun(Store const& store) noexcept {
    if constexpr (requires { store.begun_; }) return store.begun_.value;
    else return 0;
  }
};

/// Most frames that a store may own at once.
template <class Store>
[[nodiscard]] constexpr slot_index frames_in(Store const& store, slot_index slots) {
  slot_index const kept = keeps_frames<Store> ? slots : 0;
  if constexpr (requires {
                  { store.extra_frames() } -> std::convertible_to<slot_index>;
                })
    return kept + store.extra_frames();
  else return kept;
}

}  // namespace detail
}  // namespace cairn
