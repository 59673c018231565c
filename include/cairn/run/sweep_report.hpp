// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep_report.hpp  What a sweep did and took, beside what was predicted.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// One of the last arguments of a verb, filled in when its sweep ends: the plan that a budget chose, and its bytes.
/// That of a run that is kept must outlive it, and is filled in again by each reverse.
struct sweep_report {
  step_index steps = 0;      ///< loop length n; for a chain its stages, for a graph its operations
  slot_index slots = 0;      ///< slots of the plan; 0 for chains and graphs
  wide step_calls = 0;       ///< calls of the step, or of `record`
  wide predicted_bytes = 0;  ///< most bytes at once, as counted before any step ran; 0 if they cannot be
  wide state_bytes = 0;      ///< most bytes of states at once, as counted during the sweep; for chains and graphs
                             ///< those of tapes and adjoints, too
};

namespace detail {
template <class T> inline constexpr bool is_report = std::is_same_v<std::remove_cvref_t<T>, sweep_report>;

/// An observer that fills in a report, around the caller's.   \tparam Given  a reference if the caller keeps it
template <class Given>
class reporting {
 public:
  using Observer = std::remove_reference_t<Given>;
  static constexpr bool reports = true;
  template <class From>
  reporting(From&& observer, sweep_report& into) : observer_{std::forward<From>(observer)}, report_{&into} {}
  void operator()(event const& e) {
    if (e.moment() == moment::after) {
      if (wide const held = e.bytes_held(); held > report_->state_bytes) report_->state_bytes = held;
      work_ += e.what();
    }
    if constexpr (!std::is_same_v<std::remove_cv_t<Observer>, no_observer>) observer_(e);
  }
  [[nodiscard]] static std::int64_t clock_now()
    requires requires { { Observer::clock_now() } -> std::convertible_to<std::int64_t>; }
  {
    return Observer::clock_now();
  }
  void ends(step_index steps, slot_index slots, wide step_calls) noexcept {
    report_->steps = steps, report_->slots = slots, report_->step_calls = step_calls;
  }
  [[nodiscard]] wide runs() const noexcept { return work_.runs; }  ///< of steps or stages, as actions count them

 private:
  [[no_unique_address]] Given observer_;
  sweep_report* report_;
  sweep_work work_{};
};
/// The bytes that a plan says its sweep holds at its peak; 0 if it does not say.
template <class Plan>
[[nodiscard]] wide predicted_peak(Plan const& plan) {
  if constexpr (requires { wide(plan.cost.peak); }) return wide(plan.cost.peak);
  else return 0;
}
/// Notes the end of a sweep, if its observer fills in a report.
template <class Observer>
void end_report([[maybe_unused]] Observer& observer, [[maybe_unused]] step_index steps,
                [[maybe_unused]] slot_index slots, [[maybe_unused]] wide step_calls) noexcept {
  if constexpr (requires { Observer::reports; }) observer.ends(steps, slots, step_calls);
}
}  // namespace detail

}  // namespace cairn
