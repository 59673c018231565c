#pragma once
/// \file stage.hpp  The stages of a chain, as functions: with a tape or without, alone or by number.
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/stage_shape.hpp>

namespace cairn {

/// A stage without a tape. Any type with such members, of whatever kind, is a stage: this one makes them of lambdas.
template <class Forward, class Backward>
struct stage {
  Forward forward;    ///< `y = forward(x)`
  Backward backward;  ///< `backward(x, bar)` or `backward(x, y, bar)`: bar, which belongs to y, is changed or the new
                      ///< one returned
};
/// Its types are those of what it is made of.
template <class Forward, class Backward>
stage(Forward, Backward) -> stage<Forward, Backward>;

/// A stage that keeps what its adjoint needs in a tape; the output lives in there, too. Any type with such members is
/// one.
template <class Forward, class Record, class Output, class Backward>
struct taped_stage {
  Forward forward;    ///< `y = forward(x)`
  Record record;      ///< `tape = record(x)`
  Output output;      ///< `output(tape)`: y inside the tape, by const reference, with the bits that `forward` gives
  Backward backward;  ///< `backward(tape, bar)`, a *self-contained* tape, or `backward(x, tape, bar)`; bar as of
                      ///< `stage`. May use the tape up
};
/// Its types are those of what it is made of.
template <class Forward, class Record, class Output, class Backward>
taped_stage(Forward, Record, Output, Backward) -> taped_stage<Forward, Record, Output, Backward>;

/// A chain of `count` stages that are one object, with states of one type. Its functions take the number of the stage
/// as a last argument: `forward(x, i)`, `backward(x, bar, i)` and so on; `output(tape)` does not.
template <class Stage>
struct indexed_stages {
  step_index count;  ///< L, >= 0
  Stage stage;       ///< with forward, backward and, where it records, record and output
};
/// Its type is that of the stage.
template <class Count, class Stage>
indexed_stages(Count, Stage) -> indexed_stages<Stage>;

/// A stage from a state of type X to the state behind it, whose adjoint is a Bar.
template <class Stage, class X, class Bar>
concept stage_of = detail::stage_reading<Stage, X, Bar>::shape.wrong == detail::stage_fault::none;

}  // namespace cairn
