// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cairn/core/error.hpp>
#include <cairn/plan/block/block_replay.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>

namespace cairn {
namespace detail {

CAIRN_DECL void check_blocks(block_plan const& plan, step_index stages, char const* who) {
  step_index end = 0;
  for (auto const& run : plan.meta().sizes) {
    if (run.first != end)
      throw invalid_plan{who,
                         "a block does not begin where the one in front of it ends",
                         {{"begins at", run.first}, {"wanted", end}},
                         "give blocks in order, without gaps and without stages that are in two"};
    if (run.size < 1)
      throw invalid_plan{who,
                         "a block has no stages",
                         {{"begins at", run.first}},
                         "give each block 1 stage or more: last is one past its last stage"};
    end += run.count * run.size;
  }
  if (end != stages)
    throw invalid_plan{who, "the blocks do not end with the last stage", {{"blocks end at", end}, {"stages", stages}},
                       "give blocks that hold every stage of the chain"};
}

CAIRN_DECL std::vector<action> actions_of(block_plan const& plan, chain_model const& work) {
  std::vector<action> actions;
  if (plan.size() == 0) actions.push_back(chain_actions::turn(work.stages));
  auto cursor = plan.walk();
  for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) switch (a.kind) {
      case action_kind::advance: append_run(actions, a.from, a.to); break;
      case action_kind::record:
        for (step_index i = a.from; i < a.to; ++i) {
          actions.push_back(chain_actions::record(i));
          if (work.self_contained_tape && i == a.from && i > 0) actions.push_back(chain_actions::drop(i));
        }
        if (a.to == work.stages) actions.push_back(chain_actions::turn(a.to));
        break;
      case action_kind::reverse:
        append_adjoints(actions, a.from, a.to);
        if (!work.self_contained_tape && a.from > 0) actions.push_back(chain_actions::drop(a.from));
        break;
      default: break;
    }
  return actions;
}

}  // namespace detail

CAIRN_DECL std::vector<action> actions_of(block_plan const& plan, chain const& work) {
  constexpr char const* who = "cairn::actions_of";
  detail::chain_model const model{work, who};
  detail::check_blocks(plan, model.stages, who);
  return detail::actions_of(plan, model);
}

}  // namespace cairn
