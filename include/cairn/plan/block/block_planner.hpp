#pragma once
/// \file block_planner.hpp  From a loop or a chain to blocks: by size, by bytes, or by a planner of the user's.
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/byte_budget.hpp>
#include <cairn/core/chain.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/block/block_plan.hpp>

namespace cairn {

/// A planner of the user's: `plan(work)` or `plan(work, budget)`, which answers a `block_plan`. It may throw; what it
/// answers is checked.
class block_planner {
 public:
  /// The budget that a planner gets where none was given.
  static constexpr std::int64_t no_budget = (std::numeric_limits<std::int64_t>::max)();

  /// None.
  block_planner() = default;
  /// \param plan  is copied
  template <class Planner>
    requires(!std::same_as<std::remove_cvref_t<Planner>, block_planner>)
  block_planner(Planner plan) {
    constexpr bool takes_budget = std::is_invocable_r_v<block_plan, Planner&, chain const&, std::int64_t>;
    constexpr bool takes_chain = std::is_invocable_r_v<block_plan, Planner&, chain const&>;
    static_assert(takes_budget || takes_chain,
                  "cairn: a planner of blocks must be `plan(work)` or `plan(work, budget)`, with chain const& work, "
                  "and return a block_plan");
    if constexpr (takes_budget) plan_ = std::move(plan);
    else if constexpr (takes_chain)
      plan_ = [plan = std::move(plan)](chain const& work, std::int64_t) mutable -> block_plan { return plan(work); };
  }
  [[nodiscard]] explicit operator bool() const noexcept { return bool(plan_); }  ///< whether there is one
  /// Its blocks, unchecked.   \pre there is one
  [[nodiscard]] block_plan operator()(chain const& work, std::int64_t budget) const { return plan_(work, budget); }

 private:
  std::function<block_plan(chain const&, std::int64_t)> plan_;
};

/// How blocks are chosen. Left as it is: blocks of ceil(sqrt(n)) stages.
struct block_options {
  step_index block_size = 0;  ///< stages of a block; where 0, ceil(n^(1/(levels+1))), or chosen for the budget
  int levels = 1;             ///< 0 to 62: how often a stage may be run forward again; 0 stores everything
  bool balanced = false;      ///< blocks that differ by one stage at most, instead of a last one that is as long as is
                              ///< left; for one level
  /// What must do, state 0 not counted: "512MiB", or a number in the unit of the chain; alone it cuts blocks for the
  /// fewest runs within it.
  std::optional<byte_budget> budget = {};
  block_planner planner = {};  ///< instead of all this but the budget
  /// Of `block_executor`: where no plan can be made, run everything once and say so, instead of throwing.
  bool plain_fallback = true;
  std::function<void(char const*)> notice = {};  ///< of `block_executor`: told why there is no plan
};

namespace detail {
struct chain_model;

/// One block, which stores everything.
[[nodiscard]] CAIRN_DECL block_plan plain_blocks(step_index stages);
/// Notes what the blocks cost, by playing them.
CAIRN_DECL void weigh_blocks(block_plan& plan, chain_model const& work, char const* who);
[[nodiscard]] CAIRN_DECL block_plan plan_blocks(step_index stages, block_options const& options, char const* who);
/// \param asking  true while the user's planner is at work
[[nodiscard]] CAIRN_DECL block_plan plan_blocks(chain const& work, chain_model const& model,
                                                block_options const& options, char const* who, bool& asking);

}  // namespace detail

/// Blocks for a loop of which only the number of stages is known.   Cost: O(levels), whatever the number
/// \throws invalid_plan   for options that cannot be, and where they name a budget or a planner
[[nodiscard]] CAIRN_DECL block_plan plan_blocks(step_index stages, block_options const& options = {});
/// Blocks for a chain, with predicted peak and time. What a planner of the user's answers is checked: blocks that hold
/// each stage once, in order, a replayed peak within the budget, and no promise below it.   Cost: that of one replay;
/// with a budget alone O(stages * stages that fit into it)
/// \throws invalid_plan   for options, chains and answers of a planner that cannot be   \throws infeasible_budget
///        that says the least
/// \throws overflow_error   as `replay`
[[nodiscard]] CAIRN_DECL block_plan plan_blocks(chain const& work, block_options const& options = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/block/impl/block_planner.ipp>
#endif
