// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file lower_bounds.hpp  Lower bounds on bytes and time for every plan for a graph.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/remake_cut.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// A lower bound on the peak of every plan: the bytes of the action that needs the most.
[[nodiscard]] inline std::int64_t least_peak_bound(graph_model const& model) {
  std::int64_t most = 0;
  auto const sum = [&](std::vector<std::size_t> const& values) {
    std::int64_t bytes = 0;
    for (std::size_t const v : values) bytes += model.bytes[v];
    return bytes;
  };
  for (std::size_t v = 0; v <= model.count; ++v) {
    most = (std::max)(most, sum(model.needs[v]) + model.tape[v] + model.back_work[v]);
    if (v < model.count) most = (std::max)(most, sum(model.inputs[v]) + model.bytes[v] + model.work[v]);
  }
  return most;
}

/// A lower bound on the time that every plan within the budget spends on operations run again.
/// When the adjoint of a starts, every operation below it has run. A value that the adjoints a-1..b read, and that the
/// adjoint of a does not read, is then either kept, within the free bytes, or made again before b's adjoint. It is made
/// from inputs for which the same holds. A cut at a price per byte bounds that time (`remake_cut`). Such spans do not
/// overlap, so their bounds add up.
/// Cost: cuts for each pair of some places; all places in graphs of up to 80 operations.
/// If the limit of the meter is reached, the bound of the one span from the loss to the end.
/// \pre the budget is feasible   \param meter  counts the work; null for no limit
[[nodiscard]] inline std::int64_t least_extra_time(graph_model const& model, std::int64_t budget,
                                                   work_meter* meter = nullptr) {
  std::size_t const count = model.count;
  constexpr wide sums_for_span = 256;  // for each operation
  if (count == 0) return 0;
  std::size_t const wanted = std::size_t(std::sqrt(double(std::size_t{1} << 19) / double(count)));
  std::size_t const ends = std::clamp<std::size_t>(wanted, 8, (std::max<std::size_t>)(8, count));
  std::vector<std::size_t> places;  // where spans begin and end
  for (std::size_t k = 0; k <= ends; ++k)
    if (std::size_t const place = count * k / ends; places.empty() || places.back() != place) places.push_back(place);
  auto const span = [&](std::size_t a, std::size_t b) {
    std::int64_t free_bytes = budget - model.back_work[a] - model.tape[a];
    for (std::size_t const v : model.needs[a]) free_bytes -= model.bytes[v];
    return remake_cut{model, {model, a, b}}.least_time((std::max)(0.0, double(free_bytes)));
  };
  auto const rounded = [](double time) { return std::int64_t(std::ceil(time * (1 - 1e-9))); };
  std::vector<double> most(places.size(), 0);  // the best bound for all spans from the loss to here
  double const whole = span(count, 0);
  try {
    for (std::size_t k = places.size(); k-- > 1;) {
      most[k - 1] = (std::max)(most[k - 1], most[k]);
      for (std::size_t j = k; j-- > 0;) {
        count_work(meter, sums_for_span * places[k]);
        most[j] = (std::max)(most[j], most[k] + span(places[k], places[j]));
      }
    }
  } catch (too_much_work const&) {
    return rounded(whole);
  }
  return rounded(most[0]);
}

}  // namespace cairn::detail
