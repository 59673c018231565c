// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file replay.hpp  Plays a plan for a chain action by action and counts its cost.
#include <span>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/chain/chain_cost.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn {

/// Plays a plan for a chain and returns its cost.   Cost: O(1) per action.
/// \param elsewhere  tiers besides memory that the plan saves to
/// \throws invalid_schedule   at the first invalid action, or if the plan ends early
/// \throws invalid_plan, overflow_error   for an invalid chain
[[nodiscard]] CAIRN_DECL chain_cost replay(chain const& work, std::span<action const> actions,
                                            std::span<chain_tier const> elsewhere = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/chain/impl/replay.ipp>
#endif
