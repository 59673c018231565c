#pragma once
/// \file walked_counts.hpp  The totals of a schedule that does not know them: by a walk that trusts every action.
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// Whether `plan.counts()` is a closed form. Plans that wrap another one say so by `is_counted()`.
template <schedule Plan>
[[nodiscard]] constexpr bool knows_counts(Plan const& plan) {
  if constexpr (!counted_schedule<Plan>) return false;
  else if constexpr (requires { { plan.is_counted() } -> std::same_as<bool>; }) return plan.is_counted();
  else return true;
}

/// Adds one action to the totals; `states` and `tapes` are how many are kept.
constexpr void add_to(schedule_counts& sum, slot_index& states, slot_index& tapes, action const& a) noexcept {
  auto const length = wide(a.to) - wide(a.from);
  switch (a.kind) {
    case action_kind::advance: sum.advances += length; break;
    case action_kind::turn: sum.turned += length; break;
    case action_kind::load: ++sum.loads; break;
    case action_kind::drop: --(a.what == content::tape ? tapes : states); break;
    case action_kind::save:
      ++sum.saves;
      if (++states > sum.peak_slots) sum.peak_slots = states;
      break;
    case action_kind::record:
      sum.recorded += length;
      if (++tapes > sum.peak_tapes) sum.peak_tapes = tapes;
      break;
    case action_kind::reverse:
      sum.reversals += length;
      if (a.what == content::tape) sum.taped += length;
      break;
    case action_kind::done: break;
  }
}

/// Cost: one walk. \pre the walk ends; `verify` is for plans that may be wrong
template <schedule Plan>
[[nodiscard]] constexpr schedule_counts walked_counts(Plan const& plan) {
  schedule_counts sum;
  slot_index states = 0;
  slot_index tapes = 0;
  cursor_of<Plan> cursor = plan.walk();
  for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) add_to(sum, states, tapes, a);
  return sum;
}

}  // namespace cairn::detail
