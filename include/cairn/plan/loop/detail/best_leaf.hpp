// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file best_leaf.hpp  The length of leaves whose plan is the cheapest, where what a leaf holds has to be found out.
#include <optional>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/detail/leaf_weighing.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/rules/workload.hpp>

namespace cairn::detail {

/// Lengths of 1, 2, 4 ... steps, at most 1/8 of the loop's and 64.
[[nodiscard]] constexpr step_index longest_leaf(step_index steps) noexcept {
  return steps < 16 ? 1 : steps / 8 < 64 ? steps / 8 : 64;
}

/// Tapes of more bytes are for leaves of one step only: they leave the cache, and are filled several times slower,
/// which no step call that they save makes up for.
inline constexpr wide most_leaf_bytes = 16 << 20;

/// \param work  its `tape_bytes` are those of the last leaf that was weighed
/// \param weigh  weigh(leaf) notes in `work` what such a leaf holds, and returns the step calls that it adds
/// \param plan  plan(leaf) is a plan within the budget
/// \throws infeasible_budget   if no plan over leaves of one step fits
template <class Weigh, class Plan>
[[nodiscard]] planned best_leaf(workload& work, step_index longest, leaf_weighing how, Weigh const& weigh,
                                Plan const& plan) {
  std::optional<planned> best;
  step_index of_best = 1, weighed = 1;
  for (step_index leaf = 1; leaf <= longest; leaf *= 2) try {
      if (best && how.by_recording) {
        work.tape_bytes *= 2;
        if (work.tape_bytes > most_leaf_bytes) break;
        planned const foreseen = plan(leaf);
        // A leaf that would not be taken leaves its memory beside the plan's.
        if (how.memory_stays && !is_cheaper(foreseen.cost, best->cost, work)) continue;
      }
      wide const added = weigh(weighed = leaf);
      planned other = plan(leaf);
      other.cost.step_calls += added;
      if (best && !is_cheaper(other.cost, best->cost, work)) continue;
      best = std::move(other);
      of_best = leaf;
    } catch (infeasible_budget const&) {
      if (!best) throw;
      break;
    }
  // The tape keeps the memory of the plan's leaf for the sweep: what is freed now would be resident beside it.
  if (weighed != of_best) (void)weigh(of_best);
  return std::move(*best);
}

}  // namespace cairn::detail
