// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file extras.hpp  The arguments in any order that verbs for chains and graphs take, in a sweep of all ranks.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/adapt/mpi/detail/rendezvous.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/run/sweep/detail/kept_together.hpp>
#include <cairn/run/sweep/detail/one_of.hpp>

namespace cairn::detail {

/// Has the members of `one_process`; each is a round of the ranks.   \throws collective_error   on all ranks
class agreement {
 public:
  static constexpr bool together = true;
  agreement(rendezvous const& with, char const* operation) : with_{with}, operation_{operation} {}

  [[nodiscard]] int rank() const noexcept { return with_.ranks().rank(); }
  [[nodiscard]] int size() const noexcept { return with_.ranks().size(); }
  void goes_on_in(char const* operation) noexcept { operation_ = operation; }
  void meet() const { (void)with_.on_disk(operation_, {}); }
  [[nodiscard]] std::uint64_t least(std::uint64_t own) const { return voted(own).least(0); }
  [[nodiscard]] bool same(std::uint64_t own) const { return voted(own).same(0); }
  void least_of_each(std::int64_t* values, std::size_t count) const {
    meet();
    with_.ranks().least_of_each(values, count);
  }
  void gather(void const* own, void* into, std::size_t bytes) const {
    meet();
    with_.ranks().gather(own, into, bytes);
  }

 private:
  [[nodiscard]] ballot voted(std::uint64_t own) const {
    ballot mine;
    mine.put(0, own);
    return with_.on_disk(operation_, mine);
  }
  rendezvous with_;  // a kept run may outlive its `collective`
  char const* operation_;
};

/// A keeper of a run, such as `disk`, for one of several processes. See `keeps_runs`.
/// \tparam Agreement  has the members of `one_process`
template <class Keeper, class Agreement>
struct kept_together {
  Keeper const& keeper;
  Agreement all;

  struct keeps_runs {
    [[nodiscard]] static wide memory_bytes(kept_together const& on, slot_index slots, bool keeps_run = false) {
      return Keeper::keeps_runs::memory_bytes(on.keeper, slots, keeps_run);
    }
    [[nodiscard]] static constexpr slot_index states_behind(kept_together const&) noexcept { return 0; }
    template <class Bar, class State, class... Rest>
    static Bar sweep(kept_together const& on, one_process const&, Rest&&... rest) {
      return Keeper::keeps_runs::template sweep<Bar, State>(on.keeper, on.all, static_cast<Rest&&>(rest)...);
    }
    template <class State, class Step, class... Rest>
    static auto kept(kept_together const& on, Rest&&... rest) {
      return Keeper::keeps_runs::template kept<State, Step>(on.keeper, static_cast<Rest&&>(rest)..., on.all);
    }
  };
};

/// The argument itself; if it is an observer, and ranks meet between actions, an observer around it that also meets the
/// other ranks; if it keeps runs on disk, one that agrees with the other ranks.
template <bool BetweenActions, class Extra>
[[nodiscard]] decltype(auto) rendezvous_extra(rendezvous const& with, char const* operation, Extra&& extra) {
  if constexpr (keeps_runs<Extra>)
    return kept_together<std::remove_cvref_t<Extra>, agreement>{extra, {with, operation}};
  else if constexpr (BetweenActions && observes<Extra>)
    return meets_between<Extra>{with, operation, std::forward<Extra>(extra)};
  else return static_cast<Extra&&>(extra);
}

/// Calls run(extras...) between two rounds of the ranks, with an observer that meets the other ranks if they meet
/// between actions.
template <bool BetweenActions, class Plan, class Run, class... Extras>
auto run_with_extras(collective<BetweenActions> const& with, char const* operation, Plan const& plan, Run const& run,
                     Extras&&... extras) {
  auto const& ranks = inside::of(with);
  constexpr bool adds_observer = BetweenActions && !(observes<Extras> || ...);
  auto const all = [&] {
    if constexpr (!adds_observer)
      return run(rendezvous_extra<BetweenActions>(ranks, operation, std::forward<Extras>(extras))...);
    else
      return run(rendezvous_extra<BetweenActions>(ranks, operation, std::forward<Extras>(extras))...,
                 meets_between<no_observer>{ranks, operation, no_observer{}});
  };
  return ranks.around(operation, plan, all, kept_on_disk<Extras...>);
}

}  // namespace cairn::detail
