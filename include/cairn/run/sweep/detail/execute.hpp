// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file execute.hpp  Obeys the actions of a cursor: the one loop of every sweep.
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/rules/detail/walked_cursor.hpp>
#include <cairn/run/sweep/sweep_failure.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// Why `execute` returned: the turn is made, a reverse asked to pause, the plan is done, or a slot could not be written.
enum class stop_reason : std::uint8_t { turned, paused, done, unwritten };

/// The progress of a sweep.
struct sweep_status {
  bool turned = false;
  step_index open = 0;       ///< steps [0, open) are still to be reversed
  step_index turned_at = 0;  ///< number of the live state at the turn
  wide ran = 0;              ///< calls of the step, or of a recording adjoint's `record`
  sweep_failure failure;
};

/// Calls f, user code outside the actions; notes an exception as one of `step`.
template <class Fn>
decltype(auto) annotate_failure(sweep_status& status, phase where, step_index const& step, Fn f) {
  try {
    return f();
  } catch (...) {
    status.failure = {true, where, {}, step};
    throw;
  }
}

template <class Observer> inline constexpr bool observed = !std::is_same_v<std::remove_cv_t<Observer>, no_observer>;

template <class Observer>
[[nodiscard]] constexpr event::clock clock_of() {
  if constexpr (requires {
                  { Observer::clock_now() } -> std::convertible_to<std::int64_t>;
                })
    return [] { return std::int64_t(Observer::clock_now()); };
  else return nullptr;
}

/// The part of a sweep to which an action belongs.
[[nodiscard]] constexpr phase phase_of(action_kind kind, bool turned) noexcept {
  if (!turned || kind == action_kind::turn) return phase::forward;
  return kind == action_kind::reverse ? phase::reverse : phase::recompute;
}

/// In place of a cursor: what is left to do is not known, because the length of the loop is not.
struct no_cursor_yet {};
/// The object behind an event: the states, before or after an action, and the cursor that follows it.
template <class States, class Cursor>
struct shown_states {
  States const& states;
  Cursor const& cursor;
  action const& what;
  moment when;
};
/// Passes the bytes of the state that an observer sees. `states` return that state from `seen(after_turn)`: the live or
/// the final state, or null. If there are many states, as in a chain, they visit the one of the action.
template <class Shown>
bool visit_shown(void const* shown, event::sink sink, void* context) {
  auto const& at = *static_cast<Shown const*>(shown);
  if constexpr (requires { at.states.visit(at.what, at.when, sink, context); })
    return at.states.visit(at.what, at.when, sink, context);
  else {
    auto const* const x = at.states.seen(at.when == moment::after && at.what.kind == action_kind::turn);
    return x != nullptr && show_runs(*x, sink, context);
  }
}
/// Adds what the cursor of an event is still going to do, and the action itself if it is not done yet.
template <class Shown>
bool add_work_left(void const* shown, sweep_work& left) {
  auto const& at = *static_cast<Shown const*>(shown);
  using cursor_type = std::remove_cvref_t<decltype(at.cursor)>;
  if constexpr (cursor<cursor_type>) {
    if (at.when == moment::before) left += at.what;
    cursor_type rest = at.cursor;
    for (action a = rest.next(); a.kind != action_kind::done; a = rest.next()) left += a;
    return true;
  } else return false;
}
/// What tells the bytes on a tier, if the states know them.
template <class Shown>
[[nodiscard]] constexpr auto bytes_on_tiers() -> std::size_t (*)(void const*, tier) {
  if constexpr (requires(Shown const& of) { of.states.bytes(tier::memory); })
    return [](void const* of, tier where) { return static_cast<Shown const*>(of)->states.bytes(where); };
  else return nullptr;
}
/// What tells them by purpose, if the states know more than states.
template <class Shown>
[[nodiscard]] constexpr auto parts_of_states() -> sweep_parts (*)(void const*) {
  if constexpr (requires(Shown const& of) { of.states.parts(); })
    return [](void const* of) { return static_cast<Shown const*>(of)->states.parts(); };
  else return nullptr;
}
/// Shows an observer one action before or after it; compiles to nothing without an observer.
template <class States, class Cursor, class Observer>
void show(States const& states, Cursor const& rest, action const& a,
          phase where, moment when, Observer& observer) {
  if constexpr (observed<Observer>) {
    using shown_type = shown_states<States, Cursor>;
    shown_type const shown{states, rest, a, when};
    event::source const source{&shown,
                               [](void const* of) { return static_cast<shown_type const*>(of)->states.bytes(); },
                               &visit_shown<shown_type>, clock_of<Observer>(), &add_work_left<shown_type>,
                               bytes_on_tiers<shown_type>(), parts_of_states<shown_type>()};
    observer(event{a, where, when, source});
  }
}

/// Hooks of `execute` for actions that a sweep does not have; a base class.
struct no_hooks {
  static constexpr bool can_restart = false;
  template <class States>
  void turn(States&, action const&, step_index&) noexcept {}
  template <class States>
  void record(States&, action const&) noexcept {}
  template <class States>
  void reverse(States&, action const&) noexcept {}
  template <class States>
  void restart(States&, action const&) noexcept {}
  template <class States>
  void drop_tape(States&, slot_index) noexcept {}
  [[nodiscard]] static constexpr bool pauses() noexcept { return false; }
};

