#pragma once
/// \file lower_bounds.hpp  What no plan for a graph can undercut, in bytes and in time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>
#include <cairn/plan/graph/detail/graph_model.hpp>

namespace cairn::detail {

/// Bytes that the action in most need of them takes, whatever the plan.
[[nodiscard]] inline std::int64_t least_peak_bound(graph_model const& model) {
  std::int64_t most = 0;
  auto const sum = [&](std::vector<std::size_t> const& values) {
    std::int64_t bytes = 0;
    for (std::size_t const v : values) bytes += model.bytes[v];
    return bytes;
  };
  for (std::size_t v = 0; v <= model.count; ++v) {
    most = (std::max)(most, sum(model.needs[v]) + model.back_work[v]);
    if (v < model.count) most = (std::max)(most, sum(model.inputs[v]) + model.bytes[v] + model.work[v]);
  }
  return most;
}

/// Time that every plan within the budget spends on operations run again.
/// When the adjoint of a starts, every operation below it has run. Values that the adjoints a-1..b read, a's own aside,
/// are then kept, in what room there is, or run again before b's adjoint; the fractional knapsack bounds the time kept.
/// Such spans follow one another, so their bounds add. Cost: O(n^3) for up to 256 operations, beyond them one span to
/// the end for each a. \pre the budget is feasible
[[nodiscard]] inline std::int64_t least_extra_time(graph_model const& model, std::int64_t budget) {
  std::size_t const count = model.count;
  std::vector<std::size_t> by_worth(count);  // most time a byte first
  std::iota(by_worth.begin(), by_worth.end(), std::size_t{0});
  auto const worth = [&](std::size_t v) {
    return model.bytes[v] == 0 ? std::numeric_limits<double>::infinity()
                               : double(model.time[v]) / double(model.bytes[v]);
  };
  std::stable_sort(by_worth.begin(), by_worth.end(), [&](std::size_t v, std::size_t w) { return worth(v) > worth(w); });
  std::vector<std::int64_t> most(count + 1, 0);  // of all spans from the loss to here
  for (std::size_t a = count; a > 0; --a) {
    std::vector<char> read(count, 0);
    std::int64_t room = budget - model.back_work[a];
    for (std::size_t const v : model.needs[a]) room -= model.bytes[v], read[v] = 2;
    if (room < 0) return 0;
    for (std::size_t b = a; b-- > 0;) {
      for (std::size_t const v : model.needs[b])
        if (read[v] == 0) read[v] = 1;
      if (count > 256 && b > 0) continue;
      std::int64_t again = 0, left = room;
      for (std::size_t const v : by_worth) {
        if (read[v] != 1) continue;
        if (model.bytes[v] <= left) left -= model.bytes[v];
        else if (left == 0) again += model.time[v];
        else
          again += std::max<std::int64_t>(
              0, std::int64_t(double(model.time[v]) * (1 - double(left) / double(model.bytes[v])) * (1 - 1e-9))),
              left = 0;
      }
      most[b] = (std::max)(most[b], most[a] + again);
    }
  }
  return most[0];
}

}  // namespace cairn::detail
