// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans for chains that are written down by hand.
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/replay.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace chain_plans {

using namespace cairn;
using namespace cairn::chain_actions;

inline std::vector<action> storing_all(std::int64_t stages) {
  std::vector<action> plan;
  for (std::int64_t i = 0; i < stages; ++i) plan.push_back(record(i));
  plan.push_back(turn(stages));
  for (std::int64_t i = stages; i-- > 0;) plan.push_back(reverse(i));
  return plan;
}
/// Keeps every state in the forward run and records one stage at a time.
inline std::vector<action> one_tape(std::int64_t stages) {
  std::vector<action> plan;
  for (std::int64_t i = 0; i + 1 < stages; ++i) plan.push_back(advance(i));
  if (stages > 0) plan.push_back(record(stages - 1));
  plan.push_back(turn(stages));
  for (std::int64_t i = stages; i-- > 0;) {
    if (i + 1 < stages) plan.push_back(record(i));
    plan.push_back(reverse(i));
    if (i > 0) plan.push_back(drop(i));
  }
  return plan;
}
/// Runs from state 0 for each stage, keeping nothing.
inline std::vector<action> one_state(std::int64_t stages) {
  std::vector<action> plan;
  if (stages == 0) plan.push_back(turn(0));
  for (std::int64_t i = stages; i-- > 0;) {
    for (std::int64_t k = 0; k < i; ++k) {
      plan.push_back(advance(k));
      if (k > 0) plan.push_back(drop(k));
    }
    plan.push_back(record(i));
    if (i + 1 == stages) plan.push_back(turn(stages));
    plan.push_back(reverse(i));
    if (i > 0) plan.push_back(drop(i));
  }
  return plan;
}
inline chain_plan planned(chain const& work, std::vector<action> actions) {
  chain_plan plan;
  plan.actions = std::move(actions);
  plan.cost = replay(work, plan.actions);
  plan.budget = plan.cost.peak;
  plan.by = chain_method::persistent;
  plan.proof.lower_bound_time = detail::chain_model{work, "test"}.store_all_time();
  plan.proof.lower_bound_peak = 1;
  return plan;
}

}  // namespace chain_plans
