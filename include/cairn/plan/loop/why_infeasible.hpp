#pragma once
/// \file why_infeasible.hpp  What a budget that is too small would have to be, and what for.
#include <optional>
#include <utility>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/detail/plan_search.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/planned.hpp>

namespace cairn {

/// A budget in which no plan fits.
struct infeasibility {
  wide budget = 0;  ///< that was given
  planned least;    ///< the plan that takes the fewest bytes: `least.memory` says what they are for
  [[nodiscard]] wide least_bytes() const noexcept { return least.cost.memory_bytes; }  ///< the least budget that is feasible
  [[nodiscard]] wide missing() const noexcept { return least_bytes() - budget; }       ///< how many bytes the budget lacks
};

/// Why no plan keeps within the budget; nothing where one does.   \throws invalid_plan, overflow_error   for a workload that cannot be, or that lacks its steps or the bytes of a state
[[nodiscard]] inline std::optional<infeasibility> why_infeasible(byte_size budget, workload const& work) {
  planned least = detail::smallest_plan(work, "cairn::why_infeasible");
  if (least.cost.memory_bytes <= budget.count()) return {};
  return infeasibility{budget.count(), detail::certified(std::move(least), work)};
}

namespace detail {

/// \param least  that the planners asked could do with
[[noreturn]] inline void refuse_budget(char const* who, workload const& work, byte_size budget, wide least) {
  throw infeasible_budget{who, "no plan fits the budget", {{"budget", budget.count()}, {"least bytes", least}, {"state bytes", work.state_bytes}},
                          "give the least bytes, or more; cairn::why_infeasible says what they are for"};
}
/// The least that any of the planners asked could do with.   \throws too_much_work   where one was left out for its work: it may have had a plan
[[nodiscard]] inline wide least_asked(plan_search const& search, workload const& work, char const* who) {
  wide least = ~wide{0};
  for (auto const& skipped : search.skipped)
    if (skipped.reason == skip_reason::work)
      throw too_much_work{who, "no plan was found with the work that is allowed", {{"state bytes", work.state_bytes}}, "allow more by planning_options::limit, or give a larger budget"};
  for (auto const& skipped : search.skipped)
    if (skipped.reason == skip_reason::budget && skipped.least_bytes < least) least = skipped.least_bytes;
  return least != ~wide{0} ? least : smallest_plan(work, who).cost.memory_bytes;
}

}  // namespace detail
}  // namespace cairn
