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

/// One forward run up to the turn. `execute` cannot run it: whether an action continues is known only after each of its
/// steps, and the turn may already be made before the cursor says so. A step whose input frame must be kept runs
/// *ahead*, into a frame besides live, until it is known that the loop continues after it. Then that frame becomes
/// live, and nothing runs twice. If the loop ends there, the turn has been made.
template <class State, class Sweep, class Step, class KeepGoing, class Observer>
class open_sweep {
  static constexpr bool in_place = shape_of_step<Step, State>().form == step_form::in_place;
  using watched_states = decltype(std::declval<Sweep&>().watched());

 public:
  open_sweep(Sweep& run, Step& step, KeepGoing& keep_going, Observer& observer)
      : run_{run}, states_{run.watched()}, step_{step}, keep_going_{keep_going}, observer_{observer} {}

  void go() {
    if (!goes_on(std::as_const(states_.live()), 0)) return stop(0);
    for (;;) {
      if (run_.cursor().lags() && !runs_ahead()) return stop(at_ + 1);
      step_index const end = advance(to_next_advance());
      if (end != unknown) return stop(end);
    }
  }

 private:
  static constexpr step_index unknown = -1;

  [[nodiscard]] bool goes_on(State const& x, step_index i) {
    bool more = annotate_failure(run_.status(), phase::forward, i, [&] { return ask(keep_going_, x, i); });
    if constexpr (is_stoppable<Step>) more = more && step_.more;
    return more;
  }
  /// Runs the step after live ahead; returns whether the loop continues.
  [[nodiscard]] bool runs_ahead() {
    perform({action_kind::advance, tier::memory, content::state, no_slot, at_, at_ + 1},
            [&](step_index& failed) { states_.turn(step_, at_, at_ + 1, failed); });
    ++run_.status().ran;
    ahead_ = true;
    return goes_on(states_.final_state(), at_ + 1);
  }
  /// Obeys the cursor at a candidate, up to its next advance.
  [[nodiscard]] action to_next_advance() {
    for (;;) {
      action const a = run_.cursor().next();
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
      if (in_place && !ahead_) {
        begin();
        perform(a, [&](step_index& failed) { states_.advance(step_, at_, at_ + 1, failed); });
        ++run_.status().ran;
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
    run_.ends_at(n);
    run_.cursor().stop_at(n, at_);
    action a = run_.cursor().next();
    for (; a.kind != action_kind::turn || a.from != at_ || a.to != n; a = run_.cursor().next()) drop(a);
    tell(a, moment::before);
    if (!ahead_) perform(a, [&](step_index& failed) { states_.turn(step_, n, n, failed); });
    run_.status().turned = true;
    run_.status().turned_at = at_;
    tell(a, moment::after);
  }
  void drop(action const& a) {
    if (a.kind != action_kind::drop || a.what != content::state)
      throw invalid_schedule{"cairn::checkpointed_while",
                             "the cursor answered an action that cannot be obeyed here",
                             {{"state", at_}, {"from", a.from}, {"to", a.to}},
                             "before the stop it may drop and save, and then advances from the state where it stands; "
                             "behind it, it may drop, and then turns"};
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
      run_.status().failure = {true, phase::forward, a, failed >= 0 ? failed : a.from};
      throw;
    }
  }
  void tell([[maybe_unused]] action const& a, [[maybe_unused]] moment when) {
    if constexpr (observed<Observer>)
      perform(a, [&](step_index&) { show(states_, no_cursor_yet{}, a, phase::forward, when, observer_); });
  }

  Sweep& run_;
  watched_states states_;
  Step& step_;
  KeepGoing& keep_going_;
  Observer& observer_;
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
  template <class State, class Sweep, class Step, class Observer>
  void run(Sweep& sweep, Step& step, Observer& observer) const {
    open_sweep<State, Sweep, Step, KeepGoing, Observer>{sweep, step, keep_going, observer}.go();
  }
};

}  // namespace cairn::detail
