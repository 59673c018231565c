// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file hrevolve.hpp  The cheapest schedule over storage tiers with costs of writing and reading.
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/tier_plan.hpp>
#include <cairn/schedule/storage_tier.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// Further costs of a `hrevolve`, in the unit of its tiers' costs.
struct hrevolve_options {
  double advance_cost = 1;  ///< cost of one unrecorded step, finite and >= 0
  double turn_cost = 0;  ///< cost of one recorded step and of its adjoint, finite and >= 0
  wide most_table_bytes = detail::most_table_bytes;  ///< most bytes allocated while the plan is made
  work_limit limit = {};  ///< most work to make the plan
};

/// The schedule of least cost over up to four tiers, each with slots and costs of writing and reading a state (Herrmann
/// & Pallez 2020, H-Revolve; the recurrence is in hrevolve.ipp). The initial state takes a slot.
///
/// Tiers may be given in any order. If, of every two tiers, one is no dearer than the other both to write and to read,
/// the tiers are used in this order, and no schedule costs less: exhaustive search confirms it in each of 10,000 small
/// cases. If one of two tiers is cheaper to write and the other cheaper to read, all orders that the other pairs allow
/// are tried and the cheapest plan is taken; `tiers_are_ordered()` is then false. A plan that nests these two in
/// different orders at different places may be cheaper: 3 of 1,388 were, with 8 to 12 steps, by 1 % or less. Tiers that
/// cannot lower the cost are left out, see `dropped_tiers()`.
///
/// With n steps and c slots: O(n^2 c) time at worst, in practice about 1,400 sums for each of the n c numbers at n =
/// 10,000; 4 n c bytes for the plan and 32 n more while it is made. A first tier without costs needs no table. A cursor
/// allocates `table_bytes()` at its first action; an action is O(1).
class hrevolve : public detail::costed_tier_plan {
 public:
  /// \param steps  loop length, >= 0   \param tiers  1 to 4
  /// \throws invalid_plan   also if the table exceeds `most_table_bytes`   \throws too_much_work
  /// \throws overflow_error   if the cost exceeds a double
  hrevolve(step_index steps, std::initializer_list<storage_tier> tiers, hrevolve_options const& options = {})
      : hrevolve{steps, tiers.begin(), tiers.size(), options} {}
  /// The same with an array of tiers.   \throws invalid_plan   \throws overflow_error
  hrevolve(step_index steps, storage_tier const* tiers, std::size_t count, hrevolve_options const& options = {})
      : hrevolve{made(steps, tiers, count, options)} {}

  /// The tiers in use, cheapest first, by their positions among those given.
  [[nodiscard]] tier_positions const& tier_order() const noexcept { return order_; }
  /// The tiers that are not used: those without slots, and those that cannot lower the cost because tiers that are no
  /// dearer have slots for every state.
  [[nodiscard]] tier_positions const& dropped_tiers() const noexcept { return dropped_; }
  /// Whether the tiers in use have an order in which none is cheaper to write or to read than one before it. If so, no
  /// schedule costs less; otherwise a plan without a fixed order of nesting may cost less.
  [[nodiscard]] bool tiers_are_ordered() const noexcept { return ordered_; }
  /// How the plan's use of the tiers differs from the order given, in a sentence with static storage; empty if it does
  /// not.
  [[nodiscard]] char const* remark() const noexcept {
    bool const dropped = !dropped_.empty();
    if (!ordered_) {
      if (!dropped) return "one tier is cheaper to write and one to read: the best order is taken";
      return "a tier that cannot lower the cost is not used; of the others, one is cheaper to write and one to read: "
             "the best order is taken";
    }
    for (std::size_t k = 1; k < order_.size(); ++k)
      if (order_[k] < order_[k - 1])
        return dropped
                   ? "a tier that cannot lower the cost is not used; the others are used in the order of their costs"
                   : "the tiers are used in the order of their costs, not in the order given";
    return dropped ? "a tier that cannot lower the cost is not used" : "";
  }

 private:
  struct parts : detail::costed_table {
    tier_positions order, dropped;
    bool ordered = true;
  };
  explicit hrevolve(parts&& of)
      : costed_tier_plan{std::move(of)}, order_{of.order}, dropped_{of.dropped}, ordered_{of.ordered} {}

  static constexpr char const* who = "cairn::hrevolve";

  [[nodiscard]] CAIRN_DECL static parts made(step_index steps, storage_tier const* given, std::size_t count,
                                             hrevolve_options const& options);
  CAIRN_DECL static void lay_out(detail::tier_table& table, step_index steps, detail::tier_set const& tiers,
                                 tier_positions const& order);

  tier_positions order_, dropped_;
  bool ordered_;
};
static_assert(schedule<hrevolve>);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/schedule/impl/hrevolve.ipp>
#endif
