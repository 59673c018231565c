#pragma once
/// \file chain_options.hpp  How a chain is planned.
#include <cstdint>
#include <vector>
#include <cairn/core/chain.hpp>
#include <cairn/plan/chain/chain_launcher.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// How a chain is planned; the usual values are for `automatic`.
struct chain_options {
  chain_method by = chain_method::automatic;  ///< how plans are found
  double gap = 0.01;         ///< that `automatic` is content with: (makespan - bound) / bound, >= 0
  double effort = 1e10;  ///< that `automatic` may spend on a plan, in sums of two table entries, > 0; some 5e9 take a
                         ///< second. a chain of 1000 stages may take it all
  std::int64_t slots = 0;    ///< of methods that divide the budget into slots; chosen where 0
  std::vector<chain_tier> tiers = {};  ///< for `tiers`: where else states may be kept, fast ones first
  chain_launcher launch = {};          ///< runs parts of tables at once; one after the other where empty
  work_limit limit = {};  ///< how much work one call of the planner may be, whatever the method; then it answers the
                          ///< best plan found, or throws too_much_work
};

}  // namespace cairn
