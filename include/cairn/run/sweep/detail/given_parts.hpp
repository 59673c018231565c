// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file given_parts.hpp  What the caller of a verb gave, beside what the sweep is made of, and the agreement of a
/// process that runs it alone.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/sweep/detail/byte_limit.hpp>
#include <cairn/run/sweep/detail/one_of.hpp>

namespace cairn::detail {

/// In the place of an agreement: a process that runs its sweep alone. Those that run one together call these members at
/// the same places. One that cannot go on throws, and all others throw at their next call.
struct one_process {
  static constexpr bool together = false;
  [[nodiscard]] static constexpr int rank() noexcept { return 0; }
  [[nodiscard]] static constexpr int size() noexcept { return 1; }
  /// All are in another verb now, which errors name.
  void goes_on_in(char const*) const noexcept {}
  /// All have come here.
  void meet() const noexcept {}
  /// The least of the values of all, each below 2^63.
  [[nodiscard]] std::uint64_t least(std::uint64_t own) const noexcept { return own; }
  /// Whether all have this value.
  [[nodiscard]] bool same(std::uint64_t) const noexcept { return true; }
  /// Each value becomes the least of those of all.
  void least_of_each(std::int64_t*, std::size_t) const noexcept {}
  /// The bytes of all, `count` of each, in their order.
  void gather(void const*, void*, std::size_t) const noexcept {}
};

struct no_terms {};
/// The adjoint of a run that is kept, before it is reversed.
struct not_given_yet {};
/// What the caller of a verb gave, beside the functions into which it is bound: for a sweep that another process may go
/// on with.
template <class StepGiven, class AdjointGiven, class SeedGiven, class Params = no_params, class DP = no_params,
          class Objective = no_terms, class Terms = no_terms, class KeepGoing = no_terms>
struct given_parts {
  StepGiven const* step;
  AdjointGiven const* adjoint;
  SeedGiven const* seed;
  Params const* p = nullptr;
  DP* dp = nullptr;
  Objective const* objective = nullptr;
  Terms* terms = nullptr;
  KeepGoing const* keep_going = nullptr;
  byte_limit limit = {};
  bool* seed_goes = nullptr;  ///< set before the sweep that asks for the seed the last time, which may then move it
};

/// The same with the limit of a budget, if there is one.
template <class Parts, class Limit>
[[nodiscard]] Parts within(Parts parts, Limit const& limit) noexcept {
  if constexpr (is_limit<Limit>) parts.limit = limit;
  return parts;
}

/// The options of the workspace of a run that other processes may go on with. The hash of an object takes a snapshot of
/// it, and is taken only if options ask for it.
template <class State, class Asked>
using options_on_disk = std::conditional_t<copied_state<State>, options_beside_others, workspace_options<Asked>>;

/// What stands in a store's place, with what the caller of the outer verb gave.
template <class Keeper, class Parts>
struct keeper_with {
  using keeps_runs = typename Keeper::keeps_runs;
  Keeper const& keeper;
  Parts const& parts;
};
/// An argument of the outer verb for the inner one.
template <class T, class Parts>
[[nodiscard]] decltype(auto) known_by(T&& given, Parts const& parts) {
  if constexpr (keeps_runs<T>) return keeper_with<std::remove_cvref_t<T>, Parts>{given, parts};
  else return std::forward<T>(given);
}

}  // namespace cairn::detail
