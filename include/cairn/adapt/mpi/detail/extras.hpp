// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file extras.hpp  The arguments in any order that verbs for chains and graphs take, in a sweep of all ranks.
#include <type_traits>
#include <utility>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/adapt/mpi/detail/meeting.hpp>
#include <cairn/core/event.hpp>
#include <cairn/run/detail/one_of.hpp>

namespace cairn::detail {

/// The argument itself or, if it is an observer, an observer around it that also meets the other ranks.
template <class Extra>
[[nodiscard]] decltype(auto) meeting_extra(meeting const& with, char const* operation, Extra&& extra) {
  if constexpr (observes<Extra>) return meets_between<Extra>{with, operation, std::forward<Extra>(extra)};
  else return static_cast<Extra&&>(extra);
}

/// Calls run(extras...) between two rounds of the ranks, with an observer that meets the other ranks if they meet
/// between actions.
template <bool BetweenActions, class Plan, class Run, class... Extras>
auto run_with_extras(collective<BetweenActions> const& with, char const* operation, Plan const& plan, Run const& run,
                     Extras&&... extras) {
  auto const& ranks = inside::of(with);
  return ranks.around(operation, plan, [&] {
    if constexpr (!BetweenActions) return run(std::forward<Extras>(extras)...);
    else if constexpr ((observes<Extras> || ...))
      return run(meeting_extra(ranks, operation, std::forward<Extras>(extras))...);
    else return run(std::forward<Extras>(extras)..., meets_between<no_observer>{ranks, operation, no_observer{}});
  });
}

}  // namespace cairn::detail
