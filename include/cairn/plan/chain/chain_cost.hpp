// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_cost.hpp  What a plan for a chain takes.
#include <cstdint>
#include <cairn/core/action.hpp>

namespace cairn {

/// The cost of a plan, counted by playing it.
struct chain_cost {
  std::int64_t peak = 0;           ///< most bytes in memory at one time, without state 0 and its adjoint
  std::int64_t makespan = 0;       ///< the sum of all times, saves and loads included
  std::int64_t extra_forward = 0;  ///< time of stages beyond the first run of each
  std::int64_t transfer = 0;       ///< times of saves and loads
  step_index stage_runs = 0;       ///< stage runs, recorded or not; L if no stage runs twice
  std::int64_t elsewhere = 0;      ///< most bytes on other tiers at one time; each state counts once
  std::int64_t peak_adjoints = 0;  ///< adjoints within `peak`
  std::int64_t peak_tapes = 0;     ///< tapes within `peak`; the rest are states, and work of stages
  friend constexpr bool operator==(chain_cost const&, chain_cost const&) = default;
};

}  // namespace cairn
