// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file in_memory.hpp  A plan for several tiers, with all of them in memory.
#include <concepts>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/schedule/detail/plan_around.hpp>
#include <cairn/schedule/uniform.hpp>
#include <cairn/schedule/walked_counts.hpp>

namespace cairn {

/// The same plan with every state in memory, whatever tier it names: `gradient(step, x0, in_memory{plan}, ...)`.
/// Sweeps over the store in memory refuse a plan that names other tiers; this says that its states are wanted there,
/// and `estimate` then counts their bytes as memory.   Cost: that of the plan.
template <schedule Plan>
class in_memory : public detail::plan_around<Plan> {
  using detail::plan_around<Plan>::plan_;

 public:
  /// From the plan, and from nothing that converts to one: an `any_schedule` is made of anything.
  template <class From>
    requires std::same_as<std::remove_cvref_t<From>, Plan>
  constexpr explicit in_memory(From&& plan) : detail::plan_around<Plan>{std::forward<From>(plan)} {}

  [[nodiscard]] static constexpr bool has_slot_tiers() noexcept { return false; }  ///< all are memory
  [[nodiscard]] static constexpr bool leaves_memory() noexcept { return false; }   ///< never
  [[nodiscard]] static constexpr tier slot_tier(slot_index) noexcept { return tier::memory; }  ///< of each slot

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
};
/// Deduces the type of the plan.
template <class Plan>
in_memory(Plan) -> in_memory<Plan>;
static_assert(schedule<in_memory<uniform>>);

}  // namespace cairn
