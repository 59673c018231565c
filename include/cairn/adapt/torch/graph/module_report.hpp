// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file module_report.hpp  Counts and the last plan of a module that runs within a limit.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <cstdint>
#include <string>
#include <cairn/plan/graph/graph_plan.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::libtorch {

/// Counts of the calls of a checkpointed module, and the plan of the last call.
struct ModuleReport {
  std::string notice;             ///< the last reason why a call could not be planned; empty if all were planned
  std::uint64_t captures = 0;     ///< calls that were captured or refused: one per kind of call
  std::uint64_t plans_made = 0;   ///< one per kind of call and limit
  std::int64_t predicted_peak = 0;   ///< of the plan: bytes of values, tapes, adjoints and work at one time
  std::int64_t plain_peak = 0;       ///< the same if everything is stored
  std::int64_t planning_peak = 0;    ///< most bytes that capturing and measuring took
  operation_graph graph;          ///< the operations with measured bytes and nanoseconds
  graph_plan plan;                ///< empty if the call was not planned

  /// How far the plan's time is above a lower bound for all plans within the limit, as a fraction of that bound: 0.02
  /// is 2 %.
  [[nodiscard]] double gap() const noexcept {
    auto const least = plan.lower_bound_time;
    return least > 0 ? double(plan.cost.makespan) / double(least) - 1 : 0;
  }
};

}  // namespace cairn::libtorch
