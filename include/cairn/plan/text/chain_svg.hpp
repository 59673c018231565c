#pragma once
/// \file chain_svg.hpp  Plans for chains as pictures: memory over time, and what memory buys.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/core/chain.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/chain/chain_plan.hpp>

namespace cairn {

/// What one action of a plan for a chain holds, and when.
struct chain_moment {
  wide begin = 0;             ///< in the chain's unit of time, from the start of the sweep
  wide end = 0;               ///< the same as `begin` for actions that take no time
  std::int64_t held = 0;      ///< most bytes at once while it lasts; state 0 and its adjoint not counted
  std::int64_t standing = 0;  ///< of these, states and tapes that were there before it
};

/// What a sweep over a chain holds over time.
struct chain_memory {
  std::vector<chain_moment> moments;  ///< one an action
  std::int64_t peak = 0;              ///< the largest of `held`, which is that of `replay`
  std::size_t summit = 0;             ///< the first action that holds as much
};

/// The curve that `chain_memory_svg` shows.   Cost: O(1) an action
/// \param elsewhere  tiers beside memory that the plan saves to
/// \throws invalid_schedule, invalid_plan, overflow_error   as `replay`
[[nodiscard]] CAIRN_DECL chain_memory chain_memory_over(chain const& work, std::span<action const> actions,
                                                        std::span<chain_tier const> elsewhere = {});

/// Memory over time as an SVG: a line for all that is held, an area for the states and tapes that stand meanwhile, and
/// the peak. State 0 and its adjoint are not counted. Actions that take no time are vertical; where none takes time
/// each is drawn as wide as the next.
/// \param title  of the picture; what it shows where it is empty   \param elsewhere  tiers beside memory that the plan
///        saves to
/// \throws invalid_plan   for more than `most_drawn_actions` actions   \throws invalid_schedule, invalid_plan,
///        overflow_error   as `replay`
[[nodiscard]] CAIRN_DECL std::string chain_memory_svg(chain const& work, std::span<action const> actions,
                                                      std::string_view title = {},
                                                      std::span<chain_tier const> elsewhere = {});

/// What memory buys as an SVG: makespan over peak memory, a dot a plan, above the line below which no schedule of any
/// kind is.
/// \param front  plans of one chain, from the smallest budget to the largest, as of `chain_planner::pareto`
///        \param title  of the picture; what it shows where it is empty
/// \param beside  bytes that are added to each memory, as those of state 0
[[nodiscard]] CAIRN_DECL std::string chain_pareto_svg(std::span<chain_plan const> front, std::string_view title = {},
                                                      std::int64_t beside = 0);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/chain_svg.ipp>
#endif
