#pragma once
/// \file advise.hpp  The cheapest plan over all planners and tiers, and what else there was.
#include <vector>
#include <cairn/core/bytes.hpp>
#include <cairn/core/workload.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>

namespace cairn {

/// The plan to take, and the others; `advice_text` says it in words.
struct advice {
  planned best;                          ///< the cheapest; of equal ones that with the fewest bytes
  std::vector<planned> runners_up;       ///< the best of each other planner, the cheapest first
  std::vector<skipped_planner> skipped;  ///< planners that suit the workload and have no plan, and why
  /// By which part of the best plan's seconds, or step calls where there are no times, the next one takes more; 0 where
  /// there is no other.
  [[nodiscard]] double lead() const noexcept {
    if (runners_up.empty()) return 0;
    bool const timed = best.cost.seconds > 0;
    double const least = timed ? best.cost.seconds : double(best.cost.step_calls);
    double const next = timed ? runners_up.front().cost.seconds : double(runners_up.front().cost.step_calls);
    return least > 0 ? next / least - 1 : 0;
  }
};

/// The plan of the fewest predicted seconds within `budget` bytes of memory and the tiers of the workload (see
/// `workload::tiers`): the best of store-all, uniform, Revolve, mixed where the adjoint records, and two-level,
/// H-Revolve, multistage, Disk-Revolve where there is a tier beside memory. Storing everything is one plan among
/// others: it is taken where it is the fastest by the times given. Cost: milliseconds for loops of up to some hundred
/// steps; tables are made for up to `options.most_table_cells`.
/// \throws infeasible_budget   that says the least feasible bytes   \throws invalid_plan, overflow_error   for a
///        workload that cannot be, or that lacks its steps or the bytes of a state
[[nodiscard]] CAIRN_DECL advice advise(byte_size budget, workload const& work, planning_options const& options = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/loop/impl/advise.ipp>
#endif
