#pragma once
/// \file why_infeasible.hpp  What a budget that is too small would have to be, and what for.
#include <optional>
#include <cairn/core/bytes.hpp>
#include <cairn/core/workload.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/planned.hpp>

namespace cairn {

/// A budget in which no plan fits.
struct infeasibility {
  wide budget = 0;  ///< that was given
  planned least;    ///< the plan that takes the fewest bytes: `least.memory` says what they are for
  /// The least budget that is feasible.
  [[nodiscard]] wide least_bytes() const noexcept { return least.cost.memory_bytes; }
  [[nodiscard]] wide missing() const noexcept { return least_bytes() - budget; }  ///< how many bytes the budget lacks
};

/// Why no plan keeps within the budget; nothing where one does.   \throws invalid_plan, overflow_error   for a workload
/// that cannot be, or that lacks its steps or the bytes of a state
[[nodiscard]] CAIRN_DECL std::optional<infeasibility> why_infeasible(byte_size budget, workload const& work);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/loop/impl/why_infeasible.ipp>
#endif
