#pragma once
/// \file module_report.hpp  What became of the calls of a module that runs within a limit.
#include <cstdint>
#include <string>
#include <cairn/core/operation_graph.hpp>
#include <cairn/plan/graph/graph_plan.hpp>

namespace cairn::libtorch {

/// What is known of the calls of a checkpointed module, and of the plan of the last one.
struct ModuleReport {
  std::string notice;             ///< why calls could not be planned, the newest reason; empty where all could
  std::uint64_t captures = 0;     ///< calls that were captured, or refused: one for each kind of call
  std::uint64_t plans_made = 0;   ///< one for each kind of call and limit
  std::int64_t predicted_peak = 0;   ///< bytes of values, tapes, adjoints and work at once, by the plan
  std::int64_t plain_peak = 0;       ///< the same where everything is stored
  std::int64_t planning_peak = 0;    ///< bytes that capturing and measuring took, once
  operation_graph graph;          ///< the operations as they were measured: bytes and nanoseconds
  graph_plan plan;                ///< empty where the call was not planned

  /// How far the plan's time is from what none within the limit goes below, by that: 0.02 are 2 %.
  [[nodiscard]] double gap() const noexcept {
    auto const least = plan.lower_bound_time;
    return least > 0 ? double(plan.cost.makespan) / double(least) - 1 : 0;
  }
};

}  // namespace cairn::libtorch
