// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file action_range.hpp  Plans that are lists of actions: those of chains and graphs.
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/run/sweep/sweep_failure.hpp>

namespace cairn::detail {

/// A list of actions in memory.
template <class Plan>
concept action_range = requires(Plan const& list) {
  { list.data() } -> std::convertible_to<action const*>;
  { list.size() } -> std::convertible_to<std::size_t>;
};
/// A list of actions, or an object with a member `actions` that is one.
template <class Plan>
concept has_actions = action_range<Plan> || requires(Plan const& plan) {
  requires action_range<std::remove_cvref_t<decltype(plan.actions)>>;
};
template <has_actions Plan>
[[nodiscard]] constexpr auto const& actions_in(Plan const& plan) noexcept {
  if constexpr (action_range<Plan>) return plan;
  else return plan.actions;
}

/// Walks a list that its owner keeps.
class list_cursor {
 public:
  template <action_range Actions>
  explicit list_cursor(Actions const& actions) noexcept : at_{actions.data()}, end_{at_ + actions.size()} {}
  /// The next action; `done` after the last.
  [[nodiscard]] action next() noexcept { return at_ != end_ ? *at_++ : action{}; }

 private:
  action const* at_;
  action const* end_;
};

/// One sweep by a list, a part of the function that calls it. Notes an exception in `failure` and rethrows it.
/// \pre states and user can obey the plan
/// \param status  of the sweep before these actions   \returns how often steps ran, those before included
template <class Actions, class States, class Step, class User, class Observer, class Counts = sweep_status>
[[gnu::always_inline]] inline wide obey_list(Actions const& actions, States& states, Step& step, User& user,
                                             Observer& observer, sweep_failure& failure, Counts&& status = Counts{}) {
  list_cursor walk{actions};
  struct note {
    sweep_failure& failure;
    sweep_status const& status;
    ~note() { failure = status.failure; }
  } const noted{failure, status};
  while (execute(walk, states, step, user, observer, status) != stop_reason::done) {
  }
  return status.ran;
}

}  // namespace cairn::detail
