// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file open_schedule.hpp  What a schedule is for a loop whose length is unknown until it ends.
#include <concepts>
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/copyable.hpp>

namespace cairn {

/// A cursor that learns during the forward run where the loop ends. Until then it behaves as if there were no end: at
/// the start and after each `advance` its position is a *candidate*, state i. There it returns drops, then at most one
/// `save` of the candidate, then `advance [i, to)` to the next candidate. If it `lags()`, `next()` is called only after
/// step i has run ahead and is known not to be the last; otherwise at once.
/// `stop_at(n, live)`, called once, says that the loop has n steps and that live, state n - 1 or n, is still there. It
/// is called at a candidate in place of `next()`, or after an advance [i, to) that was cut short: i <= live <= n <= to.
/// The cursor then returns drops, `turn [live, n)` and the reverse sweep.
template <class Cursor>
concept open_cursor = cursor<Cursor> && requires(Cursor cursor, Cursor const& asked, step_index i) {
  cursor.stop_at(i, i);
  { asked.lags() } -> std::same_as<bool>;
};

/// A plan that does not know the number of steps in advance: has `slots()`, and a `walk()` that returns an
/// `open_cursor`; see `online`.
template <class Plan>
concept open_schedule = !schedule<Plan> && requires(Plan const& plan) {
  { plan.slots() } -> std::same_as<slot_index>;
  requires open_cursor<std::remove_cvref_t<decltype(plan.walk())>>;
}
&&detail::copyable_value<Plan>;

namespace detail {
template <class Plan>
concept plan_of_sweeps = schedule<Plan> || open_schedule<Plan>;
}

}  // namespace cairn
