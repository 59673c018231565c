// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stage.hpp  The stages of a chain as functions: with or without a tape, single or numbered.
#include <cairn/core/action.hpp>
#include <cairn/door/detail/stage_shape.hpp>

namespace cairn {

/// A stage without a tape, made of two functions. Any type with such members is a stage.
template <class Forward, class Backward>
struct stage {
  Forward forward;    ///< `y = forward(x)`
  Backward backward;  ///< `backward(x, bar)` or `backward(x, y, bar)`: changes bar, the adjoint of y, or returns the
                      ///< new one
};
/// The members' types are those of the arguments.
template <class Forward, class Backward>
stage(Forward, Backward) -> stage<Forward, Backward>;

/// A stage that keeps in a tape what its adjoint needs; its output also lives in the tape. Any type with such members
/// is such a stage.
template <class Forward, class Record, class Output, class Backward>
struct taped_stage {
  Forward forward;    ///< `y = forward(x)`
  Record record;      ///< `tape = record(x)`
  Output output;      ///< `output(tape)`: a const reference to y inside the tape, bit by bit what `forward` returns
  Backward backward;  ///< `backward(tape, bar)` for a *self-contained* tape, or `backward(x, tape, bar)`; bar as in
                      ///< `stage`. May use up the tape
};
/// The members' types are those of the arguments.
template <class Forward, class Record, class Output, class Backward>
taped_stage(Forward, Record, Output, Backward) -> taped_stage<Forward, Record, Output, Backward>;

/// A chain of `count` stages in one object, with states of one type. Its functions take the stage's number as last
/// argument: `forward(x, i)`, `backward(x, bar, i)` and so on; only `output(tape)` does not.
template <class Stage>
struct indexed_stages {
  step_index count;  ///< L, >= 0
  Stage stage;       ///< with forward, backward and, if it records, record and output
};
/// The member's type is that of the argument.
template <class Count, class Stage>
indexed_stages(Count, Stage) -> indexed_stages<Stage>;

/// A stage from a state of type State to the next state, whose adjoint is a Bar.
template <class Stage, class State, class Bar>
concept stage_of = detail::stage_reading<Stage, State, Bar>::shape.wrong == detail::stage_fault::none;

}  // namespace cairn
