#pragma once
/// \file block_replay.hpp  A block plan as a plan for a chain, so that `replay` judges it like every other.
#include <vector>
#include <cairn/core/chain.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/block/block_plan.hpp>

namespace cairn {
namespace detail {
struct chain_model;

/// \throws invalid_plan   unless the blocks follow each other and hold stages 0..stages-1
CAIRN_DECL void check_blocks(block_plan const& plan, step_index stages, char const* who);
/// \pre the blocks are those of the chain
[[nodiscard]] CAIRN_DECL std::vector<action> actions_of(block_plan const& plan, chain_model const& work);

}  // namespace detail

/// What a block plan does, stage by stage, for `replay` and for the executor of chains. Where tapes are self-contained,
/// the first state of a block goes as soon as its first tape is there.   Cost: O(stages * (levels + 2)) time and memory
/// \throws invalid_plan   where the blocks are not those of this chain   \throws overflow_error   as `replay`
[[nodiscard]] CAIRN_DECL std::vector<action> actions_of(block_plan const& plan, chain const& work);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/block/impl/block_replay.ipp>
#endif
