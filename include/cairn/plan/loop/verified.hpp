// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file verified.hpp  A user's own schedule, checked before a sweep uses it.
#include <concepts>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/detail/plan_around.hpp>
#include <cairn/schedule/uniform.hpp>

namespace cairn {

/// Holds any type that is a `schedule`, for example a user's own, or a list of actions read from a file. The
/// constructor walks it once from beginning to end, so that a sweep cannot meet a flaw. A `verified` behaves like the
/// plan inside, and knows its totals from that walk.
/// Cost: one walk, with O(slots in use) memory for its duration; afterwards that of the plan inside.
template <class Plan>
class verified : public detail::plan_around<Plan> {
  using detail::plan_around<Plan>::plan_;
  static constexpr bool is_schedule = schedule<Plan>;
  static_assert(
      is_schedule,
      "cairn: a schedule needs steps(), slots(), leaf(), and walk() that gives a copyable cursor with next()");

 public:
  /// \throws invalid_schedule   with the number, range and slot of the first action that no executor could obey
  template <class Given>
  requires std::same_as<std::remove_cvref_t<Given>,
                        Plan>  // refuses types that merely convert to Plan, as a verified one converts to any_schedule
  constexpr verified(Given&& plan) : detail::plan_around<Plan>{std::forward<Given>(plan)}, counts_{checked(plan_)} {}

  /// Totals of the walk of the check.
  [[nodiscard]] constexpr schedule_counts counts() const noexcept { return counts_; }
  /// A cursor at the beginning, made by the plan inside.
  [[nodiscard]] constexpr decltype(auto) walk() const { return plan_.walk(); }

 private:
  [[nodiscard]] static constexpr schedule_counts checked(Plan const& plan) {
    if constexpr (!is_schedule) return {};
    else return detail::accepted(check(plan), "cairn::verified", "actions are counted from 0");
  }

  schedule_counts counts_;
};
/// Deduces the type of the plan.
template <class Plan>
verified(Plan) -> verified<Plan>;
static_assert(schedule<verified<uniform>>);

}  // namespace cairn
