// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file gradient.hpp  The adjoint of a loop that all ranks run together.
#include <type_traits>
#include <utility>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/adapt/mpi/detail/extras.hpp>
#include <cairn/run/gradient.hpp>

namespace cairn {
namespace detail {

/// Ranks that run a loop together must obey one plan.
template <class Plan>
[[nodiscard]] consteval bool check_plan_of_ranks() {
  constexpr bool planned = !counted_budget<Plan> && !measured_budget<Plan>;
  static_assert(
      planned,
      "cairn: ranks that run a loop together need one plan, not a budget, from which each rank would make its "
      "own; let all of them agree on one by cairn::mpi_plan(comm, budget, work)");
  return planned;
}

}  // namespace detail

/// The same as `gradient` without `collective`, by all ranks together.
/// \param plan  as without `collective`, but not a budget   \param with  the ranks; see `collective`   \param last  as
///   without `collective`
/// \throws collective_error   on all ranks, if one of them cannot go on: before any step runs if plans differ
template <class Step, class X0, class Plan, class Seed, class Adjoint, bool BetweenActions, class... Last>
auto gradient(Step&& step, X0&& x0, Plan const& plan, Seed&& seed, Adjoint&& adjoint, collective<BetweenActions> with,
              Last&&... last) {
  if constexpr (!detail::check_plan_of_ranks<Plan>()) return detail::refuse_gradient<Step, X0, Seed>();
  else {
    auto const run = [&](auto&&... given) {
      return gradient(step, std::forward<X0>(x0), plan, std::forward<Seed>(seed), adjoint,
                      std::forward<decltype(given)>(given)...);
    };
    return detail::run_with_extras(with, "cairn::gradient", plan, run, std::forward<Last>(last)...);
  }
}

}  // namespace cairn
