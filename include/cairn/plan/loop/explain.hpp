#pragma once
/// \file explain.hpp  What a plan's memory buys: how far it is from the least possible, and what half and twice as much would do.
#include <cstdint>
#include <optional>
#include <utility>
#include <cairn/core/bytes.hpp>
#include <cairn/plan/loop/detail/plan_search.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>

namespace cairn {

/// A plan beside the best ones of other budgets; `explanation_text` says it in words.
struct explanation {
  planned plan;                  ///< the plan in question; `plan.proof` says how far it is from the least possible
  std::optional<planned> half;   ///< the best with half its memory; nothing where that is too little
  std::optional<planned> twice;  ///< the best with twice its memory
  wide least_bytes = 0;          ///< the least memory that the loop can be reversed in
};

/// Compares a plan with the best ones of half and of twice its memory, over all planners and tiers.
/// Cost: that of `advise`, twice.   \throws invalid_plan, overflow_error   for a workload that cannot be
[[nodiscard]] inline explanation explain(planned const& plan, workload const& work, planning_options const& options = {}) {
  constexpr char const* who = "cairn::explain";
  auto const best_within = [&](wide bytes) -> std::optional<planned> {
    constexpr wide most = ~std::uint64_t{0};
    detail::plan_search search{work, byte_size{bytes < most ? bytes : most}, options, true, who};
    if (search.found.empty()) return {};
    return detail::certified(std::move(search.found.front()), work);
  };
  wide const bytes = plan.cost.memory_bytes;
  return {detail::certified(plan, work), best_within(bytes / 2), best_within(2 * bytes), detail::smallest_plan(work, who).cost.memory_bytes};
}

}  // namespace cairn
