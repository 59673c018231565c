// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file last_arguments.hpp  The last arguments of a verb: a workspace or a store, an observer, and options. Each is
/// optional.
#include <concepts>
#include <type_traits>
#include <utility>
#include <cairn/core/event.hpp>
#include <cairn/core/replay_check.hpp>
#include <cairn/run/workspace.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// Stands for a workspace that the sweep makes itself.
struct own_workspace {};

/// An argument from which a sweep gets its workspace.
template <class W, class State, class Plan>
concept workspace_or_store = std::is_same_v<W, own_workspace> || is_workspace_for<W, State, Plan> || store_of<W, State>;
/// What a verb takes in that place, except options.
template <class W, class State, class Plan>
concept work_for = workspace_or_store<W, State, Plan> || std::is_invocable_v<W&, event const&>;

/// The same with options, for the type of an argument as passed.
template <class Work, class State, class Plan>
inline constexpr bool takes_work = is_setting<Work> || work_for<std::remove_cvref_t<Work>, State, Plan>;

/// The workspace of a sweep for the caller's argument: a reference to the caller's workspace, or a new one over the
/// caller's store.
template <class State, class Plan, class Options, class Work>
struct used_workspace {
  using type = workspace<State, Plan, std::remove_reference_t<Work>&, workspace_options<Options>>;
};
template <class State, class Plan, class Options, class Work>
  requires is_workspace_for<std::remove_cvref_t<Work>, State, Plan>
struct used_workspace<State, Plan, Options, Work> { using type = Work; };
template <class State, class Plan, class Options, class Work>
  requires std::is_same_v<std::remove_cvref_t<Work>, own_workspace>
struct used_workspace<State, Plan, Options, Work> {
  using type = workspace<State, Plan, memory_store, workspace_options<Options>>;
};

/// That workspace, for a sweep that ends before the call returns.
template <class State, class Plan, class Options, class Work>
[[nodiscard]] typename used_workspace<State, Plan, Options, Work&>::type workspace_from(Work& work) {
  using type = typename used_workspace<State, Plan, Options, Work&>::type;
  if constexpr (std::is_same_v<Work, own_workspace>) return type{};
  else if constexpr (std::is_reference_v<type>) return work;
  else return type{work};
}

/// Calls `then(work, observer, options)` with each argument in its own place. A caller may pass options after any other
/// argument, and an observer in the place of the workspace.
template <class State, class Plan, class Then, class Work, class Observer, class Options>
decltype(auto) in_their_places(Then const& then, Work&& work, Observer&& observer, Options options) {
  if constexpr (is_setting<Work>)
    return in_their_places<State, Plan>(then, own_workspace{}, std::forward<Observer>(observer), work);
  else if constexpr (is_setting<Observer>)
    return in_their_places<State, Plan>(then, std::forward<Work>(work), no_observer{}, observer);
  else if constexpr (workspace_or_store<std::remove_cvref_t<Work>, State, Plan>)
    return then(std::forward<Work>(work), std::forward<Observer>(observer), options);
  else return then(own_workspace{}, std::forward<Work>(work), options);
}

}  // namespace cairn::detail
