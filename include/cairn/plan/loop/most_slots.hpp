// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file most_slots.hpp  The most slots of any kind of plan that fit a budget.
#include <limits>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/rules/detail/most_within.hpp>

namespace cairn {

/// The most slots for which `make(slots)` fits the budget.
/// \param make  a kind of plan: `make(slots)` is a schedule; `make.least()` and `make.most()` are the fewest and the
///   most slots that it takes; more slots must never take fewer bytes
/// Cost: makes and estimates about five plans.   \throws what `make` and `estimate` throw
template <class Make>
[[nodiscard, gnu::cold]] slot_fit most_slots_within(byte_size budget, workload const& work, Make const& make) {
  constexpr slot_index most_estimated = (std::numeric_limits<slot_index>::max)() - 16;
  wide const most = budget.count();
  auto const bytes_with = [&](slot_index slots) {
    auto const& plan = make(slots);
    detail::check_tape_bytes(detail::as_run(plan, work), plan.leaf(), "cairn::most_slots_within");
    return estimate(plan, work).memory_bytes;
  };
  slot_index const low = make.least();
  if (low > most_estimated) return {false, low, wide(low) * work.state_bytes};
  slot_index high = make.most() < most_estimated ? make.most() : most_estimated;
  if (work.state_bytes > 0 && most / work.state_bytes < wide(high)) high = slot_index(most / work.state_bytes) + 1;
  return detail::most_within(most, low, high, bytes_with);
}

}  // namespace cairn
