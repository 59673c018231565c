// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/plan/text/detail/curve_moments.hpp>
#include <cairn/plan/text/detail/part_table.hpp>
#include <cairn/plan/text/sweep_breakdown.hpp>

namespace cairn::detail {

CAIRN_DECL breakdown breakdown_of(std::vector<action> const& actions, curve_measures const& by) {
  part_table table{"cairn::sweep_breakdown",
                   {"checkpoints", "states in use", "adjoints", "tapes", "tables", "initial state"}};
  bool const in_bytes = has_sizes(by);
  each_moment(actions, by, [&](curve_moment const& at) {
    if (in_bytes)
      table.add({}, {at.kept, at.parts.states - at.kept, at.parts.adjoints, at.parts.tapes + at.parts.terms,
                     at.parts.tables(), at.parts.initial + at.parts.params + at.parts.gradient});
    else table.add({}, {at.kept, at.held - at.kept, 0, 0, 0, 0});
  });
  auto of = table.made(in_bytes ? breakdown_unit::bytes : breakdown_unit::count);
  of.across = "action";
  return of;
}

}  // namespace cairn::detail
