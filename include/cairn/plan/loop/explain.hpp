#pragma once
/// \file explain.hpp  What a plan's memory buys: how far it is from the least possible, and what half and twice as much
/// would do.
#include <optional>
#include <cairn/core/wide.hpp>
#include <cairn/core/workload.hpp>
#include <cairn/detail/linkage.hpp>
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
[[nodiscard]] CAIRN_DECL explanation explain(planned const& plan, workload const& work,
                                             planning_options const& options = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/loop/impl/explain.ipp>
#endif
