// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tier_plan.hpp  What `hrevolve`, `multistage` and `disk_revolve` have in common.
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/schedule/detail/shared.hpp>
#include <cairn/schedule/detail/tier_cursor.hpp>
#include <cairn/schedule/detail/tier_table.hpp>

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

}  // namespace cairn::detail
