// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file open_loop.hpp  The forward half of a loop of unknown length: keeps the checkpoints of an online cursor, and
/// turns where the loop ends.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/checks.hpp>
#include <cairn/core/error.hpp>
#include <cairn/run/detail/execute.hpp>

namespace cairn::detail {

/// An open schedule as a schedule that has no steps yet.
template <class Plan>
struct open_plan : Plan {
  explicit open_plan(Plan const& plan) : Plan{plan} {}
  [[nodiscard]] static constexpr step_index steps() noexcept { return 0; }
  [[nodiscard]] static constexpr step_index leaf() noexcept { return 1; }
};

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

/// Runs a loop of unknown length up to its turn. `execute` cannot run it: whether an action continues is known only
/// after each of its steps, and the turn may already be made before the cursor says so. A step whose input frame must
/// be kept runs *ahead*, into a frame besides live, until it is known that the loop continues after it. Then that frame
/// becomes live, and nothing runs twice. If the loop ends there, the turn has been made.
/// - `states` are those of `execute`, whose turn(step, from, to, failed) makes the final state, with live(),
///   final_state() and final_becomes_live(); `advance` only if steps run in place.
/// - `user` supplies what depends on the loop: in_place, whether steps change live itself; goes_on(x, i), whether the
///   loop continues from state i; ends_at(n), called before the turn; told(a), the action as observers see it.
template <class Cursor, class States, class Step, class User, class Observer>
class open_sweep {
 public:
  open_sweep(Cursor& cursor, States& states, Step& step, User& user, Observer& observer, sweep_status& status)
      : cursor_{cursor}, states_{states}, step_{step}, user_{user}, observer_{observer}, status_{status} {}

  void go() {
    if (!goes_on(std::as_const(states_.live()), 0)) return stop(0);
    for (;;) {
      if (cursor_.lags() && !runs_ahead()) return stop(at_ + 1);
      step_index const end = advance(to_next_advance());
      if (end != unknown) return stop(end);
    }
  }

 private:
  static constexpr step_index unknown = -1;

  template <class X>
  [[nodiscard]] bool goes_on(X const& x, step_index i) {
    return annotate_failure(status_, phase::forward, i, [&] { return user_.goes_on(x, i); });
  }
  /// Runs the step after live ahead; returns whether the loop continues.
  [[nodiscard]] bool runs_ahead() {
    perform({action_kind::advance, tier::memory, content::state, no_slot, at_, at_ + 1},
            [&](step_index& failed) { states_.turn(step_, at_, at_ + 1, failed); });
    ++status_.ran;
    ahead_ = true;
    return goes_on(states_.final_state(), at_ + 1);
  }
  /// Obeys the cursor at a candidate, up to its next advance.
  [[nodiscard]] action to_next_advance() {
    for (;;) {
      action const a = cursor_.next();
      bool const from_here = a.from == at_ && a.what == content::state;
      if (a.kind == action_kind::advance && from_here && a.to > at_) return a;
      if (a.kind == action_kind::save && from_here) obey(a, [&] { states_.save({a.slot, a.where}, a.from); });
      else drop(a);
    }
  }
  /// Obeys the advance as far as the loop goes; returns the number of steps if the loop ends there. Observers see the
  /// advance as it was executed.
  [[nodiscard]] step_index advance(action a) {
    bool begun = false;
    auto const begin = [&] {
      if (!std::exchange(begun, true)) tell(a, moment::before);
    };
    step_index end = unknown;
    while (at_ < a.to && end == unknown) {
      if (User::in_place && !ahead_) {
        begin();
        perform(a, [&](step_index& failed) {
          if constexpr (User::in_place) states_.advance(step_, at_, at_ + 1, failed);
        });
        ++status_.ran;
        if (++at_; !goes_on(std::as_const(states_.live()), at_)) end = at_;
      } else if (!ahead_ && !runs_ahead()) {
        end = at_ + 1;
      } else {
        begin();
        states_.final_becomes_live();
        ahead_ = false;
        ++at_;
      }
    }
    a.to = at_;
    if (begun) tell(a, moment::after);
    return end;
  }
  void stop(step_index n) {
    user_.ends_at(n);
    cursor_.stop_at(n, at_);
    action a = cursor_.next();
    for (; a.kind != action_kind::turn || a.from != at_ || a.to != n; a = cursor_.next()) drop(a);
    tell(a, moment::before);
    if (!ahead_) perform(a, [&](step_index& failed) { states_.turn(step_, n, n, failed); });
    status_.turned = true;
    status_.turned_at = at_;
    tell(a, moment::after);
  }
  void drop(action const& a) {
    if (a.kind != action_kind::drop || a.what != content::state)
      throw invalid_schedule{"cairn::checkpointed_while",
                             "the cursor returned an action that is not allowed here",
                             {{"state", at_}, {"from", a.from}, {"to", a.to}},
                             "before the stop it may drop and save, and then advances from its current state; after "
                             "the stop it may drop, and then turns"};
    obey(a, [&] { states_.drop({a.slot, a.where}); });
  }

  template <class F>
  void obey(action const& a, F f) {
    tell(a, moment::before);
    perform(a, [&](step_index&) { f(); });
    tell(a, moment::after);
  }
  /// Calls f(failed); notes an exception as one of this action.
  template <class F>
  void perform(action const& a, F f) {
    step_index failed = -1;  // set by a step that throws
    try {
      f(failed);
    } catch (...) {
      status_.failure = {true, phase::forward, a, failed >= 0 ? failed : a.from};
      throw;
    }
  }
  void tell([[maybe_unused]] action const& a, [[maybe_unused]] moment when) {
    if constexpr (observed<Observer>)
      perform(a, [&](step_index&) {
        show(states_, no_cursor_yet{}, user_.told(a), phase::forward, when, observer_);
      });
  }

  Cursor& cursor_;
  States& states_;
  Step& step_;
  User& user_;
  Observer& observer_;
  sweep_status& status_;
  step_index at_ = 0;   // the number of live
  bool ahead_ = false;  // the state after live is held besides it
};

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
    [[nodiscard]] action const& told(action const& a) const noexcept { return a; }
  };
  template <class State, class Sweep, class Step, class Observer>
  void run(Sweep& sweep, Step& step, Observer& observer) const {
    asked_loop<State, Sweep, Step> user{sweep, step, keep_going};
    auto&& states = sweep.watched();
    open_sweep{sweep.cursor(), states, step, user, observer, sweep.status()}.go();
  }
};

}  // namespace cairn::detail
