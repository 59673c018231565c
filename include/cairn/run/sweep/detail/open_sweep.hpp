// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file open_sweep.hpp  Runs a loop of unknown length up to its turn: keeps the checkpoints of an online cursor.
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/run/sweep/detail/execute.hpp>

namespace cairn::detail {

/// Runs a loop of unknown length up to its turn. `execute` cannot run it: whether an action continues is known only
/// after each of its steps, and the turn may already be made before the cursor says so. A step whose input frame must
/// be kept runs *ahead*, into a frame besides live, until it is known that the loop continues after it. Then that frame
/// becomes live, and nothing runs twice. If the loop ends there, the turn has been made.
/// - `states` are those of `execute`, whose turn(step, from, to, failed) makes the final state, with live(),
///   final_state() and final_becomes_live(); `advance` only if steps run in place.
/// - `user` supplies what depends on the loop: in_place, whether steps change live itself; goes_on(x, i), whether the
///   loop continues from state i; ends_at(n), called before the turn; as_shown(a), the action for observers.
template <class Cursor, class States, class Step, class User, class Observer>
class open_sweep {
 public:
  open_sweep(Cursor& cursor, States& states, Step& step, User& user, Observer& observer, sweep_status& status)
      : cursor_{cursor}, states_{states}, step_{step}, user_{user}, observer_{observer}, status_{status} {}

  /// \param from  the number of live: 0, or that of a state from which the loop goes on, and is known to
  void go(step_index from = 0) {
    at_ = from;
    if (from == 0 && !goes_on(std::as_const(states_.live()), 0)) return stop(0);
    for (;;) {
      if (cursor_.lags() && !runs_ahead()) return stop(at_ + 1);
      step_index const end = advance(to_next_advance());
      if (end != unknown) return stop(end);
    }
  }

 private:
  static constexpr step_index unknown = -1;

  template <class State>
  [[nodiscard]] bool goes_on(State const& x, step_index i) {
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
      if (a.kind == action_kind::save && from_here) obey(a, [&] { (void)states_.save({a.slot, a.where}, a.from); });
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
      if (!ahead_ && reads_between(a.to)) continue;
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
  /// Live becomes a state up to `to` that the store holds; the loop is known to continue from there.
  [[nodiscard]] bool reads_between(step_index to) {
    if constexpr (requires { states_.load_between(to); }) {
      step_index const held = states_.held_between(at_, to);
      if (held < 0 || !states_.load_between(held)) return false;
      at_ = held;
      return true;
    } else return false;
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

  template <class Fn>
  void obey(action const& a, Fn f) {
    tell(a, moment::before);
    perform(a, [&](step_index&) { f(); });
    tell(a, moment::after);
  }
  /// Calls f(failed); notes an exception as one of this action.
  template <class Fn>
  void perform(action const& a, Fn f) {
    step_index failed = -1;  // set by a step that throws
    try {
      f(failed);
    } catch (...) {
      status_.failure = {true, phase::forward, a, failed >= 0 ? failed : a.from};
      throw;
    }
  }
  void tell(action const& a, moment when) {
    if constexpr (observed<Observer>)
      perform(a, [&](step_index&) {
        show(states_, no_cursor_yet{}, user_.as_shown(a), phase::forward, when, observer_);
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

}  // namespace cairn::detail
