// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <utility>
#include <cairn/plan/loop/advise.hpp>
#include <cairn/plan/loop/detail/plan_search.hpp>

namespace cairn {

CAIRN_DECL advice advise(byte_size budget, workload const& work, planning_options const& options) {
  constexpr char const* who = "cairn::advise";
  detail::plan_search search{work, budget, options, true, who};
  if (search.found.empty()) detail::refuse_budget(who, work, budget, detail::least_asked(search, work, who));
  std::vector<planned> others;
  for (std::size_t k = 1; k < search.found.size(); ++k)
    others.push_back(detail::certified(std::move(search.found[k]), work, options));
  return {detail::certified(std::move(search.found.front()), work, options), std::move(others),
          std::move(search.skipped)};
}

}  // namespace cairn
