#pragma once
/// \file planning_options.hpp  What planning may try, and what it says of planners that it did not use.
#include <cstdint>
#include <optional>
#include <cairn/core/action.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/schedule/detail/table_limit.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// What `plan_within`, `advise` and `pareto` may try.
struct planning_options {
  std::optional<planner> only = {};     ///< this planner; all that suit the workload where it is not given
  /// Leaves of this length, >= 1; any length where it is not given. Adjoints of one step have 1.
  std::optional<step_index> leaf = {};
  /// Steps times slots of tables; planners with larger ones get fewer slots, or are left out.
  wide most_table_cells = 200'000;
  wide most_table_bytes = detail::most_table_bytes;  ///< what one table may take
  work_limit limit = {};  ///< how much work one table may be; planners with more are left out, unless `stop` throws
};

/// Why a planner has no plan among those found.
enum class skip_reason : std::uint8_t {
  budget,  ///< its smallest plan does not fit
  table,   ///< its table would be too large
  work,    ///< its table would take too much work
  length   ///< it does not know its totals, and the loop is too long to walk
};

/// A planner without a plan.
struct skipped_planner {
  planner by = planner::revolve;             ///< which one
  skip_reason reason = skip_reason::budget;  ///< why
  wide least_bytes = 0;                      ///< that its smallest plan takes, for `skip_reason::budget`
};

}  // namespace cairn
