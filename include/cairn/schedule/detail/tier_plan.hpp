// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tier_plan.hpp  What `hrevolve`, `multistage` and `disk_revolve` have in common.
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/detail/shared.hpp>
#include <cairn/schedule/detail/tier_cursor.hpp>
#include <cairn/schedule/detail/tier_table.hpp>
#include <cairn/schedule/storage_tier.hpp>

namespace cairn::detail {

/// A plan over several tiers. Its choices are in a table that it shares with its copies and cursors.
class tier_plan {
 public:
  using cursor = tier_cursor;  ///< the cursor

  [[nodiscard]] step_index steps() const noexcept { return table_->of.steps; }  ///< loop length
  /// Slots on all tiers, no more than can be used; on an unlimited disk the most that are in use at once.
  [[nodiscard]] slot_index slots() const noexcept { return table_->of.slots(); }
  [[nodiscard]] step_index leaf() const noexcept { return 1; }  ///< steps of one `reverse`
  /// The tier of a slot; the slots of the cheapest tier come first.
  [[nodiscard]] tier slot_tier(slot_index slot) const noexcept { return table_->of.tier_of(slot); }
  /// Bytes that a cursor allocates.
  [[nodiscard]] wide table_bytes() const noexcept { return cursor::bytes(table_->of); }
  /// Bytes of the table that copies and cursors share.
  [[nodiscard]] wide shared_table_bytes() const noexcept { return table_->bytes(); }
  [[nodiscard]] cursor const& walk() const noexcept { return start_; }  ///< the start; valid as long as the plan

 protected:
  explicit tier_plan(tier_table&& of) : table_{new shared_tier_table{std::move(of)}}, start_{table_} {}

 private:
  shared<shared_tier_table> table_;
  cursor start_;
};

/// The table of a plan whose steps, saves and loads have costs.
struct costed_table {
  tier_table table;
  double cost = 0, turns = 0;  ///< without turns, and of turns

  /// \throws overflow_error   if the cost exceeds a double
  void add_turns(char const* who, step_index steps, double turn_cost) {
    turns = double(steps) * turn_cost;
    if (!is_cost(cost + turns))
      throw overflow_error{who, "the cost of this plan is too large for a double", {{"steps", steps}},
                           "give the costs in a larger unit"};
  }
};

/// A plan over several tiers with costs.
class costed_tier_plan : public tier_plan {
 public:
  /// The cost of a sweep: the sum over advances, saves and loads, and turns.
  [[nodiscard]] double cost() const noexcept { return cost_ + turns_; }
  /// The cost without turns, as many papers count.
  [[nodiscard]] double cost_without_turns() const noexcept { return cost_; }

 protected:
  explicit costed_tier_plan(costed_table&& of)
      : tier_plan{std::move(of.table)}, cost_{of.cost}, turns_{of.turns} {}

 private:
  double cost_, turns_;
};

}  // namespace cairn::detail
