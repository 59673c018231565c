#pragma once
/// \file tape.hpp  What cairn asks of a tool for automatic differentiation: one tape that is recorded, reversed and
/// recorded anew.
#include <concepts>
#include <cstddef>
#include <cairn/core/wide.hpp>

namespace cairn {

/// A tool that records what is computed with its own scalar, and runs the record backwards. One recording is
/// `begin(n)`, n times `independent`, `record()`, the computation, `dependent` for each result, `end()`; then
/// `reverse`, once or more. What the members mean:
/// - `scalar`: stands for double in the user's function; default-constructible, copyable, made from double
/// - `begin(count)`: forgets the recording before, and starts one with `count` independent variables
/// - `independent(v, value)`: v, which stays where it is up to `record()`, is the next independent variable
/// - `record()`: from here on, what is computed with independent variables is recorded
/// - `dependent(v)`: the value that v has now is the next result; one variable may be several results, and may be an
///   independent variable; v may change or end behind the call
/// - `end()`: nothing more is recorded
/// - `reverse(seeds, bars)`: bars[k], of independent variable k, becomes the sum over all results j of seeds[j] times
///   the derivative of result j by variable k. The seed of a result is added up before what the recording adds to it
/// - `abandon()`: ends a recording that an exception has left, at any point behind `begin`; throws nothing
/// - `clear()`: gives back the memory that the tool gives back
/// - `bytes()`: that the last recording takes with what its reverse needed, as the tool counts them
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

/// A tape whose recording can be run again with other numbers, which costs less than to record. Beside what an
/// `ad_tape` has:
/// - `varies(v, value)`, between `begin` and `record()`: v is no independent variable, but another number in a replay
/// - `replay(numbers)`: the independent variables get new values, and behind them what varies, each in the order in
///   which it was named; `reverse` then is that of the new values. False where a comparison came out otherwise than in
///   the recording, which then does not hold for these numbers
/// - `recordings()`: how many were begun, from which it is seen that somebody else has used the tape
template <class Tape>
concept replaying_tape = ad_tape<Tape> && requires(Tape& tape, typename Tape::scalar& v, double const* numbers) {
  { tape.recordings() } -> std::convertible_to<wide>;
  tape.varies(v, 1.0);
  { tape.replay(numbers) } -> std::same_as<bool>;
};

}  // namespace cairn
