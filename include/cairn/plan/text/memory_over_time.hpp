// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_over_time.hpp  The memory of plans for chains and graphs over time.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include <cairn/core/memory_sample.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn {

/// The time and the memory of one action of a plan for a chain or a graph.
struct memory_moment {
  wide begin = 0;             ///< in the unit of time of the chain or graph, from the start of the sweep
  wide end = 0;               ///< equals `begin` for actions that take no time
  std::int64_t held = 0;      ///< most bytes at once during the action, without what is the caller's
  std::int64_t standing = 0;  ///< bytes of the states, values and tapes before the action; part of `held`
  std::size_t action = 0;     ///< its number in the plan
};

/// The memory of a sweep over a chain or a graph as a function of time.
struct memory_over_time {
  std::vector<memory_moment> moments;  ///< in the order of time
  std::int64_t peak = 0;               ///< the largest `held`, equal to the peak of `replay`
  std::size_t summit = 0;              ///< the first moment that holds the peak
};

/// The memory of a plan for a chain, one moment for each action; state 0 and its adjoint are the caller's.
/// \param elsewhere  tiers besides memory that the plan saves to
/// \throws invalid_schedule, invalid_plan, overflow_error   as `replay`
[[nodiscard]] CAIRN_DECL memory_over_time chain_memory_over(chain const& work, std::span<action const> actions,
                                                            std::span<chain_tier const> elsewhere = {});

/// The memory of a plan for a graph, one moment for each action that drops nothing.
/// \throws invalid_schedule, invalid_plan, overflow_error   as `replay`
[[nodiscard]] CAIRN_DECL memory_over_time graph_memory_over(operation_graph const& graph,
                                                            std::span<action const> actions);

/// The curve as samples, to be shown beside those of a run. Times are taken for nanoseconds, as `chain_probe` and
/// `graph_probe` measure them.
[[nodiscard]] CAIRN_DECL std::vector<memory_sample> samples_of(memory_over_time const& curve);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/memory_over_time.ipp>
#endif
