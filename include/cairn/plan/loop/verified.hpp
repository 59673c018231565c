// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file verified.hpp  A user's own schedule, checked before a sweep uses it.
#include <concepts>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/uniform.hpp>

namespace cairn {

/// Holds any type that is a `schedule`, for example a user's own, or a list of actions read from a file. The
/// constructor walks it once from beginning to end, so that a sweep cannot meet a flaw. A `verified` behaves like the
/// plan inside, and knows its totals from that walk.
/// Cost: one walk, with O(slots in use) memory for its duration; afterwards that of the plan inside.
template <class Plan>
class verified {
  static constexpr bool is_schedule = schedule<Plan>;
  static_assert(
      is_schedule,
      "cairn: a schedule needs steps(), slots(), leaf(), and walk() that gives a copyable cursor with next()");

 public:
  /// \throws invalid_schedule   with the number, range and slot of the first action that no executor could obey
  template <class Given>
  requires std::same_as<std::remove_cvref_t<Given>,
                        Plan>  // refuses types that merely convert to Plan, as a verified one converts to any_schedule
  constexpr verified(Given&& plan) : plan_{std::forward<Given>(plan)}, counts_{checked(plan_)} {}

  [[nodiscard]] constexpr step_index steps() const { return plan_.steps(); }  ///< loop length
  [[nodiscard]] constexpr slot_index slots() const { return plan_.slots(); }  ///< states kept at once
  [[nodiscard]] constexpr step_index leaf() const { return plan_.leaf(); }  ///< the most steps of one `reverse`
  [[nodiscard]] constexpr slot_index tapes() const { return tapes_of(plan_); }  ///< see `tapes_of`
  /// See `cairn::tapes_restart`.
  [[nodiscard]] constexpr bool tapes_restart() const { return cairn::tapes_restart(plan_); }
  [[nodiscard]] constexpr bool runs_ahead() const { return cairn::runs_ahead(plan_); }  ///< see `cairn::runs_ahead`
  /// See `cairn::learns_length`.
  [[nodiscard]] constexpr bool learns_length() const { return cairn::learns_length(plan_); }
  [[nodiscard]] constexpr reserved_memory reserved() const { return reserved_of(plan_); }  ///< see `reserved_of`
  [[nodiscard]] constexpr wide units() const { return units_of(plan_).units; }  ///< see `units_of`
  [[nodiscard]] constexpr wide tape_units() const { return units_of(plan_).tape_units; }  ///< see `units_of`
  /// See `cairn::initial_is_free`.
  [[nodiscard]] constexpr bool initial_is_free() const { return cairn::initial_is_free(plan_); }
  /// See `cairn::is_checkpoint`.
  [[nodiscard]] constexpr bool is_checkpoint(step_index i) const { return cairn::is_checkpoint(plan_, i); }
  /// See `cairn::has_slot_tiers`.
  [[nodiscard]] constexpr bool has_slot_tiers() const { return cairn::has_slot_tiers(plan_); }
  /// See `cairn::leaves_memory`.
  [[nodiscard]] constexpr bool leaves_memory() const { return cairn::leaves_memory(plan_); }
  /// See `cairn::slot_tier`.
  [[nodiscard]] constexpr tier slot_tier(slot_index slot) const { return cairn::slot_tier(plan_, slot); }
  [[nodiscard]] constexpr wide table_bytes() const { return table_bytes_of(plan_); }  ///< see `table_bytes_of`
  [[nodiscard]] constexpr char const* remark() const { return remark_of(plan_); }  ///< see `remark_of`
  /// See `shared_table_bytes_of`.
  [[nodiscard]] constexpr wide shared_table_bytes() const { return shared_table_bytes_of(plan_); }
  /// Totals of the walk of the check.
  [[nodiscard]] constexpr schedule_counts counts() const noexcept { return counts_; }
  [[nodiscard]] constexpr Plan const& inner() const noexcept { return plan_; }  ///< the plan inside
  /// A cursor at the beginning, made by the plan inside.
  [[nodiscard]] constexpr decltype(auto) walk() const { return plan_.walk(); }

 private:
  [[nodiscard]] static constexpr schedule_counts checked(Plan const& plan) {
    if constexpr (!is_schedule) return {};
    else return detail::accepted(check(plan), "cairn::verified", "actions are counted from 0");
  }

  Plan plan_;
  schedule_counts counts_;
};
/// Deduces the type of the plan.
template <class Plan>
verified(Plan) -> verified<Plan>;
static_assert(schedule<verified<uniform>>);

}  // namespace cairn
