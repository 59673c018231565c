#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/core/operation_graph.hpp>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/plan/graph/liveness.hpp>

namespace cairn {

CAIRN_DECL std::vector<value_liveness> liveness_of(operation_graph const& graph, std::span<step_index const> dropped) {
  constexpr char const* who = "cairn::liveness_of";
  detail::graph_model const model{graph, who};
  std::size_t const count = model.count;
  std::vector<char> is_dropped(count, 0);
  for (step_index const v : dropped) {
    if (v < 0 || std::size_t(v) >= count)
      throw invalid_plan{who,
                         "a dropped value is no operation of the graph",
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
  std::vector<std::int64_t> before(2 * count + 2, 0);  // time before the action of a rank
  for (std::size_t rank = 0; rank <= 2 * count; ++rank)
    before[rank + 1] = before[rank] + (rank < count ? model.time[rank] : model.adjoint_time[2 * count - rank]);
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
    // The operations that v depends on whose values are not there at that moment.
    std::vector<char> runs(v + 1, 0);
    runs[v] = 1;
    for (std::size_t w = v + 1; w-- > 0;) {
      if (!runs[w]) continue;
      value.recompute_time += model.time[w];
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
      live += model.bytes[w];
      value.recompute_bytes = (std::max)(value.recompute_bytes, live + model.work[w]);
      for (std::size_t const input : model.inputs[w])
        if (runs[input] && last[input] == w) live -= model.bytes[input];
    }
  }
  return values;
}

CAIRN_DECL std::vector<std::int64_t> live_bytes(operation_graph const& graph) {
  detail::graph_model const model{graph, "cairn::live_bytes"};
  detail::run_measure measure{model};
  (void)measure.cost(detail::store_all_runs(model));
  return measure.reached();
}

}  // namespace cairn
