// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_cost.hpp  What a plan for a graph takes.
#include <cstdint>
#include <cairn/core/action.hpp>

namespace cairn {

/// The cost of a plan, counted by playing it.
struct graph_cost {
  std::int64_t peak = 0;           ///< most bytes at one time, without what the caller owns
  std::int64_t makespan = 0;       ///< the sum of all times
  std::int64_t extra_forward = 0;  ///< makespan minus that of a sweep that runs each operation once
  step_index runs = 0;             ///< operations run forward; n if none runs twice
  std::int64_t peak_adjoints = 0;  ///< adjoints within `peak`
  std::int64_t peak_tapes = 0;     ///< tapes within `peak`; the rest are values, and work of operations
  friend constexpr bool operator==(graph_cost const&, graph_cost const&) = default;
};

}  // namespace cairn