/// States that a store may lose, and that can be made again.
template <class States> inline constexpr bool makes_again = requires { requires bool(States::makes_again); };
/// Whether plans over these states have saves and loads: unless the states say that none has.
template <class States> inline constexpr bool keeps_states = !requires { requires bool(States::keeps_nothing); };
/// Whether a save of these states tells whether it succeeded.
template <class States>
concept tells_saved = requires(States& states, place where, step_index i) {
  { states.save(where, i) } -> std::same_as<bool>;
};

/// Lets a store look ahead from the cursor while it exists.
template <class States, class Cursor>
[[nodiscard]] constexpr auto looking_from(States& states, Cursor& from) {
  if constexpr (requires { states.look_from(from); }) return states.look_from(from);
  else return false;
}

/// Obeys actions until the turn has been made, `user` wants to pause at a reverse, a slot cannot be written, or the plan
/// is done.
/// - `states` define what states and places are: advance(step, from, to, failed), save(place, i), which may return
///   whether it succeeded, load(place, i), load_initial(), drop(place); for observers bytes(), and seen(after_turn) or
///   visit(a, moment, sink, context). If `load` returns false, state i is lost; make_again(step, place, i, failed, saved)
///   makes it live, saves it again if it can, and returns how many steps it ran.
///   Where plans have no saves and no loads, states with `keeps_nothing` leave out save, load and load_initial.
/// - `user` supplies what depends on the adjoint: turn(states, a, failed), record(states, a) and reverse(states, a),
///   which may return how many steps they ran, restart(states, a) if can_restart, drop_tape(states, slot), pauses().
template <class Cursor, class States, class Step, class User, class Observer>
stop_reason execute(Cursor& cursor, States& states, Step& step, User& user, Observer& observer, sweep_status& status) {
  struct counter {  // a sum in a register; its destructor adds it to the total
    wide& total;
    std::uint64_t sum = 0;
    ~counter() { total += sum; }
  } ran{status.ran};
  walked_cursor<Cursor> walk{cursor};
  [[maybe_unused]] auto const looks = looking_from(states, walk.now);
  step_index failed = -1;  // set by a step that throws
  for (;;) {
    action a = walk.now.next();  // not const: g++ would keep it in memory
    [[maybe_unused]] phase const where = observed<Observer> ? phase_of(a.kind, status.turned) : phase::forward;
    auto const tell = [&](moment when) {
      if constexpr (observed<Observer>) show(states, walk.now, a, where, when, observer);
    };
    try {
      tell(moment::before);
      switch (a.kind) {
        case action_kind::advance:
          states.advance(step, a.from, a.to, failed);
          ran.sum += std::uint64_t(a.to - a.from);
          break;
        case action_kind::save:
          if constexpr (tells_saved<States>) {
            if (!states.save({a.slot, a.where}, a.from)) {
              tell(moment::after);
              return stop_reason::unwritten;
            }
          } else if constexpr (keeps_states<States>) states.save({a.slot, a.where}, a.from);
          break;
        case action_kind::load:
          if (User::can_restart && a.what == content::tape) {
            user.restart(states, a);
          } else if constexpr (keeps_states<States>) {
            if (a.slot == no_slot) {
              states.load_initial();
            } else if constexpr (!makes_again<States>) {
              (void)states.load({a.slot, a.where}, a.from);
            } else if (!states.load({a.slot, a.where}, a.from)) {
              bool saved = true;
              ran.sum += states.make_again(step, {a.slot, a.where}, a.from, failed, saved);
              if (!saved) {
                tell(moment::after);
                return stop_reason::unwritten;
              }
            }
          }
          break;
        case action_kind::drop:
          if (a.what == content::tape) user.drop_tape(states, a.slot);
          else states.drop({a.slot, a.where});
          break;
        case action_kind::record:
          if constexpr (std::is_void_v<decltype(user.record(states, a))>) user.record(states, a);
          else ran.sum += user.record(states, a);
          break;
        case action_kind::turn:
          if constexpr (std::is_void_v<decltype(user.turn(states, a, failed))>) user.turn(states, a, failed);
          else ran.sum += user.turn(states, a, failed);
          status.turned = true;
          status.turned_at = a.from;
          tell(moment::after);
          return stop_reason::turned;
        case action_kind::reverse:
          if (!user.pauses()) {
            if constexpr (std::is_void_v<decltype(user.reverse(states, a))>) user.reverse(states, a);
            else ran.sum += user.reverse(states, a);
          }
          status.open = a.from;
          if (user.pauses()) {
            tell(moment::after);
            return stop_reason::paused;
          }
          break;
        case action_kind::done: tell(moment::after); return stop_reason::done;
      }
      tell(moment::after);
    } catch (...) {
      status.failure = {true, phase_of(a.kind, status.turned), a, failed >= 0 ? failed : a.from};
      throw;
    }
  }
}

}  // namespace cairn::detail
