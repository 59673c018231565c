// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file walked_counts.hpp  The totals of any schedule, by a walk that trusts every action.
#include <cstddef>
#include <cairn/core/action.hpp>
#include <cairn/schedule/position.hpp>

namespace cairn {

namespace detail {

/// `counts()` is a closed form for every plan of this type.
template <class Plan>
concept always_counted =
    counted_schedule<Plan> && !requires(Plan const& plan) { { plan.is_counted() } -> std::same_as<bool>; };

}  // namespace detail

/// Whether `plan.counts()` is a closed form. A plan that wraps another one has a member `is_counted()`.
template <schedule Plan>
[[nodiscard]] constexpr bool knows_counts(Plan const& plan) {
  if constexpr (!counted_schedule<Plan>) return false;
  else if constexpr (detail::always_counted<Plan>) return true;
  else return plan.is_counted();
}

namespace detail {

/// How many states and tapes are stored.
struct held_counts {
  slot_index states = 0;
  slot_index tapes = 0;
  slot_index on_tier[tier_count] = {};
};

constexpr void raise_to(slot_index& peak, slot_index now) noexcept {
  if (now > peak) peak = now;
}

/// Adds one action to the totals.   \pre `a.where` is a tier that exists
constexpr void add_to(schedule_counts& sum, held_counts& now, action const& a) noexcept {
  auto const length = wide(a.to) - wide(a.from);
  switch (a.kind) {
    case action_kind::advance: sum.advances += length; break;
    case action_kind::turn: sum.turned += length; break;
    case action_kind::load:
      if (a.what == content::tape) {
        ++sum.restarts;
      } else {
        ++sum.loads;
        ++sum.on(a.where).loads;
      }
      break;
    case action_kind::drop:
      if (a.what == content::tape) {
        --now.tapes;
      } else {
        --now.states;
        --now.on_tier[std::size_t(a.where)];
      }
      break;
    case action_kind::save:
      ++sum.saves;
      ++sum.on(a.where).saves;
      raise_to(sum.peak_slots, ++now.states);
      raise_to(sum.on(a.where).peak, ++now.on_tier[std::size_t(a.where)]);
      break;
    case action_kind::record:
      sum.recorded += length;
      raise_to(sum.peak_tapes, ++now.tapes);
      break;
    case action_kind::reverse:
      sum.reversals += length;
      if (a.what == content::tape) sum.taped += length;
      break;
    case action_kind::done: break;
  }
}

}  // namespace detail

/// The totals of a schedule, by a walk that trusts every action; use `verify` for plans that may be wrong.   Cost: one
/// walk
/// \param stored  what the slots hold at the start   \pre the walk ends
template <schedule Plan>
[[nodiscard]] constexpr schedule_counts walked_counts(Plan const& plan, stored_state const* stored = nullptr,
                                                      std::size_t stored_count = 0) {
  schedule_counts sum;
  detail::held_counts now;
  for (std::size_t k = 0; k < stored_count; ++k) {
    detail::raise_to(sum.peak_slots, ++now.states);
    detail::raise_to(sum.on(stored[k].where).peak, ++now.on_tier[std::size_t(stored[k].where)]);
  }
  detail::each_action(plan, [&](action const& taken) { detail::add_to(sum, now, taken); });
  return sum;
}

}  // namespace cairn
