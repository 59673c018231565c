// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_over_leaves.hpp  The plan of a budget, in memory or with a folder, for a loop whose sizes were measured.
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/plan_within.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>
#include <cairn/rules/detail/leaf_weighing.hpp>
#include <cairn/rules/detail/sweep_needs.hpp>
#include <cairn/rules/workload.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/budget_of.hpp>
#include <cairn/schedule/revolve.hpp>

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

/// A plan over leaves of `options.leaf` steps. It is on the heap itself: its size is known once it is chosen.
/// \param work  the largest sizes; its tape is that of a whole leaf   \throws infeasible_budget
/// \param beside  beside(slots, state): bytes that a run on disk takes for itself, where the budget has no files
template <class Budget, class State, class Beside = nothing_beside>
[[nodiscard]] planned plan_over_leaves(Budget const& budget, [[maybe_unused]] State const& x0, workload work,
                                       planning_options const& options, [[maybe_unused]] Beside const& beside = {}) {
  if constexpr (std::is_same_v<Budget, budget_of<>>) {
    for (work.plan_bytes = any_schedule{revolve{0, 1}}.own_bytes() + beside(1, work.state_bytes);;) {
      planned found = plan_within(budget.bytes, work, options);
      wide const plan = found.schedule.own_bytes(), own = plan + beside(found.schedule.slots(), work.state_bytes);
      wide const all = found.cost.memory_bytes + own;
      if (own > work.plan_bytes && all > budget.bytes.count() + work.plan_bytes) {
        work.plan_bytes = own;
        continue;
      }
      found.memory.plan += plan - work.plan_bytes;
      found.cost.memory_bytes = all - work.plan_bytes;
      return found;
    }
  } else {
    sweep_sizes const sizes = sizes_of(work, *options.leaf);
    auto const bytes = [&](auto const& plan, slot_index slots) {
      return parts_with(plan, slots, work.form, sizes, work.verify).total();
    };
    wide const first = [&] {
      if constexpr (copied_state<State>) return bytes_of(x0);
      else return bytes_of(save_state(x0));
    }();
    wide const grown = work.state_bytes > first ? work.state_bytes - first : 0;
    auto made = Budget::files::plan_for(budget, x0, work.form, bytes, grown, *options.leaf);
    slot_index const inside = slots_in_memory(made);
    slot_index const files = made.slots() - inside;
    work.plan_bytes = made.own_bytes();
    return plan_of(std::move(made), work, files > 0 ? planner::two_level : planner::revolve,
                   {.slots = inside, .far_slots = files, .leaf = *options.leaf});
  }
}

}  // namespace cairn::detail
