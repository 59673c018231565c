// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file segments.hpp  Plans of one level: each stage is recorded in the forward run, or run again once as part of a
/// segment.
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

/// Appends the runs from state `from`, which stays, to state `to`; the states between are dropped.
inline void append_run(std::vector<action>& plan, std::int64_t from, std::int64_t to) {
  for (std::int64_t i = from; i < to; ++i) {
    plan.push_back(chain_actions::advance(i));
    if (i > from) plan.push_back(chain_actions::drop(i));
  }
}

/// Appends the recorded runs of stages [from, to).
inline void append_records(std::vector<action>& plan, std::int64_t from, std::int64_t to) {
  for (std::int64_t i = from; i < to; ++i) plan.push_back(chain_actions::record(i));
}

/// Appends the adjoints of stages [from, to), whose tapes exist.
inline void append_adjoints(std::vector<action>& plan, std::int64_t from, std::int64_t to) {
  for (std::int64_t i = to; i-- > from;) plan.push_back(chain_actions::reverse(i));
}

/// Stages [first, last) of which the forward run keeps only the first state.
struct chain_segment {
  std::int64_t first, last;
};

/// The plan that keeps all tapes except those of some segments, each of which is run again once.
/// \param again  the segments: none empty, in order, without overlap, within 0..L
[[nodiscard, gnu::cold]] inline std::vector<action> segments_plan(chain_model const& c,
                                                                  value_list<chain_segment> const& again) {
  std::vector<action> plan;
  std::int64_t at = 0;
  for (auto const& [first, last] : again) {
    append_records(plan, at, first);
    append_run(plan, first, last);
    at = last;
  }
  append_records(plan, at, c.stages);
  plan.push_back(chain_actions::turn(c.stages));
  at = c.stages;
  for (std::size_t k = again.size(); k-- > 0;) {
    auto const [first, last] = again[k];
    append_adjoints(plan, last, at);
    // State `last` has been kept by itself since the forward run. The loss drops state L itself.
    if (last < c.stages) plan.push_back(chain_actions::drop(last));
    append_records(plan, first, last);
    at = last;
    append_adjoints(plan, first, at);
    at = first;
  }
  append_adjoints(plan, 0, at);
  return plan;
}

}  // namespace cairn::detail
