// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file recorded.hpp  An adjoint in two parts: one records a step, the other reverses the record.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cairn/core/detail/kept_as.hpp>

namespace cairn {

/// An adjoint that records a step and then reverses the record: `tape = record(x[, i])` advances x by one step;
/// `reverse(tape, bar[, i])` changes bar or returns the new one. Plans that restart from tapes also need `x1 =
/// restart(tape)`: the state at the end of the recorded step, bit by bit as the step made it. It is a value, or a
/// reference to a state inside the tape. Lvalues are kept by reference, see `hooked`.
template <class Record, class Reverse, class Restart = void>
struct recorded {
  Record record;  ///< `tape = record(x[, i])`
  Reverse reverse;  ///< `reverse(tape, bar[, i])`
  Restart restart;  ///< `x1 = restart(tape)`
};
/// Without a way to restart from a tape.
template <class Record, class Reverse>
struct recorded<Record, Reverse, void> {
  Record record;  ///< `tape = record(x[, i])`
  Reverse reverse;  ///< `reverse(tape, bar[, i])`
};
/// The members' types are those of the arguments: references to lvalues, values of rvalues.
template <class Record, class Reverse>
recorded(Record&&, Reverse&&) -> recorded<detail::kept_as<Record>, detail::kept_as<Reverse>>;
/// The same with a third part.
template <class Record, class Reverse, class Restart>
recorded(Record&&, Reverse&&, Restart&&)
    -> recorded<detail::kept_as<Record>, detail::kept_as<Reverse>, detail::kept_as<Restart>>;

}  // namespace cairn
