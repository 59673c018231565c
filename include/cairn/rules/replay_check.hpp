// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file replay_check.hpp  What a sweep compares when it runs a state again, and how to ask for it.
#include <cstdint>
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/frames_needed.hpp>

namespace cairn {

/// Whether a sweep compares each state that it runs again with its first value. A step that reads or changes something
/// outside the state gives gradients that depend on the number of slots, and nothing else reveals it.
/// States are compared by a 64-bit hash of their bytes, so that -0.0 differs from 0.0 and NaNs with different bits
/// differ. Snapshots of an object that are restored, and states that a store brings back from bytes, are taken one step
/// on, twice if a type says itself what is kept of it, because the first time changes what that lacks, and the results
/// are compared, too: no plan has to run anything again for that. `checkpoints` takes state 0, which differs most from
/// what the object holds at the end, that before the turn, and the 1st, 2nd, 4th, 8th ... that is restored;
/// `every_step` takes each. `step_calls()` and `estimate` do not count these calls. If a plan's leaves do not begin at
/// multiples of their length, `checkpoints` compares only the states at such multiples. A sweep that is resumed over a
/// store that keeps hashes, as `disk` does, is compared with the processes before it, too.
enum class replay_check : std::uint8_t {
  off,          ///< compare nothing
  checkpoints,  ///< compare at the end of each recomputation and after each load. Reports a range of steps
  every_step  ///< compare every state that is run again. Reports the first step that differs; takes 8 bytes a step, up
              ///< to 16 for a loop of unknown length
};

/// Options of a sweep: the last argument of the verbs, or of `workspace_for`. Recommended for the first run of every
/// new program: `{.verify = cairn::replay_check::checkpoints}`.
struct sweep_options {
  replay_check verify = replay_check::off;  ///< what is compared when states are run again
  /// Where an object is after the sweep. Also usable alone as an option: `cairn::object_ends::at_final`.
  object_ends object = object_ends::anywhere;
};

/// No options: a sweep with it compiles to the same instructions as one without options.
struct no_options {};

/// What decides how much memory a replay check takes.
struct replay_check_needs {
  step_index steps = 0;     ///< loop length n
  slot_index slots = 0;     ///< slots of the plan
  slot_index tapes = 0;     ///< tapes of the plan; see `tapes_of`
  bool keeps_run = false;   ///< `checkpointed_loop` and `checkpointed_while`, which can be reversed again
  bool learns_length = false;  ///< `checkpointed_while`, which learns only at the end that the loop has `steps` steps
};

namespace detail {

template <class T> inline constexpr bool is_options = std::is_same_v<std::remove_cvref_t<T>, sweep_options>;
/// Whether T may be passed in place of options.
template <class T> inline constexpr bool is_object_end = std::is_same_v<std::remove_cvref_t<T>, object_ends>;
template <class T> inline constexpr bool is_setting = is_options<T> || is_object_end<T>;
/// Options of a run that other processes may have begun: where nothing is asked, states are compared with theirs.
struct options_beside_others : sweep_options {
  options_beside_others& operator=(sweep_options const& asked) noexcept {
    sweep_options::operator=(asked);
    return *this;
  }
};
/// The options that the workspace needs.
template <class T>
using workspace_options = std::conditional_t<is_options<T>, sweep_options, no_options>;

/// Sizes of the ledger's entries; asserted where they are defined.
inline constexpr wide bytes_a_noted_state = 16, bytes_a_hash = 8;
/// How many states the ledger has room for, given the number of places that keep states. It needs one per gap between
/// kept states; the more extra room it has, the less often it must discard entries.
[[nodiscard]] constexpr wide noted_states(wide places) noexcept { return 2 * places + 8; }
/// Initial number of hashes for a loop of unknown length; doubles whenever there are more states.
inline constexpr wide first_hashes = 64;
/// Slots, tapes, and the initial state.
[[nodiscard]] constexpr wide replay_places(slot_index slots, slot_index tapes) noexcept {
  return wide(slots) + wide(tapes) + 1;
}

}  // namespace detail

/// Heap bytes that the check of one sweep takes: with `checkpoints` 48 per slot, twice that for a kept run; with
/// `every_step` 8 per step. Hashing a state takes none; hashing an object takes one snapshot for the moment. A loop of
/// unknown length starts with a table of 512 bytes, which doubles without being moved: up to 16 bytes per step.
/// `estimate` adds this if `workload::verify` asks for a check.
[[nodiscard]] constexpr wide replay_check_bytes(replay_check mode, replay_check_needs const& needs) noexcept {
  if (mode == replay_check::off) return 0;
  if (mode == replay_check::every_step) {
    wide hashes = needs.learns_length ? detail::first_hashes : wide(needs.steps) + 1;
    while (hashes < wide(needs.steps) + 1) hashes *= 2;
    return detail::bytes_a_hash * hashes;
  }
  wide const places = detail::replay_places(needs.slots, needs.tapes);
  return detail::bytes_a_noted_state * (places + detail::noted_states(places)) * (needs.keeps_run ? 2 : 1);
}

namespace detail {

[[noreturn]] inline void refuse_replay(char const* problem, replay_difference found, first_difference const& where,
                                       char const* advice) {
  found.number = where.number;
  found.first = where.first;
  found.again = where.again;
  throw nondeterminism_error{"cairn: replay check", problem, found, advice};
}
inline constexpr char const* advice_to_steps =
    "put all that the step reads and changes into the state (members, statics, random generators), and write all of x1";

/// State i was run again from state `first_step` and differs. \throws nondeterminism_error
[[noreturn]] inline void refuse_replayed(step_index i, step_index first_step, first_difference const& where = {},
                                         char const* advice = advice_to_steps) {
  refuse_replay("a state that was run again is not what it was at first", {i, first_step, i - 1}, where, advice);
}
/// State i was loaded and differs. \throws nondeterminism_error
[[noreturn]] inline void refuse_loaded(step_index i, first_difference const& where = {}) {
  refuse_replay(
      "a state that was brought back is not what was kept", {i, i, i}, where,
      "a copy must own all its data, restore(snapshot) bring back all that save() gives, and a store all bytes");
}
/// State i - 1 was restored and advanced, and gave another state i than at first: what was kept lacks something that
/// the step reads.   \param member  of the snapshot, -1 if unknown   \throws nondeterminism_error
[[noreturn]] inline void refuse_restored(step_index i, std::int64_t member) {
  refuse_replay("a state that was brought back and run on is not what the step made of it at first",
                {.state = i, .first_step = i - 1, .last_step = i - 1, .member = member}, {},
                "let save() and visit_buffers() give, and restore() bring back, every member that the step reads and "
                "changes; and let the step read nothing else that changes");
}
/// The snapshots of all states up to state i are equal, and have no numbers.   \throws nondeterminism_error
[[noreturn]] inline void refuse_equal_snapshots(step_index i) {
  refuse_replay(
      "the snapshots of all states are equal", {i, i, i}, {},
      "a snapshot must hold the state or own the file that holds it: a name that all snapshots share leads to "
      "what was saved last");
}
/// The seed, or an adjoint that only reads the object, has changed what its `save()` gives in state i.
/// \throws nondeterminism_error
[[noreturn]] inline void refuse_changed_snapshot(step_index i) {
  refuse_replay("the seed or an adjoint that only reads the object has changed what its save() gives", {i, i, i}, {},
                "leave the library's adjoint out of the snapshot: restore(snapshot) would put an old one back; an "
                "adjoint that moves what is behind a handle takes the object by X&, not by X const&");
}

}  // namespace detail

}  // namespace cairn
