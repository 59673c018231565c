// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <utility>
#include <cairn/plan/loop/detail/plan_search.hpp>
#include <cairn/plan/loop/explain.hpp>

namespace cairn {

CAIRN_DECL explanation explain(planned const& plan, workload const& work, planning_options const& options) {
  constexpr char const* who = "cairn::explain";
  auto const best_within = [&](wide bytes) -> std::optional<planned> {
    constexpr wide most = ~std::uint64_t{0};
    detail::plan_search search{work, byte_size{bytes < most ? bytes : most}, options, true, who};
    if (search.found.empty()) return {};
    return detail::certified(std::move(search.found.front()), work, options);
  };
  wide const bytes = plan.cost.memory_bytes;
  return {detail::certified(plan, work, options), best_within(bytes / 2), best_within(2 * bytes),
          detail::smallest_plan(work, who).cost.memory_bytes};
}

}  // namespace cairn
