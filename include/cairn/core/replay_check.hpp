#pragma once
/// \file replay_check.hpp  What a sweep compares when it runs a state again, and how to ask for it.
#include <cstdint>
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/frames_needed.hpp>

namespace cairn {

/// Whether a sweep compares a state that it runs again with the first one: a step that reads or changes what is not in
/// the state gives gradients that depend on the number of slots, and nothing else tells.
/// States are compared by a hash of 64 bits over their bytes, so that -0.0 differs from 0.0 and one NaN from another.
/// Of a plan whose leaves begin elsewhere than at multiples of their length `checkpoints` compares the states at such
/// multiples alone.
enum class replay_check : std::uint8_t {
  off,          ///< compare nothing
  checkpoints,  ///< at the end of everything that is run again, and what comes back from a slot. Names a range of steps
  every_step  ///< every state that is run again. Names the first step that differs; 8 bytes a step, up to 16 of a loop
              ///< of unknown length
};

/// Options of a sweep: the last argument of the verbs, or of `workspace_for`.
/// `{.verify = cairn::replay_check::checkpoints}` is what the first run of every new program should have.
struct sweep_options {
  replay_check verify = replay_check::off;  ///< what is compared when states are run again
  /// Where an object is when the sweep is over; alone it is an option by itself: `cairn::object_ends::at_final`.
  object_ends object = object_ends::anywhere;
};

/// No options: a sweep with it is the same instructions as one that knows of none.
struct no_options {};

/// What of a sweep decides how much memory its replay check takes.
struct replay_check_needs {
  step_index steps = 0;     ///< loop length n
  slot_index slots = 0;     ///< of the plan
  slot_index tapes = 0;     ///< of the plan; see `tapes_of`
  bool keeps_run = false;   ///< `checkpointed_loop` and `checkpointed_while`, which can be reversed again
  bool learns_length = false;  ///< `checkpointed_while`, which finds out on the way that the loop has `steps` steps
};

namespace detail {

/// The hash of the state in which the steps of the next adjoint call end, 0 where it is not known: for adjoints that
/// run these steps again.
struct end_hash {
  std::uint64_t value = 0;
};
template <class Adjoint>
concept takes_end_hash = requires(Adjoint& adjoint, end_hash end) { adjoint.ends_in(end); };

template <class T> inline constexpr bool is_options = std::is_same_v<std::remove_cvref_t<T>, sweep_options>;
/// What may stand where options are due.
template <class T> inline constexpr bool is_object_end = std::is_same_v<std::remove_cvref_t<T>, object_ends>;
template <class T> inline constexpr bool is_setting = is_options<T> || is_object_end<T>;
/// The options that a workspace needs for it.
template <class T>
using workspace_options = std::conditional_t<is_options<T>, std::remove_cvref_t<T>, no_options>;

/// Sizes of what the ledger keeps; asserted where it is defined.
inline constexpr wide bytes_a_noted_state = 16, bytes_a_hash = 8;
/// States of which the ledger knows the hash, for so many places where states are kept: one in each gap between them is
/// needed, and the more there is room beyond that, the more seldom the others are sorted out.
[[nodiscard]] constexpr wide noted_states(wide places) noexcept { return 2 * places + 8; }
/// Hashes that a loop of unknown length has room for at first; it gets twice as many each time that there are more
/// states.
inline constexpr wide first_hashes = 64;
/// Slots, tapes, and the initial state.
[[nodiscard]] constexpr wide replay_places(slot_index slots, slot_index tapes) noexcept {
  return wide(slots) + wide(tapes) + 1;
}

}  // namespace detail

/// Bytes on the heap that the check of one sweep takes: with `checkpoints` 48 a slot, twice that for a run that is
/// kept; with `every_step` 8 a step. Hashing a state takes none, and that of an object as long as one snapshot of it
/// beside. A loop of unknown length has a table of 512 bytes, which doubles as it grows and is never moved: up to 16
/// bytes a step. `estimate` adds this where `workload::verify` asks for a check.
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

}  // namespace cairn
