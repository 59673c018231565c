// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file byte_limit.hpp  The budget of a sweep whose values may grow beyond what was planned.
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::detail {

/// In its place: the plan is the caller's.
struct no_limit {};
template <class Limit> inline constexpr bool is_limit = !std::is_same_v<Limit, no_limit>;
struct byte_limit {
  wide budget = unknown_bytes;  ///< unknown: there is none
  wide beside = 0;              ///< what the sweep holds besides states
  wide state = 0;               ///< the largest state for which it was planned
  /// Parts of `beside` that may grow, as they were planned, and then as large as they have been.
  wide adjoints = 0, tapes = 0, terms = 0, gradient = 0;
  bool replanned = false;  ///< slots were given up
  /// What is left for what a leaf holds.
  [[nodiscard]] constexpr wide leaf_bytes() const noexcept { return budget == unknown_bytes ? budget : tapes; }
};
/// \param parts  of the plan
[[nodiscard]] constexpr byte_limit limited_to(wide budget, sweep_parts const& parts, wide state) noexcept {
  return {budget, parts.total() - parts.states, state, parts.adjoints, parts.tapes, parts.terms,
          parts.gradient};
}

/// What grows is beyond the budget.
struct states_too_large : infeasible_budget {
  states_too_large(wide budget, wide held)
      : infeasible_budget{"cairn::budget_of",
                          "states, adjoints, tapes or dp have grown, and what the sweep holds is beyond the budget with "
                          "any number of slots",
                          {{"budget", budget}, {"bytes", held}},
                          "give at least that many bytes; cairn::measured plans for the states of the first steps"} {}

  step_index open = -1;  ///< found after a reversal, which has left so many steps
  wide ran = 0;          ///< steps of an action that are not counted yet
};

}  // namespace cairn::detail
