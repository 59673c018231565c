// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file why_infeasible.hpp  How large a budget has to be, and what the memory is for.
#include <optional>
#include <cairn/core/bytes.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/rules/workload.hpp>

namespace cairn {

/// A budget in which no plan fits.
struct infeasibility {
  wide budget = 0;  ///< the given budget
  planned least;    ///< the plan with the fewest bytes; `least.memory` itemises them
  /// The least feasible budget.
  [[nodiscard]] wide least_bytes() const noexcept { return least.cost.memory_bytes; }
  [[nodiscard]] wide missing() const noexcept { return least_bytes() - budget; }  ///< bytes that the budget lacks
};

/// Why no plan fits the budget; empty if one does.   \throws invalid_plan, overflow_error   for an impossible workload,
/// or one without steps or without the bytes of a state
[[nodiscard]] CAIRN_DECL std::optional<infeasibility> why_infeasible(byte_size budget, workload const& work);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/loop/impl/why_infeasible.ipp>
#endif
