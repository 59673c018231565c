// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file block_replay.hpp  A block plan as actions of a chain, so that `replay` can judge it like any other plan.
#include <vector>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn {
namespace detail {
struct chain_model;

/// \throws invalid_plan   unless the blocks are consecutive and hold stages 0..stages-1
CAIRN_DECL void check_blocks(block_plan const& plan, step_index stages, char const* who);
/// \pre the blocks belong to the chain
[[nodiscard]] CAIRN_DECL std::vector<action> actions_of(block_plan const& plan, chain_model const& work);

}  // namespace detail

/// The actions of a block plan, stage by stage, for `replay` and for the executor of chains. If tapes are
/// self-contained, the first state of a block is dropped as soon as the first tape of the block exists.   Cost:
/// O(stages * (levels + 2)) time and memory
/// \throws invalid_plan   if the blocks do not belong to this chain   \throws overflow_error   as `replay`
[[nodiscard]] CAIRN_DECL std::vector<action> actions_of(block_plan const& plan, chain const& work);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/block/impl/block_replay.ipp>
#endif
