// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file reversal_report.hpp  How far states that a step's inverse made are from those that the step made.
#include <cstdint>
#include <optional>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// What one reversal of a loop with a `reversible` step did; filled in anew by each.
struct reversal_report {
  /// How far states that were made backwards are from those that the step made: four times the largest difference at the
  /// first state of a segment, where one is held, of a number relative to the largest number of the states at the two ends
  /// of the segment and of some eight in between. The factor is for the states in between, which nobody sees: it has been
  /// enough in hundreds of random loops, and proves nothing.
  double drift = 0;
  step_index drift_at = -1;       ///< the number of that state; -1 if nothing differs
  std::int64_t drift_number = -1; ///< the number in it, in the order of `visit_numbers`; -1 if nothing differs
  step_index segments = 0;        ///< segments of two or more steps, each compared at its first state
  wide steps_again = 0;           ///< steps that ran again inside segments, for their kept parts; not in `step_calls`
  wide steps_back = 0;            ///< calls of `back`
  step_index most_kept = 0;       ///< most kept parts at once
  wide kept_bytes = 0;            ///< most bytes of them; `unknown_bytes` if their type does not tell
};

/// What is asked of a `reversible` step.
struct reversible_options {
  /// The largest drift that is allowed, see `reversal_report::drift`; a sweep with more throws `reversal_error`. By
  /// default the square root of the rounding unit of the least precise numbers of the state: 1.5e-8 for double, 3.5e-4
  /// for float.
  std::optional<double> drift = {};
  /// The inverse is exact: a state that is made backwards has the bits of the one that is held, by their hashes.
  bool exact = false;
  /// Hold the kept parts of all steps from the forward run on, whatever the segments of the plan: no step runs again,
  /// and checkpoints only bound the drift. Otherwise those of one segment.
  bool keep_all = false;
  reversal_report* report = nullptr;  ///< filled in, if given; must outlive the sweeps
};

/// A state that was made backwards is not the state that is held there: `back` is not the inverse of the step, or
/// rounding has grown. Thrown by the sweep at the end of the segment, whose adjoints are then worth nothing.
struct reversal_error : error {
  using error::error;
  double drift = 0;          ///< see `reversal_report::drift`; infinite if not only numbers differ
  step_index state = 0;      ///< the number of that state, the first of its segment
  step_index last = 0;       ///< the number of the state from which the segment went backwards
  std::int64_t number = -1;  ///< the number in the state that differs most, in the order of `visit_numbers`
};

}  // namespace cairn
