// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_model.hpp  A checked graph with the sums that planners read repeatedly.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>
#include <cairn/rules/detail/graph_walk.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::detail {

/// Larger than any sum of a graph; four times this value does not overflow.
inline constexpr std::int64_t unreachable = (std::numeric_limits<std::int64_t>::max)() / 4;

/// The graph with the loss as operation `count`: its value has no bytes, it takes no time forward, and its adjoint is
/// the loss.
struct graph_model : graph_reads {
  std::vector<std::int64_t> bytes, time, work, tape, adjoint, adjoint_time, adjoint_work;  ///< of 0..n
  std::vector<std::int64_t> copy;  ///< of 0..n: bytes of a copy of the states that it uses
  bool has_copies = false;         ///< whether any of these is not 0
  std::vector<std::int64_t>
      open;  ///< open[p], 0..n+1: bytes of the adjoints that exist after those of p..n have run
  std::vector<std::int64_t> back_work;  ///< of 0..n: bytes besides values and tapes while the adjoint of v runs

  /// \throws invalid_plan, overflow_error   as `check_graph` does
  graph_model(operation_graph const& graph, char const* who) : graph_reads{graph, who} {
    std::size_t const all = count + 1;
    for (auto* list : {&bytes, &time, &work, &tape, &adjoint, &adjoint_time, &adjoint_work, &copy, &back_work})
      list->assign(all, 0);
    for (std::size_t v = 0; v < count; ++v) {
      graph_operation const& of = graph.operations[v];
      bytes[v] = of.bytes, time[v] = of.time, work[v] = of.work, tape[v] = of.tape_bytes;
      adjoint[v] = of.adjoint_bytes < 0 ? of.bytes : of.adjoint_bytes;
      adjoint_time[v] = of.adjoint_time, adjoint_work[v] = of.adjoint_work;
      copy[v] = of.copy_bytes;
      has_copies = has_copies || of.copy_bytes > 0;
    }
    adjoint_time[count] = graph.loss_time, adjoint_work[count] = graph.loss_work;
    open.assign(all + 1, 0);
    for (std::size_t p = 0; p <= count; ++p)
      for (std::size_t v = 0; v < p; ++v)
        if (last_reader[v] >= p) open[p] += adjoint[v];
    for (std::size_t v = 0; v <= count; ++v) back_work[v] = open[v] + adjoint[v] + adjoint_work[v];
  }

  /// Time of a sweep that runs each operation and each adjoint once; no sweep is faster.
  [[nodiscard]] std::int64_t least_time() const noexcept {
    std::int64_t sum = 0;
    for (std::size_t v = 0; v <= count; ++v) sum += time[v] + adjoint_time[v];
    return sum;
  }
  /// Bytes of all tapes.
  [[nodiscard]] std::int64_t tape_bytes() const noexcept {
    return std::accumulate(tape.begin(), tape.end(), std::int64_t{0});
  }
  /// Whether at most one value is read across the gap before operation p.
  [[nodiscard]] bool is_cut(std::size_t p) const noexcept {
    std::size_t crossing = 0;
    for (std::size_t v = 0; v < p; ++v) crossing += last_reader[v] >= p;
    return crossing <= 1;
  }
};

}  // namespace cairn::detail
