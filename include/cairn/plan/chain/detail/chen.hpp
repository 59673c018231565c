// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chen.hpp  The plans of Chen, Xu, Zhang and Guestrin (2016), for comparison: segments of equal length, and of
/// about equal bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Segments of ceil(sqrt(L)) stages, balanced: their lengths differ by at most 1. The last segment keeps its tapes in
/// the forward run.
[[nodiscard, gnu::cold]] inline std::vector<action> chen_sqrt(chain_model const& c) {
  value_list<chain_segment> again;
  std::int64_t length = std::int64_t(square_root(double(c.stages)));
  while (length * length < c.stages) ++length;
  std::int64_t const count = length == 0 ? 0 : (c.stages + length - 1) / length;
  for (std::int64_t k = 0; k + 1 < count; ++k) again.push_back({c.stages * k / count, c.stages * (k + 1) / count});
  return segments_plan(c, again);
}

/// Segments that end where the bytes of their tapes exceed `most`; the last one keeps its tapes in the forward run.
[[nodiscard]] inline std::vector<action> chen_greedy_at(chain_model const& c, std::int64_t most) {
  value_list<chain_segment> again;
  std::int64_t first = 0, bytes = 0;
  for (std::int64_t i = 0; i + 1 < c.stages; ++i) {
    bytes += c.s[std::size_t(i)];
    if (bytes <= most) continue;
    again.push_back({first, i + 1});
    first = i + 1;
    bytes = 0;
  }
  return segments_plan(c, again);
}

/// The fastest `chen_greedy_at` that keeps within the budget, and among equally fast ones the one with the lowest peak;
/// nothing if none fits. Segments change only where `most` is a sum of neighbouring tapes. All such sums are tried; if
/// there are more than `most_tries`, that many values are tried in equal ratios, from the smallest tape to all tapes.
/// Cost: O(L) for each, by playing it   \param meter  counts the work; null for no limit
/// \throws too_much_work
[[nodiscard]] inline std::optional<std::vector<action>> chen_greedy(chain_model const& c, std::int64_t budget,
                                                                    std::size_t most_tries = 64,
                                                                    work_meter* meter = nullptr) {
  std::size_t const stages = std::size_t(c.stages);
  // With a limit below every sum, each segment is one stage: -1 is the first candidate.
  value_list<std::int64_t> closings{-1};
  if (stages * (stages + 1) / 2 <= most_tries) {
    for (std::size_t i = 0; i < stages; ++i)
      for (std::int64_t j = std::int64_t(i), sum = 0; j < c.stages; ++j) closings.push_back(sum += c.s[std::size_t(j)]);
  } else {
    std::int64_t all = 0, least = endless;
    for (std::size_t i = 0; i < stages; ++i) all += c.s[i], least = (std::min)(least, c.s[i]);
    double const from = (std::max)(1.0, double(least)), ratio = (std::max)(1.0, double(all) / from);
    for (std::size_t k = 0; k < most_tries; ++k)
      closings.push_back(
          std::int64_t(from * power(ratio, double(k) / double(std::max<std::size_t>(1, most_tries - 1)))));
    closings.push_back(all);
  }
  sort_values(closings, [](std::int64_t one, std::int64_t other) { return one < other; });
  closings.remove_repeated();
  std::optional<std::vector<action>> best;
  chain_cost least;
  for (auto const most : closings) {
    auto plan = chen_greedy_at(c, most);
    count_work(meter, 64 * wide(stages + 1));
    chain_cost const cost = replay(c, plan, {}, "cairn::chain_planner");
    if (cost.peak > budget || (best && std::tie(least.makespan, least.peak) <= std::tie(cost.makespan, cost.peak)))
      continue;
    best = std::move(plan);
    least = cost;
  }
  return best;
}

}  // namespace cairn::detail
