// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file gradient.hpp  The adjoint of a loop that all ranks run together.
#include <type_traits>
#include <utility>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/run/detail/last_arguments.hpp>
#include <cairn/run/gradient.hpp>

namespace cairn {
namespace detail {

/// Calls run(work, observer, options) with the last arguments of a verb, between two rounds of the ranks; with an
/// observer that meets the other ranks if they meet between actions.
template <class State, class Plan, bool BetweenActions, class P, class Run, class Work, class Observer, class Options>
auto run_together(collective<BetweenActions> const& with, char const* operation, P const& plan, Run const& run,
                  Work&& work, Observer&& observer, Options options) {
  auto const& ranks = inside::of(with);
  return ranks.around(operation, plan, [&] {
    if constexpr (!BetweenActions)
      return run(std::forward<Work>(work), std::forward<Observer>(observer), options);
    else {
      auto const meets = [&]<class Used, class Watching>(Used&& used, Watching&& watching, auto asked) {
        return run(std::forward<Used>(used),
                   meets_between<Watching>{ranks, operation, std::forward<Watching>(watching)}, asked);
      };
      return in_their_places<State, Plan>(meets, std::forward<Work>(work), std::forward<Observer>(observer), options);
    }
  });
}

}  // namespace detail

/// The same as `gradient` without `collective`, by all ranks together.
/// \param with  the ranks; see `collective`   \param work, observer, options  as without `collective`
/// \throws collective_error   on all ranks, if one of them cannot go on: before any step runs if plans differ
template <class Step, class X0, class P, class Seed, class Adjoint, bool BetweenActions,
          class Work = detail::own_workspace, class Observer = no_observer, class Options = no_options>
auto gradient(Step&& step, X0&& x0, P const& plan, Seed&& seed, Adjoint&& adjoint, collective<BetweenActions> with,
              Work&& work = {}, Observer&& observer = {}, Options options = {}) {
  auto const run = [&](auto&& used, auto&& watching, auto asked) {
    return gradient(step, std::forward<X0>(x0), plan, std::forward<Seed>(seed), adjoint,
                    std::forward<decltype(used)>(used), std::forward<decltype(watching)>(watching), asked);
  };
  return detail::run_together<std::remove_cvref_t<X0>, detail::plan_type<P>>(
      with, "cairn::gradient", plan, run, std::forward<Work>(work), std::forward<Observer>(observer), options);
}

}  // namespace cairn
