// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tape.hpp  The interface of a tool for automatic differentiation: one tape that is recorded, reversed and
/// recorded again.
#include <concepts>
#include <cstddef>
#include <cairn/core/wide.hpp>

namespace cairn {

/// A tool that records computations with its own scalar, and runs the record backwards. One recording is `begin(n)`, n
/// times `independent`, `record()`, the computation, `dependent` for each result, `end()`; then `reverse`, once or
/// more. The members:
/// - `scalar`: replaces double in the user's function; default-constructible, copyable, constructible from double
/// - `begin(count)`: discards the previous recording, and starts one with `count` independent variables
/// - `independent(v, value)`: v is the next independent variable; it does not move until `record()`
/// - `record()`: from here on, computations with independent variables are recorded
/// - `dependent(v)`: the present value of v is the next result. One variable may be several results, and may be an
///   independent variable; v may change or be destroyed after the call
/// - `end()`: ends the recording
/// - `reverse(seeds, bars)`: sets bars[k], of independent variable k, to the sum over all results j of seeds[j] times
///   the derivative of result j with respect to variable k. The seed of a result is added before the contributions of
///   the recording
/// - `abandon()`: ends a recording that an exception has interrupted, at any point after `begin`; does not throw
/// - `clear()`: frees the memory that the tool can free; a tool that keeps the memory of its longest recording says so
///   by `static constexpr bool keeps_memory = true`
/// - `bytes()`: bytes that the last recording and its reverse took, as the tool counts them
/// Tapes of one tool may be used in turns: `begin` throws while another recording of the tool is open, and `reverse` if
/// the recording is gone, because another tape has recorded since. A tool that threads cannot use at the same time also
/// has `hold()`: as long as the object that it returns lives, other threads wait in their `hold()`.
template <class Tape>
concept ad_tape =
    std::default_initializable<typename Tape::scalar> && std::copyable<typename Tape::scalar> &&
    std::constructible_from<typename Tape::scalar, double> &&
    requires(Tape& tape, Tape const& told, typename Tape::scalar& v, std::size_t count, double const* seeds,
             double* bars) {
      tape.begin(count);
      tape.independent(v, 1.0);
      tape.record();
      tape.dependent(v);
      tape.end();
      tape.reverse(seeds, bars);
      { tape.abandon() } noexcept;
      tape.clear();
      { told.bytes() } -> std::convertible_to<wide>;
    };

namespace detail {

/// What holds a tool for this thread, or nothing.
template <class Tape>
[[nodiscard]] auto hold_tool([[maybe_unused]] Tape& tape) {
  if constexpr (requires { tape.hold(); }) return tape.hold();
  else return false;
}

}  // namespace detail

/// A tape whose recording can be run again with other numbers, which costs less than recording. Has all of `ad_tape`,
/// and:
/// - `varies(v, value)`, between `begin` and `record()`: v is not an independent variable, but may have a different
///   value in a replay
/// - `replay(numbers)`: sets new values of the independent variables, followed by those of the varying numbers, each in
///   the order of their declaration; `reverse` then refers to the new values. Returns false if a comparison has a
///   different result than in the recording, which is then not valid for these numbers, or the recording is gone
/// - `replayed()`: the results of the last replay, in the order of `dependent`; valid until the next one or a recording
/// - `recordings()`: how many recordings were begun, which shows whether other code has used the tape
template <class Tape>
concept replaying_tape = ad_tape<Tape> && requires(Tape& tape, Tape const& told, typename Tape::scalar& v,
                                                   double const* numbers) {
  { tape.recordings() } -> std::convertible_to<wide>;
  tape.varies(v, 1.0);
  { tape.replay(numbers) } -> std::same_as<bool>;
  { told.replayed() } -> std::convertible_to<double const*>;
};

}  // namespace cairn
