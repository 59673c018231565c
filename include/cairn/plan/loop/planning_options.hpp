// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file planning_options.hpp  What planning may try, and why it skipped a planner.
#include <cstdint>
#include <optional>
#include <cairn/core/action.hpp>
#include <cairn/core/behind_options.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// What `plan_within`, `advise` and `pareto` may try.
struct planning_options {
  std::optional<planner> only = {};     ///< use only this planner; by default all that suit the workload
  /// Leaves of this length, >= 1; by default any length. Adjoints of one step have leaf 1.
  std::optional<step_index> leaf = {};
  /// Most cells (steps times slots) of a table; planners that need more get fewer slots or are skipped.
  wide most_table_cells = 200'000;
  wide most_table_bytes = detail::most_table_bytes;  ///< most bytes of one table
  work_limit limit = {};  ///< most work for one table; planners that need more are skipped, unless `stop` throws
  /// 2: the sweep may be given `parallel`. The budget is then divided between slots and states ahead, too, for plans in
  /// memory, by the times of the workload, which must be given.
  int threads = 1;
  /// The store of far states is `behind` the sweep, which does not wait for transfers that steps can hide; the states
  /// that it takes for that are in the budget.
  std::optional<behind_options> behind = {};
};

/// Why a planner has no plan in the result.
enum class skip_reason : std::uint8_t {
  budget,  ///< its smallest plan does not fit
  table,   ///< its table would be too large
  work,    ///< its table would take too much work
  length   ///< the planner does not know its totals, and the loop is too long to walk
};

/// A planner without a plan.
struct skipped_planner {
  planner by = planner::revolve;             ///< the planner
  skip_reason reason = skip_reason::budget;  ///< the reason
  wide least_bytes = 0;                      ///< bytes of its smallest plan, for `skip_reason::budget`
};

}  // namespace cairn
