// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop.hpp  A loop that all ranks have run forward together, and reverse together.
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/adapt/mpi/gradient.hpp>
#include <cairn/run/loop.hpp>

namespace cairn {

/// A `checkpointed_run` of all ranks: `reverse` is a sweep of all ranks, too. All other members, `at` and walks
/// backwards included, are those of `checkpointed_run`; an exception of theirs stays on its rank. If steps communicate,
/// all ranks must call these members together.
template <class Run>
class collective_run : public Run {
 public:
  /// Made by `checkpointed_loop` and `checkpointed_while` with a `collective`.
  collective_run(Run&& run, detail::meeting with) : Run{std::move(run)}, with_{std::move(with)} {}

  /// As in `checkpointed_run`, by all ranks together.   \throws collective_error   on all ranks
  template <class Seed, class Adjoint>
  auto reverse(Seed&& seed, Adjoint&& adjoint) {
    return with_.around("cairn::reverse", detail::without_plan{},
                        [&] { return Run::reverse(std::forward<Seed>(seed), std::forward<Adjoint>(adjoint)); });
  }
  /// The same with another place for the gradient with respect to the parameters.
  template <class Seed, class Adjoint, class DP>
  auto reverse(Seed&& seed, Adjoint&& adjoint, DP& into) {
    return with_.around("cairn::reverse", detail::without_plan{}, [&] {
      return Run::reverse(std::forward<Seed>(seed), std::forward<Adjoint>(adjoint), into);
    });
  }
  /// Refused: the seed is missing.
  template <class Adjoint>
  auto reverse(Adjoint&& adjoint) {
    return Run::reverse(std::forward<Adjoint>(adjoint));
  }

 private:
  detail::meeting with_;
};

/// The same as `checkpointed_loop` without `collective`, by all ranks together.
/// \param plan  as without `collective`, but not a budget   \param with  the ranks; see `collective`   \param last  as
///   without `collective`
/// \throws collective_error   on all ranks, if one of them cannot go on: before any step runs if plans differ
template <class Step, class X0, class Plan, bool BetweenActions, class... Last>
[[nodiscard]] auto checkpointed_loop(Step&& step, X0&& x0, Plan const& plan, collective<BetweenActions> with,
                                     Last&&... last) {
  if constexpr (!detail::check_plan_of_ranks<Plan>()) return detail::refuse_run<Step, X0>();
  else {
    auto const run = [&](auto&&... given) {
      return collective_run{checkpointed_loop(std::forward<Step>(step), std::forward<X0>(x0), plan,
                                              std::forward<decltype(given)>(given)...),
                            detail::inside::of(with)};
    };
    return detail::run_with_extras(with, "cairn::checkpointed_loop", plan, run, std::forward<Last>(last)...);
  }
}

}  // namespace cairn

/// For structured bindings: the final state and the checkpoints.
template <class Run>
struct std::tuple_size<cairn::collective_run<Run>> : std::tuple_size<Run> {};
/// The final state, or the checkpoints.
template <std::size_t Place, class Run>
struct std::tuple_element<Place, cairn::collective_run<Run>> : std::tuple_element<Place, Run> {};
