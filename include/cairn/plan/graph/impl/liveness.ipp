// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cairn/core/error.hpp>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/plan/graph/liveness.hpp>

namespace cairn {
namespace detail {

/// What it takes to run operation v again for the action of a rank, from the values that are kept then.
struct remaking {
  std::int64_t time = 0, bytes = 0;

  /// \param is_dropped  values that are not there before their first use in the reverse sweep
  /// \param tape  bytes of the tape that it makes, too
  remaking(graph_model const& model, std::vector<value_liveness> const& values, std::vector<char> const& is_dropped,
           std::size_t v, step_index rank, std::int64_t tape) {
    // The operations that v depends on whose values are not there at that moment.
    std::vector<char> runs(v + 1, 0);
    runs[v] = 1;
    for (std::size_t w = v + 1; w-- > 0;) {
      if (!runs[w]) continue;
      time += model.time[w];
      for (std::size_t const input : model.inputs[w]) {
        auto const &first_use = values[input].first_backward_use, &last_use = values[input].last_backward_use;
        bool const is_there = last_use && *last_use >= rank && (!is_dropped[input] || *first_use < rank);
        if (!is_there) runs[input] = 1;
      }
    }
    std::vector<std::size_t> last(v + 1, v);  // the last reader of each value among the operations that run again
    for (std::size_t w = 0; w < v; ++w)
      if (runs[w])
        for (std::size_t const input : model.inputs[w]) last[input] = w;
    for (std::size_t const input : model.inputs[v]) last[input] = v;
    std::int64_t live = 0;
    for (std::size_t w = 0; w <= v; ++w) {
      if (!runs[w]) continue;
      live += model.bytes[w] + (w == v ? tape : 0);
      bytes = (std::max)(bytes, live + model.work[w]);
      for (std::size_t const input : model.inputs[w])
        if (runs[input] && last[input] == w) live -= model.bytes[input];
    }
  }
};

/// For each rank 0..2n+1: the time of all actions of a sweep that come before it.
[[nodiscard]] inline std::vector<std::int64_t> times_before(graph_model const& model) {
  std::size_t const count = model.count;
  std::vector<std::int64_t> before(2 * count + 2, 0);
  for (std::size_t rank = 0; rank <= 2 * count; ++rank)
    before[rank + 1] = before[rank] + (rank < count ? model.time[rank] : model.adjoint_time[2 * count - rank]);
  return before;
}

}  // namespace detail

CAIRN_DECL std::vector<value_liveness> liveness_of(operation_graph const& graph, std::span<step_index const> dropped) {
  constexpr char const* who = "cairn::liveness_of";
  detail::graph_model const model{graph, who};
  std::size_t const count = model.count;
  std::vector<char> is_dropped(count, 0);
  for (step_index const v : dropped) {
    if (v < 0 || std::size_t(v) >= count)
      throw invalid_plan{who,
                         "a dropped value is not an operation of the graph",
                         {{"value", v}, {"operations", count}},
                         "give numbers of operations"};
    is_dropped[std::size_t(v)] = 1;
  }
  std::vector<value_liveness> values(count);
  for (std::size_t v = 0; v < count; ++v) {
    values[v].bytes = model.bytes[v];
    values[v].created = step_index(v);
    values[v].last_forward_use = step_index(model.last_reader[v]);
  }
  auto const before = detail::times_before(model);
  for (std::size_t w = count; w-- > 0;)
    for (std::size_t const v : model.needs[w]) {
      step_index const rank = step_index(2 * count - w);
      if (!values[v].first_backward_use) values[v].first_backward_use = rank;
      values[v].last_backward_use = rank;
    }
  for (std::size_t v = 0; v < count; ++v) {
    value_liveness& value = values[v];
    if (!value.first_backward_use) continue;
    step_index const rank = *value.first_backward_use;
    value.inactive_time = before[std::size_t(rank)] - before[std::size_t(value.last_forward_use) + 1];
    detail::remaking const again{model, values, is_dropped, v, rank, 0};
    value.recompute_time = again.time, value.recompute_bytes = again.bytes;
  }
  return values;
}

CAIRN_DECL std::vector<value_liveness> tape_liveness_of(operation_graph const& graph,
                                                        std::span<step_index const> dropped) {
  auto const values = liveness_of(graph, dropped);
  detail::graph_model const model{graph, "cairn::tape_liveness_of"};
  std::size_t const count = model.count;
  std::vector<char> is_dropped(count, 0);
  for (step_index const v : dropped) is_dropped[std::size_t(v)] = 1;
  auto const before = detail::times_before(model);
  std::vector<value_liveness> tapes(count);
  for (std::size_t v = 0; v < count; ++v) {
    value_liveness& tape = tapes[v];
    tape.created = tape.last_forward_use = step_index(v);
    if (!model.has_tape[v]) continue;
    step_index const rank = step_index(2 * count - v);
    detail::remaking const again{model, values, is_dropped, v, rank, model.tape[v]};
    tape.bytes = model.tape[v];
    tape.first_backward_use = tape.last_backward_use = rank;
    tape.inactive_time = before[std::size_t(rank)] - before[v + 1];
    tape.recompute_time = again.time, tape.recompute_bytes = again.bytes;
  }
  return tapes;
}

CAIRN_DECL std::vector<std::int64_t> live_bytes(operation_graph const& graph) {
  detail::graph_model const model{graph, "cairn::live_bytes"};
  detail::run_measure measure{model};
  (void)measure.cost(detail::store_all_runs(model));
  return measure.bytes_at();
}

}  // namespace cairn
