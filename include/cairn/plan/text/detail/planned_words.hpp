// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file planned_words.hpp  Words that texts about one plan and about many plans share.
#include <string>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/text/detail/plan_words.hpp>

namespace cairn::detail {

[[nodiscard]] inline std::string parameter_words(planned const& plan) {
  plan_parameters const& with = plan.with;
  std::string words;
  auto const add = [&](std::string const& more) { words += (words.empty() ? " with " : ", ") + more; };
  if (plan.by == planner::mixed) add(plural(with.units, "unit") + " (a tape takes " + digits_of(with.tape_units) + ")");
  else if (plan.by != planner::store_all)
    add(plural(wide(with.slots_said()), "slot") + (plan.by == planner::two_level ? " inside a period" : " in memory"));
  if (with.period > 0) add("a period of " + plural(wide(with.period), "step"));
  else if (slot_index const here = plan.cost.counts.on(tier::memory).peak; plan.cost.peak_slots > here)
    add("up to " + plural(wide(plan.cost.peak_slots - here), "state") + " elsewhere");
  if (with.leaf > 1) add("leaves of " + plural(wide(with.leaf), "step"));
  return words;
}
[[nodiscard]] inline bool is_timed(planned const& plan) { return plan.cost.seconds > 0; }

}  // namespace cairn::detail
