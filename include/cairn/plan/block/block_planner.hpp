// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file block_planner.hpp  Cuts a loop or a chain into blocks: by size, by bytes, or by a user's planner.
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/byte_budget.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn {

/// A user's planner: `plan(work)` or `plan(budget, work)`, which returns a `block_plan`. The budget is given as a
/// std::int64_t in the unit of the chain, which converts to `byte_budget`. It may throw; its result is checked.
class block_planner {
 public:
  /// The budget that a planner receives if none is given.
  static constexpr byte_budget no_budget = (std::numeric_limits<std::int64_t>::max)();

  /// No planner.
  block_planner() = default;
  /// \param plan  is copied
  template <class Planner>
    requires(!std::same_as<std::remove_cvref_t<Planner>, block_planner>)
  block_planner(Planner plan) {
    constexpr bool takes_budget = std::is_invocable_r_v<block_plan, Planner&, std::int64_t, chain const&>;
    constexpr bool takes_chain = std::is_invocable_r_v<block_plan, Planner&, chain const&>;
    static_assert(takes_budget || takes_chain,
                  "cairn: a planner of blocks must be `plan(work)` or `plan(budget, work)`, with chain const& work, "
                  "and return a block_plan");
    if constexpr (takes_budget) plan_ = std::move(plan);
    else if constexpr (takes_chain)
      plan_ = [plan = std::move(plan)](std::int64_t, chain const& work) mutable -> block_plan { return plan(work); };
  }
  [[nodiscard]] explicit operator bool() const noexcept { return bool(plan_); }  ///< whether there is a planner
  /// The planner's blocks, unchecked.   \pre there is a planner
  /// \param budget  a size, "512MiB", if the chain is in bytes; or a number in the unit of the chain
  [[nodiscard]] block_plan operator()(byte_budget budget, chain const& work) const {
    return plan_(budget.count(), work);
  }

 private:
  std::function<block_plan(std::int64_t, chain const&)> plan_;
};

/// How blocks are chosen. By default: blocks of ceil(sqrt(n)) stages.
struct block_options {
  step_index block_size = 0;  ///< stages of a block; 0 means ceil(n^(1/(levels+1))), or chosen for the budget
  int levels = 1;             ///< 0 to 62: the most times that a stage may be run again; 0 stores everything
  bool balanced = false;      ///< block sizes differ by at most one stage, instead of a shorter last block; for one
                              ///< level only
  /// The most memory, without state 0: "512MiB", or a number in the unit of the chain. If only it is given, the cuts
  /// are those with the fewest runs within it.
  std::optional<byte_budget> budget = {};
  block_planner planner = {};  ///< replaces all options above except the budget
  /// For `block_executor`: if no plan can be made, runs everything once and gives notice instead of throwing.
  bool plain_fallback = true;
  std::function<void(char const*)> notice = {};  ///< for `block_executor`: is called with the reason why there is no
                                                 ///< plan
};

namespace detail {
struct chain_model;

/// One block, which stores everything.
[[nodiscard]] CAIRN_DECL block_plan plain_blocks(step_index stages);
/// Replays the blocks and notes their cost in the plan.
CAIRN_DECL void weigh_blocks(block_plan& plan, chain_model const& work, char const* who);
[[nodiscard]] CAIRN_DECL block_plan plan_blocks(step_index stages, block_options const& options, char const* who);
/// \param asking  true while the user's planner runs
[[nodiscard]] CAIRN_DECL block_plan plan_blocks(chain const& work, chain_model const& model,
                                                block_options const& options, char const* who, bool& asking);

}  // namespace detail

/// Blocks for a loop of which only the number of stages is known.   Cost: O(levels), whatever the number of stages
/// \throws invalid_plan   for impossible options, and for options with a budget or a planner
[[nodiscard]] CAIRN_DECL block_plan plan_blocks(step_index stages, block_options const& options = {});
/// Blocks for a chain, with predicted peak and time. The result of a user's planner is checked: the blocks must hold
/// each stage once, in order; the replayed peak must be within the budget, and within the promised peak.   Cost: that
/// of one replay; with only a budget O(stages * stages that fit into it)
/// \throws invalid_plan   for impossible options or chains, and for a wrong result of a planner
/// \throws infeasible_budget   with the least feasible budget
/// \throws overflow_error   as `replay`
[[nodiscard]] CAIRN_DECL block_plan plan_blocks(chain const& work, block_options const& options = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/block/impl/block_planner.ipp>
#endif
