#pragma once
/// \file store.hpp  What a sweep asks of the place where its checkpoints live.
#include <concepts>
#include <cstdint>
#include <cairn/core/action.hpp>

namespace cairn {

/// A state that the executor owns, by number.
using frame_id = std::int64_t;
inline constexpr frame_id no_frame = -1;  ///< no frame; of a `load`, that the state is lost

/// Where a checkpoint goes.
struct place {
  slot_index slot = no_slot;  ///< which slot
  tier where = tier::memory;  ///< on which tier
};

namespace detail {

/// The frames of a sweep as a store sees them; stores get the real ones as a template argument.
template <class Value>
struct frames_of {
  using value_type = Value;
  Value const& state(frame_id) const;  // the state in a frame that has an owner
  void keep(frame_id);                 // one owner more: the frame stays as it is until released
  void release(frame_id);              // one owner less
  frame_id take();                     // a free frame with one owner: the caller; its contents are to be written
  Value* reusable(frame_id);           // the old state in a frame from take(), to be overwritten, or null
  void emplace(frame_id, Value&&);     // a new state in a frame from take()
};

}  // namespace detail

/// Keeps states by slot. A store may keep a frame itself (`keep`: nothing is copied), or copy or serialise the state
/// out of it, at once or later: it owns the frame by `keep` until it has finished. It never sees an action.
///   begin(slots)                      forget everything; slots are numbered 0..slots-1
///   save(frames, place, i, frame)     hold state i, which is in `frame`
///   load(frames, place, i) -> frame   a frame with state i that the caller owns once (release gives it back); no_frame
///   if it was lost
///   drop(frames, place)               the slot is free
/// Optional members:
///   static constexpr bool keeps_frames = true   every slot holds a frame of the sweep, so the sweep has frames for all
///   of them;
///                                               `frame(slot) -> frame_id` says which, or no_frame
///   static constexpr bool may_lose = true       a load may answer no_frame: the sweep then replans what is left and
///   goes on
///   extra_frames() -> slot_index                frames that it owns beside its slots at most, while saves complete
///   late; 0 by default
///   settle(frames)                              finish and release what is under way; called when the sweep is out of
///   frames
///   at(slot) -> step_index                      the state a slot holds or -1: a store that outlives a sweep, so that
///   `resume` can use it. One that
///                                               also saves late has finished before it is handed to another workspace
/// All calls come from the thread of the sweep, and so must the store's calls of `frames`.
template <class S, class Value>
concept store_of = requires(S& store, detail::frames_of<Value>& frames, place where, step_index i, frame_id frame) {
  store.begin(slot_index{});
  store.save(frames, where, i, frame);
  { store.load(frames, where, i) } -> std::same_as<frame_id>;
  store.drop(frames, where);
};

namespace detail {

template <class S> inline constexpr bool keeps_frames = requires { requires bool(S::keeps_frames); };
/// Of a store of ours, which answers every load of a valid plan: nothing is asked.
template <class S> inline constexpr bool loses_nothing = false;
template <class S> inline constexpr bool may_lose = requires { requires bool(S::may_lose); };
template <class S>
concept outliving_store = requires(S const& store) {
  { store.at(slot_index{}) } -> std::same_as<step_index>;
};

/// Frames that a store may own at once.
template <class S>
[[nodiscard]] constexpr slot_index frames_in(S const& store, slot_index slots) {
  slot_index const kept = keeps_frames<S> ? slots : 0;
  if constexpr (requires {
                  { store.extra_frames() } -> std::convertible_to<slot_index>;
                })
    return kept + store.extra_frames();
  else return kept;
}

}  // namespace detail
}  // namespace cairn
