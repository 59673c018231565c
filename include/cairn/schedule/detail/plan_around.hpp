// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_around.hpp  What a plan says of itself that has another plan inside.
#include <utility>
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// Says what the plan inside says. A class made from it hides what it knows better.
template <class Plan>
class plan_around {
 public:
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
  /// See `cairn::has_slot_tiers`.
  [[nodiscard]] constexpr bool has_slot_tiers() const { return cairn::has_slot_tiers(plan_); }
  /// See `cairn::leaves_memory`.
  [[nodiscard]] constexpr bool leaves_memory() const { return cairn::leaves_memory(plan_); }
  /// See `cairn::slot_tier`.
  [[nodiscard]] constexpr tier slot_tier(slot_index slot) const { return cairn::slot_tier(plan_, slot); }
  [[nodiscard]] constexpr wide table_bytes() const { return table_bytes_of(plan_); }  ///< see `table_bytes_of`
  /// See `shared_table_bytes_of`.
  [[nodiscard]] constexpr wide shared_table_bytes() const { return shared_table_bytes_of(plan_); }
  [[nodiscard]] constexpr char const* remark() const { return remark_of(plan_); }  ///< see `remark_of`
  [[nodiscard]] constexpr Plan const& inner() const noexcept { return plan_; }  ///< the plan inside

 protected:
  constexpr explicit plan_around(Plan plan) : plan_{std::move(plan)} {}
  Plan plan_;
};

}  // namespace cairn::detail
