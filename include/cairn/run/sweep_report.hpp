// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep_report.hpp  What a sweep did and took, beside what was predicted.
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// One of the last arguments of a verb, filled in when its sweep ends: the plan that a budget chose, and its bytes.
struct sweep_report {
  step_index steps = 0;      ///< loop length n
  slot_index slots = 0;      ///< slots of the plan
  wide step_calls = 0;       ///< calls of the step, or of `record`
  wide predicted_bytes = 0;  ///< most bytes at once, as counted before any step ran
  wide state_bytes = 0;      ///< most bytes of states at once, as counted during the sweep
};

namespace detail {
template <class T> inline constexpr bool is_report = std::is_same_v<std::remove_cvref_t<T>, sweep_report>;
}  // namespace detail

}  // namespace cairn
