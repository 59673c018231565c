// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file refused_replay.hpp  The errors of a replay check.
#include <cairn/core/action.hpp>
#include <cairn/core/detail/first_difference.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

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
}  // namespace cairn::detail
