// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file given_parts.hpp  What the caller of a verb gave, beside what the sweep is made of.
#include <type_traits>
#include <utility>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/sweep/detail/byte_limit.hpp>
#include <cairn/run/sweep/detail/one_of.hpp>

namespace cairn::detail {

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
