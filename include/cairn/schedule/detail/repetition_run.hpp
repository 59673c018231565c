// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file repetition_run.hpp  The repetition numbers of loops of increasing length.
#include <cairn/core/action.hpp>
#include <cairn/schedule/binomial.hpp>

namespace cairn::detail {

/// `repetitions(x, slots)` for x that never decreases, at one comparison each: the number rises where x passes
/// beta(slots, t). It is also the number of advances that one more step adds, because the fewest advances are the sum
/// of max(0, x - beta(slots, t)) over all t >= 0.   \pre slots >= 1
class repetition_run {
 public:
  /// \param longest  the largest x of any call
  constexpr repetition_run(slot_index slots, step_index longest) noexcept : slots_{slots}, longest_{longest} {}
  [[nodiscard]] constexpr step_index at(step_index x) noexcept {
    while (beta_ < x) beta_ = capped_beta(slots_, ++t_, longest_);
    return t_;
  }

 private:
  slot_index slots_;
  step_index longest_;
  step_index t_ = 0;
  step_index beta_ = 1;  // beta(slots, t)
};

}  // namespace cairn::detail
