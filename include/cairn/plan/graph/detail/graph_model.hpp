#pragma once
/// \file graph_model.hpp  A checked graph with what planners ask of it again and again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>
#include <cairn/core/operation_graph.hpp>

namespace cairn::detail {

/// More than any sum of a graph, and four of it still fit.
inline constexpr std::int64_t unreachable = (std::numeric_limits<std::int64_t>::max)() / 4;

/// The graph with the loss as operation `count`, whose value has no bytes, which takes no time forward, and whose
/// adjoint is the loss.
struct graph_model {
  std::size_t count;  ///< n
  std::vector<std::vector<std::size_t>> inputs;  ///< of 0..n, each once, ascending
  std::vector<std::vector<std::size_t>> needs;   ///< values that the adjoint of 0..n reads, ascending
  std::vector<std::size_t> last_reader;          ///< the last operation that reads value v, n for the loss; of 0..n-1
  std::vector<std::int64_t> bytes, time, work, tape, adjoint, adjoint_time, adjoint_work;  ///< of 0..n
  std::vector<std::int64_t>
      open;  ///< open[p], 0..n+1: bytes of the adjoints that are there once those of p..n have run
  std::vector<std::int64_t> back_work;  ///< of 0..n: bytes beside values and tapes while the adjoint of v runs

  /// \throws invalid_plan, overflow_error   as `check_graph`
  graph_model(operation_graph const& graph, char const* who)
      : count{(check_graph(graph, who), graph.operations.size())} {
    std::size_t const all = count + 1;
    inputs.resize(all), needs.resize(all);
    for (auto* list : {&bytes, &time, &work, &tape, &adjoint, &adjoint_time, &adjoint_work, &back_work})
      list->assign(all, 0);
    last_reader.assign(count, 0);
    auto const set_of = [](std::vector<step_index> const& from) {
      std::vector<std::size_t> set(from.begin(), from.end());
      std::sort(set.begin(), set.end());
      set.erase(std::unique(set.begin(), set.end()), set.end());
      return set;
    };
    std::vector<char> read(count);
    for (std::size_t v = 0; v < count; ++v) {
      graph_operation const& of = graph.operations[v];
      inputs[v] = set_of(of.inputs);
      for (std::size_t const input : inputs[v]) last_reader[input] = v, read[input] = 1;
      if (of.adjoint_needs_inputs) needs[v] = inputs[v];
      if (of.adjoint_needs_output) needs[v].push_back(v);
      bytes[v] = of.bytes, time[v] = of.time, work[v] = of.work, tape[v] = of.tape_bytes;
      adjoint[v] = of.adjoint_bytes < 0 ? of.bytes : of.adjoint_bytes;
      adjoint_time[v] = of.adjoint_time, adjoint_work[v] = of.adjoint_work;
    }
    inputs[count] = set_of(graph.outputs);
    if (graph.outputs.empty())
      for (std::size_t v = 0; v < count; ++v)
        if (!read[v]) inputs[count].push_back(v);
    needs[count] = inputs[count];
    for (std::size_t const output : inputs[count]) last_reader[output] = count;
    adjoint_time[count] = graph.loss_time, adjoint_work[count] = graph.loss_work;
    open.assign(all + 1, 0);
    for (std::size_t p = 0; p <= count; ++p)
      for (std::size_t v = 0; v < p; ++v)
        if (last_reader[v] >= p) open[p] += adjoint[v];
    for (std::size_t v = 0; v <= count; ++v) back_work[v] = open[v] + adjoint[v] + adjoint_work[v];
  }

  /// Time of a sweep that runs each operation and each adjoint once; none is faster.
  [[nodiscard]] std::int64_t least_time() const noexcept {
    std::int64_t sum = 0;
    for (std::size_t v = 0; v <= count; ++v) sum += time[v] + adjoint_time[v];
    return sum;
  }
  /// Bytes of all tapes.
  [[nodiscard]] std::int64_t tape_bytes() const noexcept {
    return std::accumulate(tape.begin(), tape.end(), std::int64_t{0});
  }
  /// Whether the values that are read across the gap before operation p are one alone, or none.
  [[nodiscard]] bool is_cut(std::size_t p) const noexcept {
    std::size_t crossing = 0;
    for (std::size_t v = 0; v < p; ++v) crossing += last_reader[v] >= p;
    return crossing <= 1;
  }
};

}  // namespace cairn::detail
