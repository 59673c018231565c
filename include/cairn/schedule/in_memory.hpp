// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file in_memory.hpp  A plan for several tiers, with all of them in memory.
#include <concepts>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/schedule/uniform.hpp>
#include <cairn/schedule/walked_counts.hpp>

namespace cairn {

/// The same plan with every state in memory, whatever tier it names: `gradient(step, x0, in_memory{plan}, ...)`.
/// Sweeps over the store in memory refuse a plan that names other tiers; this says that its states are wanted there,
/// and `estimate` then counts their bytes as memory.   Cost: that of the plan.
template <schedule Plan>
class in_memory {
 public:
  /// From the plan, and from nothing that converts to one: an `any_schedule` is made of anything.
  template <class From>
    requires std::same_as<std::remove_cvref_t<From>, Plan>
  constexpr explicit in_memory(From&& plan) : plan_{std::forward<From>(plan)} {}

  [[nodiscard]] constexpr step_index steps() const { return plan_.steps(); }  ///< loop length
  [[nodiscard]] constexpr slot_index slots() const { return plan_.slots(); }  ///< most states kept at once
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
  [[nodiscard]] constexpr wide table_bytes() const { return table_bytes_of(plan_); }  ///< see `table_bytes_of`
  /// See `shared_table_bytes_of`.
  [[nodiscard]] constexpr wide shared_table_bytes() const { return shared_table_bytes_of(plan_); }
  [[nodiscard]] constexpr char const* remark() const { return remark_of(plan_); }  ///< see `remark_of`
  [[nodiscard]] constexpr Plan const& inner() const noexcept { return plan_; }  ///< the plan inside
  /// The totals, all of them those of memory.
  [[nodiscard]] constexpr schedule_counts counts() const
    requires counted_schedule<Plan>
  {
    schedule_counts sum = plan_.counts();
    for (tier_counts& one : sum.tiers) one = {};
    sum.on(tier::memory) = {sum.saves, sum.loads, sum.peak_slots};
    return sum;
  }
  /// Whether the plan inside knows its totals in closed form.
  [[nodiscard]] constexpr bool is_counted() const
    requires counted_schedule<Plan>
  { return knows_counts(plan_); }

  /// The actions of the plan inside, with memory as the tier of each.
  class cursor {
   public:
    /// Made by the plan.
    constexpr explicit cursor(cursor_of<Plan> const& inside) : inside_{inside} {}
    [[nodiscard]] constexpr action next() {  ///< the next action
      action a = inside_.next();
      a.where = tier::memory;
      return a;
    }

   private:
    cursor_of<Plan> inside_;
  };
  [[nodiscard]] constexpr cursor walk() const { return cursor{plan_.walk()}; }  ///< a cursor at the start

 private:
  Plan plan_;
};
/// Deduces the type of the plan.
template <class Plan>
in_memory(Plan) -> in_memory<Plan>;
static_assert(schedule<in_memory<uniform>>);

}  // namespace cairn
