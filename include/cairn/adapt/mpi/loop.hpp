// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop.hpp  A loop that all ranks have run forward together, and reverse together.
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/core/error.hpp>
#include <cairn/run/loop.hpp>

namespace cairn {

namespace detail {
/// Whether what this made is kept on disk.
template <class Run> inline constexpr bool is_on_disk = false;
template <class Step, class State, class Plan, class Store, class Options, class Observer, class Wrt>
inline constexpr bool
    is_on_disk<checkpointed_run<Step, State, Plan, workspace<State, Plan, Store, Options>, Observer, Wrt>> =
        outlives_process<Store>;
}  // namespace detail

/// A `checkpointed_run` of all ranks: `reverse` is a sweep of all ranks, too. All other members, `at` and walks
/// backwards included, are those of `checkpointed_run`; an exception of theirs stays on its rank. If steps communicate,
/// all ranks must call these members together. On disk there are no walks: ranks would meet in them.
template <class Run>
class collective_run : public Run {
 public:
  /// Made by `checkpointed_loop` and `checkpointed_while` with a `collective`.
  collective_run(Run&& run, detail::rendezvous with) : Run{std::move(run)}, with_{std::move(with)} {}

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
  /// As in `checkpointed_run`.   \throws invalid_call   on disk
  [[nodiscard]] auto backward() & { return check_walk(), Run::backward(); }
  /// The same for a temporary run.
  [[nodiscard]] auto backward() && { return check_walk(), static_cast<Run&&>(*this).Run::backward(); }
  /// Refused: the seed is missing.
  template <class Adjoint>
  auto reverse(Adjoint&& adjoint) {
    return Run::reverse(std::forward<Adjoint>(adjoint));
  }

 private:
  static void check_walk() {
    if constexpr (detail::is_on_disk<Run>)
      throw invalid_call{"cairn::backward", "ranks that keep a run on disk together do not walk backwards over it", {},
                         "reverse it, or keep it in memory"};
  }
  detail::rendezvous with_;
};

}  // namespace cairn

/// For structured bindings: the final state and the checkpoints.
template <class Run>
struct std::tuple_size<cairn::collective_run<Run>> : std::tuple_size<Run> {};
/// The final state, or the checkpoints.
template <std::size_t Place, class Run>
struct std::tuple_element<Place, cairn::collective_run<Run>> : std::tuple_element<Place, Run> {};
