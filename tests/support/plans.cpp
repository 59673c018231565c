// SPDX-License-Identifier: Apache-2.0
#include "support/plans.hpp"

std::vector<plan_of_any_kind> any_plans(cairn::step_index n) {
  std::vector<plan_of_any_kind> all;
  each_plan(n, [&](std::string const& name, auto const& plan) { all.push_back({name, plan}); });
  return all;
}
