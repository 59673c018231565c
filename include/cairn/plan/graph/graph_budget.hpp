// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_budget.hpp  A memory budget in the place of a plan for a graph.
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <cairn/core/byte_budget.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/graph/graph_plan.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn {

/// A memory budget that takes the place of the plan in `graph_gradient`. The first run measures the graph and plans it;
/// later runs obey that plan as long as the graph, with all that is known before it is measured, stays the same. If the
/// counted peak of a run differs from that of the first run, its values have other sizes, and the plan is forgotten
/// after it. For one thread at a time.
class graph_budget {
 public:
  using clock = std::chrono::steady_clock;  ///< measures the graph

  /// \param budget  a size, "512MiB", or a number of bytes   \param options  of the planner
  explicit graph_budget(byte_budget budget, graph_options options = {}) : budget_{budget}, options_{options} {}

  /// The plan that runs obey.   \throws invalid_call   if there is none yet
  [[nodiscard]] graph_plan const& plan() const { return kept().plan; }
  /// The sizes and times that the plan was made from.   \throws invalid_call   if there are none yet
  [[nodiscard]] operation_graph const& measured() const { return kept().measured; }
  /// How often a graph was measured and planned.
  [[nodiscard]] std::int64_t plans() const noexcept { return plans_; }
  /// Forgets the plan: the next run measures and plans again, as after inputs of another size.
  void forget() noexcept { known_.reset(); }

  /// Whether there is a plan for a graph. Called by `graph_gradient`.   \param declared  the graph before it is measured
  [[nodiscard]] bool has_plan_for(operation_graph const& declared) const {
    return known_ && known_->declared == declared;
  }
  /// Plans a graph. Called by `graph_gradient`.   \param measured  the same graph with its sizes and times
  /// \throws infeasible_budget, too_much_work, invalid_plan, overflow_error   as `graph_planner`
  void plan_for(operation_graph declared, operation_graph measured) {
    known_.reset();
    graph_plan plan = graph_planner{measured, options_}.plan(budget_);
    known_.emplace(std::move(declared), std::move(measured), std::move(plan));
    ++plans_;
  }
  /// Compares the counted peak of a run by the plan with that of the first one. Called by `graph_gradient`.
  void ran(std::int64_t counted_peak) noexcept {
    if (!known_) return;
    if (known_->counted_peak < 0) known_->counted_peak = counted_peak;
    if (known_->counted_peak != counted_peak) forget();
  }

 private:
  struct known {
    known(operation_graph of, operation_graph sizes, graph_plan made)
        : declared{std::move(of)}, measured{std::move(sizes)}, plan{std::move(made)} {}
    operation_graph declared, measured;
    graph_plan plan;
    std::int64_t counted_peak = -1;  ///< of the first run; -1 before it
  };
  [[nodiscard]] known const& kept() const {
    if (!known_)
      throw invalid_call{"cairn::graph_budget", "no run has been planned yet", {},
                         "pass it to cairn::graph_gradient in place of a plan first"};
    return *known_;
  }

  byte_budget budget_;
  graph_options options_;
  std::optional<known> known_;
  std::int64_t plans_ = 0;
};

}  // namespace cairn
