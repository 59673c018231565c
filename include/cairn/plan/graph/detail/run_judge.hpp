// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_judge.hpp  What all parts of a search for orders share: the budget, the cost of an order, the effort left,
/// and random numbers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Judges orders for the parts of a search. Deterministic: the same calls in the same order give the same results.
struct run_judge {
  static constexpr unsigned sums_for_action = 10;  ///< a visit of an action takes as long as this many sums

  graph_model const& model;  ///< must outlive this object
  std::int64_t budget;
  std::uint64_t effort;      ///< actions that may still be visited
  work_meter* meter;         ///< counts the work; null for no limit
  run_measure measure{model};
  std::mt19937_64 numbers{20240607};

  [[nodiscard]] std::size_t draw(std::size_t below) { return std::size_t(numbers() % below); }
  void spend(std::uint64_t actions) {
    effort -= (std::min)(effort, actions);
    count_work(meter, wide(actions) * sums_for_action);
  }
  [[nodiscard]] run_cost cost_of(run_order const& runs) {
    spend(runs.size());
    return measure.cost(runs);
  }
  /// Runs whose value was made before, in random order.
  [[nodiscard]] std::vector<std::size_t> runs_again(run_order const& runs) {
    std::vector<std::size_t> again;
    std::vector<char> made(model.count + 1, 0);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].kind != action_kind::advance) continue;
      if (char& is_made = made[std::size_t(runs[i].from)]; is_made) again.push_back(i);
      else is_made = 1;
    }
    for (std::size_t k = again.size(); k > 1; --k) std::swap(again[k - 1], again[draw(k)]);
    return again;
  }
};

}  // namespace cairn::detail
