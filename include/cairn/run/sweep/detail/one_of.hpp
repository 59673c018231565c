// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file one_of.hpp  Arguments after the fixed ones of a call, in any order.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/event.hpp>
#include <cairn/run/sweep/sweep_failure.hpp>

namespace cairn::detail {

template <class T>
inline constexpr bool is_failure = std::is_same_v<std::remove_reference_t<T>, sweep_failure>;

/// Whether T is an observer, or `no_observer`.
template <class T>
inline constexpr bool observes = std::is_same_v<std::remove_cvref_t<T>, no_observer> ||
                                 std::is_invocable_v<T&, event const&>;

/// Whether at most one of the arguments is of a kind.
template <bool... Is> inline constexpr bool at_most_one = (int(Is) + ... + 0) < 2;

template <std::size_t Place, class First, class... Rest>
[[nodiscard]] auto& argument_at(First& first, Rest&... rest) noexcept {
  if constexpr (Place == 0) return first;
  else return argument_at<Place - 1>(rest...);
}

/// The first of `rest` for which `Is` is true, or `otherwise`.
template <bool... Is, class Otherwise, class... Rest>
[[nodiscard]] auto& one_of(Otherwise& otherwise, Rest&... rest) {
  constexpr bool there = (Is || ... || false);
  if constexpr (!there) return otherwise;
  else {
    constexpr std::size_t place = [] {
      std::size_t k = 0;
      for (bool const is : {Is...}) {
        if (is) break;
        ++k;
      }
      return k;
    }();
    return argument_at<place>(rest...);
  }
}

/// An argument in a store's place that runs whole sweeps so that they outlive their process, such as `disk` of the
/// adapter. Its member type `keeps_runs` has sweep<Bar, State>(keeper, agreement, asked, parts, step, x0, plan, seed,
/// adjoint): `one_process`, or what several agree by; `last_given`; what the caller gave.
template <class T>
concept keeps_runs = requires { typename std::remove_cvref_t<T>::keeps_runs; };
template <class... Last> inline constexpr bool kept_on_disk = (keeps_runs<Last> || ... || false);
/// The store of a run that goes on where another process was.
template <class Store>
concept outlives_process = requires(Store& store) { { store.goes_on() } -> std::same_as<bool>; };

/// An argument with which several processes run a sweep together, such as `collective` of the adapter for MPI. Its
/// member type `together` has run(ranks, operation, plan, run, last...), which calls run(last...) in their way;
/// keep(ranks, run) for a run that is kept; and until(ranks, step, x0, keep_going, plan, last...) for a loop of unknown
/// length.
template <class T>
concept joins_ranks = requires { typename std::remove_cvref_t<T>::together; };
template <class... Last> inline constexpr bool together = (joins_ranks<Last> || ... || false);
/// One of several processes, and not one that only changes how its own process runs.
template <class T>
concept of_ranks = joins_ranks<T> && !requires { std::remove_cvref_t<T>::together::one_process; };

/// Calls then(ranks, others...).
template <class Then, class First, class... Rest>
decltype(auto) ranks_first(Then const& then, First&& first, Rest&&... rest) {
  if constexpr (joins_ranks<First>) return then(first, std::forward<Rest>(rest)...);
  else
    return ranks_first(
        [&](auto const& ranks, auto&&... others) -> decltype(auto) {
          return then(ranks, std::forward<First>(first), std::forward<decltype(others)>(others)...);
        },
        std::forward<Rest>(rest)...);
}
/// Calls run(ranks, others...) as one sweep of all ranks.
template <class Plan, class Run, class... Last>
auto by_ranks(char const* operation, Plan const& plan, Run const& run, Last&&... last) {
  auto const then = [&]<class Ranks>(Ranks const& ranks, auto&&... others) {
    auto const one = [&](auto&&... given) { return run(ranks, std::forward<decltype(given)>(given)...); };
    return Ranks::together::run(ranks, operation, plan, one, std::forward<decltype(others)>(others)...);
  };
  return ranks_first(then, std::forward<Last>(last)...);
}
/// An argument that gives a sweep a second thread.
template <class T>
concept gives_helper = requires { typename std::remove_cvref_t<T>::walks_ahead; };

/// \tparam Planned  there is a plan, from which all ranks run the same steps
/// \tparam OnDisk  whether the verb can be run on disk by all ranks
template <bool Planned, bool OnDisk, class... Last>
consteval bool check_together() {
  constexpr bool ranks = (of_ranks<Last> || ...);
  constexpr bool once = at_most_one<of_ranks<Last>...>;
  constexpr bool here = OnDisk || !ranks || !kept_on_disk<Last...>;
  static_assert(once, "cairn: two arguments of the same kind follow; give each kind once");
  static_assert(here,
                "cairn: ranks that run chains and graphs together do not go on from disk; give each a store of its own");
  static_assert(Planned || !ranks,
                "cairn: ranks that run a sweep together need one plan, not a budget, from which each rank would make "
                "or measure its own; let all of them agree on one, a loop by cairn::mpi_plan(comm, budget, work)");
  constexpr bool alone = !ranks || !(gives_helper<Last> || ...);
  static_assert(alone,
                "cairn: with cairn::parallel steps run beside adjoints, and the messages of both would cross: each rank of "
                "a collective sweep has one thread; leave out cairn::parallel");
  return once && here && alone && (Planned || !ranks);
}
/// What lasts as long as one call is not for a run that is kept.
template <class... Last>
consteval bool check_kept() {
  constexpr bool lasts = !((joins_ranks<Last> && !of_ranks<Last>) || ...);
  static_assert(lasts,
                "cairn: a run that is kept is reversed by later calls; set the mode around all of them by an object of "
                "your own, `cairn::flush_subnormals const flushed;`");
  return lasts;
}

}  // namespace cairn::detail
