// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_text.hpp  Plans for chains in words, as tables and as CSV, and why there is no plan.
#include <cstdint>
#include <span>
#include <string>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/chain/chain_planner.hpp>

namespace cairn {

/// What is proven about a plan's makespan, for example "no schedule of any kind is faster".
[[nodiscard]] CAIRN_DECL std::string chain_gap_text(chain_plan const& plan);

/// A plan in one line: how it was found, its time over that of storing everything, its peak, and its distance from the
/// best.
[[nodiscard]] CAIRN_DECL std::string chain_plan_text(chain_plan const& plan);

/// For how many budgets of a curve the limit of work left no plan.
[[nodiscard]] inline std::int64_t left_out_of(std::span<chain_plan const> front) noexcept {
  std::int64_t sum = 0;
  for (auto const& plan : front) sum += plan.left_out;
  return sum;
}

/// A table for people: peak memory, makespan, its ratio to storing everything, how far it is above the proven bound,
/// and the planner. A last line says for how many budgets the limit of work left no plan, if any.
/// \param beside  bytes that are added to each peak, such as those of state 0
[[nodiscard]] CAIRN_DECL std::string chain_pareto_text(std::span<chain_plan const> front, std::int64_t beside = 0);

/// Why no plan fits a budget: the least feasible budget, and the stage that needs the most at once.
/// \param work  the chain   \param beside  bytes that are added to the budget and to the least one, such as those of
///   state 0
[[nodiscard]] CAIRN_DECL std::string chain_infeasibility_text(chain_infeasibility const& why, chain const& work,
                                                              std::int64_t beside = 0);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/chain_text.ipp>
#endif
