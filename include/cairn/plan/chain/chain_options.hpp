// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_options.hpp  Options of planners for chains.
#include <cstdint>
#include <vector>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// Options of planners for chains. The defaults are for `automatic`.
struct chain_options {
  chain_method by = chain_method::automatic;  ///< the method that finds plans
  double gap = 0.01;         ///< the gap at which `automatic` stops: (makespan - bound) / bound, >= 0
  double effort = 1e10;  ///< the most work that `automatic` spends on a plan, in sums of two table entries, > 0; about
                         ///< 5e9 take a second. A chain of 1000 stages may use all of it
  std::int64_t slots = 0;    ///< slots of methods that divide the budget into slots; 0 lets the planner choose
  std::vector<chain_tier> tiers = {};  ///< for `tiers`: where states may be kept besides memory, fast tiers first
  work_limit limit = {};  ///< the most work of one call of the planner, for any method. A call that reaches it returns
                          ///< the best plan found, or throws too_much_work
};

}  // namespace cairn
