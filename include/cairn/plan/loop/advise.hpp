// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file advise.hpp  The cheapest plan over all planners and tiers, with the alternatives.
#include <vector>
#include <cairn/core/bytes.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>
#include <cairn/rules/workload.hpp>

namespace cairn {

/// The plan to take, and the alternatives; `advice_text` puts it in words.
struct advice {
  planned best;                          ///< the cheapest plan; of equally cheap ones the one with the fewest bytes
  std::vector<planned> runners_up;       ///< the best plan of each other planner, the cheapest first
  std::vector<skipped_planner> skipped;  ///< planners that suit the workload but have no plan, with the reason
  /// How much more the next plan takes than the best, as a fraction of the best plan's seconds (of its step calls if
  /// the workload has no times); 0 if there is no next plan.
  [[nodiscard]] double lead() const noexcept {
    if (runners_up.empty()) return 0;
    bool const timed = best.cost.seconds > 0;
    double const least = timed ? best.cost.seconds : double(best.cost.steps_run());
    double const next = timed ? runners_up.front().cost.seconds : double(runners_up.front().cost.steps_run());
    return least > 0 ? next / least - 1 : 0;
  }
};

/// The plan with the fewest predicted seconds within `budget` bytes of memory and the tiers of the workload (see
/// `workload::tiers`). It is the best of store-all, uniform, Revolve, mixed (if the adjoint records), segments (if the step runs
/// backwards, see `workload::reversible`) and, if there is a
/// tier besides memory, two-level, H-Revolve, multistage and Disk-Revolve. Storing everything is one plan among others:
/// it is chosen if it is the fastest by the given times. A plan for other tiers needs a store that has them.
///
/// With `options.threads = 2` uniform and Revolve also come as plans for a sweep with a helper, whose states ahead share
/// the budget with the slots: give such a plan to the verb with `parallel::of(best)` and a `concurrent` step. With
/// `options.behind` a sweep waits only for transfers that the steps do not hide. Both are timed by the clocks of
/// `overlapped`, in loops of more than `most_counted_steps` by the least that is possible.
/// Cost: milliseconds for loops of up to some hundred steps; tables are made for up to `options.most_table_cells`. With
/// two threads some 50 walks of a plan, more for leaves.
/// \throws infeasible_budget   with the least feasible bytes   \throws invalid_plan, overflow_error   for an impossible
///   workload, or one without steps or without the bytes of a state
[[nodiscard]] CAIRN_DECL advice advise(byte_size budget, workload const& work, planning_options const& options = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/loop/impl/advise.ipp>
#endif
