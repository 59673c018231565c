// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file explain.hpp  What a plan's memory buys: its distance from the least possible cost, and the best plans with
/// half and with twice the memory.
#include <optional>
#include <cairn/core/wide.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>
#include <cairn/rules/workload.hpp>

namespace cairn {

/// A plan beside the best plans of other budgets; `explanation_text` puts it in words.
struct explanation {
  planned plan;                  ///< the plan in question; `plan.proof` is its distance from the least possible
  std::optional<planned> half;   ///< the best plan with half its memory; empty if that is too little
  std::optional<planned> twice;  ///< the best plan with twice its memory
  wide least_bytes = 0;          ///< the least memory in which the loop can be reversed
};

/// Compares a plan with the best plans of half and of twice its memory, over all planners and tiers.
/// Cost: that of `advise`, twice.   \throws invalid_plan, overflow_error   for an impossible workload
[[nodiscard]] CAIRN_DECL explanation explain(planned const& plan, workload const& work,
                                             planning_options const& options = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/loop/impl/explain.ipp>
#endif
