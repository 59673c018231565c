// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>
#include <cairn/plan/loop/detail/plan_search.hpp>
#include <cairn/plan/loop/why_infeasible.hpp>

namespace cairn {

CAIRN_DECL std::optional<infeasibility> why_infeasible(byte_size budget, workload const& work) {
  constexpr char const* who = "cairn::why_infeasible";
  detail::check_tape_bytes(work, 2, who);
  planned least = detail::smallest_plan(work, who);
  if (least.cost.memory_bytes <= budget.count()) return {};
  return infeasibility{budget.count(), detail::certified(std::move(least), work)};
}

}  // namespace cairn
