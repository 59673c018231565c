// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cairn/core/error.hpp>
#include <cairn/plan/block/block_planner.hpp>
#include <cairn/plan/block/block_replay.hpp>
#include <cairn/plan/block/detail/block_cuts.hpp>
#include <cairn/plan/block/detail/ceil_root.hpp>
#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/lower_bounds.hpp>

namespace cairn {
namespace detail {

/// Lets planners write the properties that they know into a plan.
struct block_notes {
  [[nodiscard]] static block_meta& of(block_plan& plan) noexcept { return plan.meta_; }
};

inline void check_block_options(block_options const& options, char const* who) {
  if (options.planner && (options.block_size != 0 || options.balanced || options.levels != 1))
    throw invalid_plan{who,
                       "a planner is given, and a shape of the blocks too",
                       {{"block_size", options.block_size}, {"levels", options.levels}},
                       "give a planner, or block_size, levels and balanced"};
  if (options.balanced && options.levels != 1)
    throw invalid_plan{
        who, "balanced blocks have one level", {{"levels", options.levels}}, "leave balanced out for more levels"};
}
[[nodiscard]] inline block_plan shaped_blocks(step_index stages, block_options const& options) {
  step_index const root = options.levels < 1 ? stages : ceil_root(stages, (std::min)(options.levels, 62) + 1);
  step_index const size = options.block_size != 0 ? options.block_size : std::max<step_index>(root, 1);
  auto plan = options.balanced && size > 0 && stages > 0 ? block_plan::balanced(stages, (stages - 1) / size + 1)
                                                         : block_plan::equal(stages, size, options.levels);
  block_notes::of(plan).by = options.block_size != 0 ? block_method::block_size : block_method::square_root;
  return plan;
}
CAIRN_DECL block_plan plain_blocks(step_index stages) {
  auto plan = block_plan::equal(stages, std::max<step_index>(stages, 1), 0);
  block_notes::of(plan).by = block_method::plain;
  return plan;
}
CAIRN_DECL void weigh_blocks(block_plan& plan, chain_model const& work, char const* who) {
  auto const cost = replay(work, actions_of(plan, work), {}, who);
  block_notes::of(plan).peak_bytes = cost.peak;
  block_notes::of(plan).extra_forward = cost.extra_forward;
}

CAIRN_DECL block_plan plan_blocks(step_index stages, block_options const& options, char const* who) {
  check_block_options(options, who);
  if (stages < 0) throw invalid_plan{who, "the number of stages is negative", {{"stages", stages}}, "give 0 or more"};
  if (options.budget || options.planner)
    throw invalid_plan{who,
                       "a budget or a planner is given, but no sizes",
                       {{"stages", stages}},
                       "give a cairn::chain, which says what each stage takes"};
  return shaped_blocks(stages, options);
}
CAIRN_DECL block_plan plan_blocks(chain const& work, chain_model const& model, block_options const& options,
                                  char const* who, bool& asking) {
  check_block_options(options, who);
  std::int64_t const least = least_peak_bound(model);
  std::int64_t const budget = options.budget.value_or(block_planner::no_budget).count();
  bool const by_bytes =
      options.budget && !options.planner && options.block_size == 0 && options.levels == 1 && !options.balanced;
  if (budget < least)
    throw infeasible_budget{who,
                            "no schedule of any kind fits the budget",
                            {{"budget", budget}, {"least of any schedule", least}},
                            "give more, or make the stage smaller that needs the most"};
  block_plan plan;
  if (options.planner) {
    asking = true;
    plan = options.planner(budget, work);
    asking = false;
    check_blocks(plan, model.stages, who);
    block_notes::of(plan).by = block_method::user_planner;
  } else if (by_bytes) {
    auto const blocks = block_cuts{model}.within(budget);
    if (!blocks)
      throw infeasible_budget{
          who,
          "no blocks of one level fit the budget",
          {{"budget", budget}, {"least of blocks", block_cuts{model}.least_budget()}, {"least of any schedule", least}},
          "give the least of blocks, or let cairn::chain_planner plan the chain: it may run stages more often"};
    plan = block_plan{*blocks};
    block_notes::of(plan).by = block_method::bytes;
  } else {
    plan = shaped_blocks(model.stages, options);
  }
  auto const promised = plan.meta().peak_bytes;
  weigh_blocks(plan, model, who);
  std::int64_t const peak = *plan.meta().peak_bytes;
  if (promised && *promised < peak)
    throw invalid_plan{who, "the planner promises a peak below that of its blocks",
                       {{"promised", *promised}, {"peak of the blocks", peak}, {"least of any schedule", least}},
                       "promise what cairn::replay counts, or nothing"};
  if (peak > budget && options.planner)
    throw invalid_plan{who, "the planner's blocks take more than the budget", {{"peak", peak}, {"budget", budget}},
                       "let the planner throw cairn::infeasible_budget where it finds none"};
  if (peak > budget)
    throw infeasible_budget{who,
                            "blocks of this shape do not fit the budget",
                            {{"budget", budget}, {"peak", peak}, {"least of any schedule", least}},
                            "leave block_size, levels and balanced out, and blocks are cut for the budget"};
  return plan;
}

}  // namespace detail

CAIRN_DECL block_plan plan_blocks(step_index stages, block_options const& options) {
  return detail::plan_blocks(stages, options, "cairn::plan_blocks");
}

CAIRN_DECL block_plan plan_blocks(chain const& work, block_options const& options) {
  constexpr char const* who = "cairn::plan_blocks";
  bool asking = false;
  return detail::plan_blocks(work, detail::chain_model{work, who}, options, who, asking);
}

}  // namespace cairn
