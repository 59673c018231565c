// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_segments.hpp  Plans that run a graph by segments of its operations: values that pass from segment to
/// segment are kept, values inside one are made again.
#include <cstddef>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/rules/detail/graph_walk.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::detail {

/// Runs the segments in order. The last one keeps what its adjoints read; the others run again, last to first.
/// \param ends  for each segment the first operation after it, ascending; the last one is n
[[nodiscard]] inline std::vector<action> segmented_actions(graph_reads const& reads,
                                                           std::vector<step_index> const& ends) {
  using namespace graph_actions;
  step_index const count = step_index(reads.count);
  auto const has_tape = [&](step_index v) { return reads.has_tape[std::size_t(v)] != 0; };
  auto const begin_of = [&](std::size_t segment) { return segment > 0 ? ends[segment - 1] : 0; };
  std::size_t const last = ends.size() - 1;
  std::vector<action> runs;
  if (!ends.empty())
    for (step_index v = 0; v < count; ++v) runs.push_back(v >= begin_of(last) && has_tape(v) ? record(v) : advance(v));
  runs.push_back(turn(count));
  for (std::size_t j = ends.size(); j-- > 0;) {
    for (step_index v = begin_of(j); v < ends[j] && j != last; ++v)
      if (has_tape(v)) runs.push_back(record(v));
      else if (step_index(reads.last_reader[std::size_t(v)]) < ends[j]) runs.push_back(advance(v));
    for (step_index v = ends[j]; v-- > begin_of(j);) runs.push_back(reverse(v));
  }
  // From the end: remove each `advance` whose value nothing reads, and drop each value after its last reader.
  std::vector<char> is_read(reads.count), stays(runs.size(), 1);
  std::vector<std::vector<action>> drops(runs.size());
  for (std::size_t i = runs.size(); i-- > 0;) {
    action const& a = runs[i];
    bool const makes = a.kind == action_kind::advance || a.kind == action_kind::record;
    if (makes) {
      char& read = is_read[std::size_t(a.from)];
      stays[i] = char(read != 0 || a.kind == action_kind::record);
      if (stays[i] && !read) drops[i].push_back(drop(a.from));
      read = 0;
      if (!stays[i]) continue;
    }
    for (std::size_t const u : (makes ? reads.inputs : reads.needs)[std::size_t(a.from)]) {
      if (is_read[u]) continue;
      is_read[u] = 1;
      bool const forgets = a.kind == action_kind::reverse && step_index(u) == a.from;
      if (!forgets) drops[i].push_back(drop(step_index(u)));
    }
  }
  std::vector<action> actions;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (stays[i]) actions.push_back(runs[i]);
    actions.insert(actions.end(), drops[i].begin(), drops[i].end());
  }
  return actions;
}

}  // namespace cairn::detail
