// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file open_loop.hpp  The forward half of a loop of unknown length, with the user's step and the function that ends
/// the loop.
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/run/form/detail/loop_step.hpp>
#include <cairn/run/sweep/detail/open_sweep.hpp>

namespace cairn::detail {

/// Makes an in-place step that returns bool look like one that returns nothing; notes the result of the last call.
template <class Step, class State>
struct stoppable {
  [[no_unique_address]] Step step;
  bool more = true;
  void operator()(State& x, step_index const i) {
    if constexpr (shape_of_step<Step, State>().indexed) more = step(x, i);
    else more = step(x);
  }
};
template <class Step> inline constexpr bool is_stoppable = false;
template <class Step, class State> inline constexpr bool is_stoppable<stoppable<Step, State>> = true;
/// The step as a run keeps it, made from the step as given.
template <class Step, class State>
using kept_step = std::conditional_t<shape_of_step<Step, State>().stops, stoppable<Step, State>, Step>;
template <class Step, class State>
struct given_in<stoppable<Step, State>> {
  static auto& step(auto& from) noexcept { return given_in<std::remove_cvref_t<Step>>::step(from.step); }
};
template <class Kept, class Step>
[[nodiscard]] decltype(auto) as_kept(Step&& step) {
  if constexpr (is_stoppable<Kept>) return Kept{std::forward<Step>(step)};
  else return std::forward<Step>(step);
}

/// Asks the user's function whether the loop continues from state i.
template <class KeepGoing, class State>
[[nodiscard]] bool ask(KeepGoing& keep_going, State const& x, step_index const i) {
  if constexpr (calls<KeepGoing, State const&, step_index const&>)
    return static_cast<bool>(call_lending(keep_going, x, i));
  else return static_cast<bool>(call_lending(keep_going, x));
}

/// The forward half of a loop whose length is known only when it ends.
template <class KeepGoing>
struct forward_until {
  static constexpr char const* operation = "cairn::checkpointed_while";
  static constexpr bool knows_length = false;
  explicit forward_until(KeepGoing& asked) noexcept : keep_going{asked} {}
  KeepGoing& keep_going;

  /// The user of `open_sweep`.
  template <class State, class Sweep, class Step>
  struct asked_loop {
    static constexpr bool in_place = shape_of_step<Step, State>().form == step_form::in_place;
    Sweep& sweep;
    Step& step;
    KeepGoing& keep_going;
    [[nodiscard]] bool goes_on(State const& x, step_index i) {
      bool const more = ask(keep_going, x, i);
      if constexpr (is_stoppable<Step>) return more && step.more;
      else return more;
    }
    void ends_at(step_index n) noexcept { sweep.ends_at(n); }
    [[nodiscard]] action const& as_shown(action const& a) const noexcept { return a; }
  };
  template <class State, class Sweep, class Step, class Observer>
  void run(Sweep& sweep, Step& step, Observer& observer, step_index from = 0) const {
    asked_loop<State, Sweep, Step> user{sweep, step, keep_going};
    auto&& states = sweep.watched();
    open_sweep{sweep.cursor(), states, step, user, observer, sweep.status()}.go(from);
  }
  /// The same from a state that another process has left.
  template <class State, class Sweep, class X0, class Plan, class Form, class Step, class Observer>
  void go_on(Sweep& sweep, X0& x0, Plan const& plan, Form form, Step& step, Observer& observer) const {
    sweep.begin_again(x0, plan, {-1, 0, false}, form);
    step_index const from = sweep.begins_at();
    sweep.bring_live(step);
    run<State>(sweep, step, observer, from);
    sweep.turned_again();
  }
};

}  // namespace cairn::detail
