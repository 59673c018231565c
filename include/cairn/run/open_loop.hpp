#pragma once
/// \file open_loop.hpp  The forward half of a loop whose length is not known: keeps what an online cursor says, and
/// turns where the loop ends.
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/checks.hpp>
#include <cairn/core/error.hpp>
#include <cairn/run/detail/execute.hpp>

namespace cairn {

/// A cursor that learns only on the way where the loop ends. Until then it speaks as if there were no end: at the start
/// and behind each `advance` it stands at a *candidate*, state i, and answers drops, then a `save` of it or none, then
/// `advance [i, to)` to the next one. Where it `lags()` it is asked only once step i has been run ahead and is known
/// not to be the last; else at once. `stop_at(n, live)`, once, says that the loop has n steps; live, state n - 1 or n,
/// is what there still is. It comes at a candidate in place of `next()`, or behind an advance [i, to) that was cut: i
/// <= live <= n <= to. The cursor then answers drops, `turn [live, n)` and the way back.
template <class C>
concept open_cursor = cursor<C> && requires(C cursor, C const& asked, step_index i) {
  cursor.stop_at(i, i);
  { asked.lags() } -> std::same_as<bool>;
};

/// A plan that does not know how many steps there will be: `slots()`, and `walk()` that gives an `open_cursor`; see
/// `online`.
template <class P>
concept open_schedule = std::copyable<P> && !schedule<P> && requires(P const& plan) {
  { plan.slots() } -> std::same_as<slot_index>;
  requires open_cursor<std::remove_cvref_t<decltype(plan.walk())>>;
};

namespace detail {

/// The same as a schedule, of no steps as yet.
template <class Plan>
struct open_plan : Plan {
  explicit open_plan(Plan const& plan) : Plan{plan} {}
  [[nodiscard]] static constexpr step_index steps() noexcept { return 0; }
  [[nodiscard]] static constexpr step_index leaf() noexcept { return 1; }
};

/// An in-place step that returns bool, as one that returns nothing and notes what the last call said.
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
/// The step as a run keeps it, and the step as it was given for that.
template <class Step, class State>
using kept_step = std::conditional_t<shape_of_step<Step, State>().stops, stoppable<Step, State>, Step>;
template <class Kept, class Step>
[[nodiscard]] decltype(auto) as_kept(Step&& step) {
  if constexpr (is_stoppable<Kept>) return Kept{std::forward<Step>(step)};
  else return std::forward<Step>(step);
}

/// Asks the user whether the loop goes on from state i.
template <class KeepGoing, class State>
[[nodiscard]] bool ask(KeepGoing& keep_going, State const& x, step_index const i) {
  if constexpr (calls<KeepGoing, State const&, step_index const&>)
    return static_cast<bool>(call_lending(keep_going, x, i));
  else return static_cast<bool>(call_lending(keep_going, x));
}

/// One run forward to the turn. It is not run by `execute`: whether an action goes on is known only behind each of its
/// steps, and the turn may have been made before the cursor says so. A step whose frame must outlive it is run *ahead*,
/// into a frame beside live, until the loop is known to go on behind it; then that frame becomes live, and nothing is
/// run twice. If the loop ends there, the turn has been made.
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
  /// Runs the step behind live ahead; whether the loop goes on there.
  [[nodiscard]] bool runs_ahead() {
    perform({action_kind::advance, tier::memory, content::state, no_slot, at_, at_ + 1},
            [&](step_index& failed) { states_.turn(step_, at_, at_ + 1, failed); });
    ++run_.status().ran;
    ahead_ = true;
    return goes_on(states_.final_state(), at_ + 1);
  }
  /// Obeys what the cursor says at a candidate, up to its advance.
  [[nodiscard]] action to_next_advance() {
    for (;;) {
      action const a = run_.cursor().next();
      bool const from_here = a.from == at_ && a.what == content::state;
      if (a.kind == action_kind::advance && from_here && a.to > at_) return a;
      if (a.kind == action_kind::save && from_here) obey(a, [&] { states_.save({a.slot, a.where}, a.from); });
      else drop(a);
    }
  }
  /// Obeys it as far as the loop goes; the number of steps, if the loop ends there. Observers see what came of it.
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
  /// Calls f(failed); an exception is noted as one of this action.
  template <class F>
  void perform(action const& a, F f) {
    step_index failed = -1;  // written by what throws
    try {
      f(failed);
    } catch (...) {
      run_.status().failure = {true, phase::forward, a, failed >= 0 ? failed : a.from};
      throw;
    }
  }
  void tell([[maybe_unused]] action const& a, [[maybe_unused]] moment when) {
    if constexpr (observed<Observer>)
      perform(a, [&](step_index&) { show(states_, a, phase::forward, when, observer_); });
  }

  Sweep& run_;
  watched_states states_;
  Step& step_;
  KeepGoing& keep_going_;
  Observer& observer_;
  step_index at_ = 0;   // the number of live
  bool ahead_ = false;  // the state behind live stands beside it
};

/// The forward half of a loop that ends when it ends.
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

}  // namespace detail
}  // namespace cairn
