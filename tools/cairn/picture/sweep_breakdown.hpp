// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep_breakdown.hpp  What the memory of a sweep is spent on, action by action.
#include <cstddef>

#include <cairn/plan/loop/estimate.hpp>
#include <cairn/plan/text/memory_curve.hpp>

#include "breakdown.hpp"
#include "part_table.hpp"

namespace picture {

/// The parts of `memory_over`, one row for each action: for `breakdown_svg`.
/// \throws overflow_error   beyond 2^63 - 1 bytes; and as `memory_over`
template <schedule Plan>
[[nodiscard]] breakdown sweep_breakdown(Plan const& plan, workload const& work) {
  auto const curve = memory_over(plan, work);
  part_table table{"picture::sweep_breakdown",
                   {"checkpoints", "states in use", "adjoints", "tapes", "tables", "initial state"}};
  for (std::size_t k = 0; k < curve.held.size(); ++k) {
    wide const kept = curve.kept[k];
    if (curve.in_bytes) {
      auto const& parts = curve.parts[k];
      table.add({}, {kept, parts.states - kept, parts.adjoints, parts.tapes + parts.terms, parts.tables(),
                     parts.initial + parts.params + parts.gradient});
    } else {
      table.add({}, {kept, curve.held[k] - kept, 0, 0, 0, 0});
    }
  }
  auto of = table.made(curve.in_bytes ? breakdown_unit::bytes : breakdown_unit::count);
  of.across = "action";
  return of;
}

}  // namespace picture
