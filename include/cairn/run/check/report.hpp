// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file report.hpp  The results of `check_adjoint` and `check_gradient`.
#include <cstdint>
#include <string>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/text.hpp>
#include <cairn/detail/linkage.hpp>

namespace cairn {

/// The first fault found, or `none`.
enum class adjoint_fault : std::uint8_t {
  none,
  not_finite,              ///< a number of the state, of the adjoint or of the objective is infinite or NaN
  step_not_deterministic,  ///< two runs of a step from the same state differ
  stale_next_state,        ///< the result of `step(x, x1, i)` depends on what x1 held before
  adjoint_not_linear,      ///< the result of the adjoint is not linear in bar, or differs from call to call
  wrong_adjoint,           ///< a step's adjoint is not the transpose of its derivative
  wrong_gradient,          ///< the remainder of the whole gradient does not fall with the square of the distance
  /// Differences are too rough to decide, and a tangent would decide; or, if `left_alone` is true, a part of an array
  /// is either constant or forgotten by the adjoint, and no test can decide.
  undecided
};

/// Consecutive numbers of a state, in the order of `visit_numbers`, and the members of an aggregate that hold them.
struct number_range {
  std::int64_t first = 0;         ///< the first number
  std::int64_t size = 0;          ///< how many numbers
  /// The member that holds the first number, counted from 0; -1 if the state is not an aggregate.
  std::int64_t first_member = -1;
  std::int64_t last_member = -1;  ///< the member that holds the last number
};

/// The result of a check, in numbers and in words.
struct adjoint_report {
  adjoint_fault fault = adjoint_fault::none;  ///< the first fault
  step_index steps = 0;              ///< steps of the loop
  step_index steps_tested = 0;       ///< steps tested one by one
  step_index step = -1;              ///< the first wrong step, -1 if none is known
  double by_adjoint = 0;             ///< <adjoint(w), v> at that step
  double by_differences = 0;         ///< <w, derivative times v> at that step
  double relative_error = 0;         ///< the difference of the two, divided by the sum of the terms' magnitudes
  double resolution = 0;     ///< relative errors below this may be missed at the tested step with the least resolution
  std::int64_t number = -1;  ///< the number of the state that is worst at that step, or differs first, in the order of
                             ///< `visit_numbers`; -1 if not known
  /// The member of an aggregate state that holds this number, counted from 0; -1 if not known.
  std::int64_t member = -1;
  double number_by_adjoint = 0;      ///< its adjoint, as given
  double number_by_differences = 0;  ///< its adjoint, as it should be
  bool kink = false;  ///< undecided because the step's slopes on the two sides of the state differ
  int digits = 0;     ///< bits of the least precise floating-point numbers that are varied: 24 for float, 53 for double
  bool left_alone = false;           ///< the adjoint leaves that number alone: it may be a constant of the loop
  std::int64_t numbers = 0;          ///< floating-point numbers of the initial state
  std::vector<number_range> undifferentiated;  ///< numbers without a derivative: of members without an adjoint, of
                                               ///< named constants, and those below
  /// Numbers that were not named as constants: an adjoint that leaves them alone differs from the step, and the step
  /// makes them from no differentiated number. If their derivative is wanted, that adjoint is wrong.
  std::vector<number_range> taken_as_constants;
  bool linear = false;  ///< the Taylor remainder of the whole is only rounding, so it has no slope
  double slope = 0;     ///< of the Taylor remainder of the whole gradient: 2 if the gradient is right, 1 if it is
                        ///< wrong; 0 if linear or not measured
  std::uint64_t step_calls = 0;      ///< made by the check, without those of `gradient`

  [[nodiscard]] bool passed() const noexcept { return fault == adjoint_fault::none; }  ///< whether nothing is wrong
  /// The result in one line of text.
  [[nodiscard]] std::string text() const { return text_.c_str(); }

  /// Writes the line of text from the numbers.
  CAIRN_DECL void put_in_words(char const* who);

 private:
  CAIRN_DECL void say_fault();
  detail::text<1400> text_;
};

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/run/check/impl/report.ipp>
#endif
