// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_svg.hpp  Pictures of plans for chains: memory over time, and time over memory.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/core/chain.hpp>
#include <cairn/core/memory_sample.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/chain/chain_plan.hpp>

namespace cairn {

/// The time and the memory of one action of a plan for a chain.
struct chain_moment {
  wide begin = 0;             ///< in the chain's unit of time, from the start of the sweep
  wide end = 0;               ///< equals `begin` for actions that take no time
  std::int64_t held = 0;      ///< most bytes at once during the action; state 0 and its adjoint not counted
  std::int64_t standing = 0;  ///< bytes of the states and tapes that existed before the action; part of `held`
};

/// The memory of a sweep over a chain as a function of time.
struct chain_memory {
  std::vector<chain_moment> moments;  ///< one per action
  std::int64_t peak = 0;              ///< the largest `held`, equal to the peak of `replay`
  std::size_t summit = 0;             ///< index of the first action that holds the peak
};

/// The curve that `chain_memory_svg` draws.   Cost: O(1) per action
/// \param elsewhere  tiers besides memory that the plan saves to
/// \throws invalid_schedule, invalid_plan, overflow_error   as `replay`
[[nodiscard]] CAIRN_DECL chain_memory chain_memory_over(chain const& work, std::span<action const> actions,
                                                        std::span<chain_tier const> elsewhere = {});

/// The curve as samples for `memory_lines_svg`, one for each action: to be drawn beside the samples of a run. The
/// chain's times are taken for nanoseconds, as `chain_probe` measures them.
[[nodiscard]] CAIRN_DECL std::vector<memory_sample> samples_of(chain_memory const& curve);

/// Memory over time as an SVG: a line for all memory held, an area for the states and tapes that exist before each
/// action, and the peak. State 0 and its adjoint are not counted. Actions that take no time are vertical; if no action
/// takes time, all are drawn equally wide.
/// \param title  title of the picture; by default it says what is shown   \param elsewhere  tiers besides memory that
///   the plan saves to
/// \throws invalid_plan   for more than `most_drawn_actions` actions
/// \throws invalid_schedule, invalid_plan, overflow_error   as `replay`
[[nodiscard]] CAIRN_DECL std::string chain_memory_svg(chain const& work, std::span<action const> actions,
                                                      std::string_view title = {},
                                                      std::span<chain_tier const> elsewhere = {});

/// Time over memory as an SVG: makespan over peak memory, a dot per plan, and the line below which no schedule of any
/// kind can be. An axis is logarithmic if its largest value is at least ten times its smallest one.
/// \param front  plans of one chain, from the smallest budget to the largest, as from `chain_planner::pareto`
/// \param title  title of the picture; by default it says what is shown
/// \param beside  bytes that are added to each memory, such as those of state 0
[[nodiscard]] CAIRN_DECL std::string chain_pareto_svg(std::span<chain_plan const> front, std::string_view title = {},
                                                      std::int64_t beside = 0);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/chain_svg.ipp>
#endif
