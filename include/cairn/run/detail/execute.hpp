#pragma once
/// \file execute.hpp  Obeys the actions of a cursor: the one loop of every sweep.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/walked_cursor.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/sweep_failure.hpp>

namespace cairn::detail {

/// Why `execute` came back: the turn is made, a reverse asked to pause, all is done, a checkpoint is gone.
enum class stop_reason : std::uint8_t { turned, paused, done, lost };

/// What a sweep has done so far.
struct sweep_status {
  bool turned = false;
  step_index open = 0;       ///< steps [0, open) are still to be reversed
  step_index turned_at = 0;  ///< live at the turn
  wide ran = 0;              ///< calls of the step, or of a recording adjoint's `record`
  sweep_failure failure;
};

/// Calls f, which is user code beside the actions; an exception is noted as one of `step`.
template <class F>
decltype(auto) noting_failure(sweep_status& status, phase where, step_index const& step, F f) {
  try {
    return f();
  } catch (...) {
    status.failure = {true, where, {}, step};
    throw;
  }
}

template <class Observer> inline constexpr bool observed = !std::is_same_v<std::remove_cv_t<Observer>, no_observer>;

template <class State, class States, bool AfterTurn>
bool visit_seen(void const* sweep, [[maybe_unused]] event::sink sink, [[maybe_unused]] void* context) {
  State const* const x = static_cast<States const*>(sweep)->seen(AfterTurn);
  if constexpr (buffered<State>)
    if (x != nullptr) visit_buffers(*x, [&](void const* bytes, std::size_t size) { sink(context, bytes, size); });
  return x != nullptr && buffered<State>;
}
template <class Observer>
[[nodiscard]] constexpr event::clock clock_of() {
  if constexpr (requires { { Observer::clock_now() } -> std::convertible_to<std::int64_t>; }) return [] { return std::int64_t(Observer::clock_now()); };
  else return nullptr;
}

/// The part of a sweep to which an action belongs.
[[nodiscard]] constexpr phase phase_of(action_kind kind, bool turned) noexcept {
  if (!turned || kind == action_kind::turn) return phase::forward;
  return kind == action_kind::reverse ? phase::reverse : phase::recompute;
}

/// Obeys actions until the turn has been made, `user` wants to pause at a reverse, a load finds nothing, or all is done.
/// `user` brings what depends on the adjoint: turn(states, a, failed) and record(states, a), which answer how many steps they ran,
/// restart(states, a) where it can_restart, drop_tape(slot), pauses(), reverse(states, a).
template <class State, class Cursor, class States, class Step, class User, class Observer>
stop_reason execute(Cursor& cursor, States& states, Step& step, User& user, Observer& observer, sweep_status& status) {
  struct counter {  // a sum in a register, added to the total however this ends
    wide& total;
    std::uint64_t sum = 0;
    ~counter() { total += sum; }
  } ran{status.ran};
  walked_cursor<Cursor> walk{cursor};
  step_index failed = -1;  // written by what throws
  for (;;) {
    action a = walk.now.next();  // not const: g++ would keep it in memory
    [[maybe_unused]] phase const where = observed<Observer> ? phase_of(a.kind, status.turned) : phase::forward;
    [[maybe_unused]] auto const tell = [&](moment when) {
      if constexpr (observed<Observer>) {
        bool const after_turn = when == moment::after && a.kind == action_kind::turn;
        event::source const source{&states, [](void const* sweep) { return static_cast<States const*>(sweep)->bytes(); },
                                   after_turn ? &visit_seen<State, States, true> : &visit_seen<State, States, false>, clock_of<Observer>()};
        observer(event{a, where, when, source});
      }
    };
    try {
      tell(moment::before);
      switch (a.kind) {
        case action_kind::advance:
          states.advance(step, a.from, a.to, failed);
          ran.sum += std::uint64_t(a.to - a.from);
          break;
        case action_kind::save: states.save({a.slot, a.where}, a.from); break;
        case action_kind::load:
          if (User::can_restart && a.what == content::tape) {
            user.restart(states, a);
          } else if (a.slot == no_slot) {
            states.load_initial();
          } else if (!states.load({a.slot, a.where}, a.from)) {
            tell(moment::after);
            return stop_reason::lost;
          }
          break;
        case action_kind::drop:
          if (a.what == content::tape) user.drop_tape(a.slot);
          else states.drop({a.slot, a.where});
          break;
        case action_kind::record: ran.sum += user.record(states, a); break;
        case action_kind::turn:
          ran.sum += user.turn(states, a, failed);
          status.turned = true;
          status.turned_at = a.from;
          tell(moment::after);
          return stop_reason::turned;
        case action_kind::reverse:
          if (!user.pauses()) ran.sum += user.reverse(states, a);
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
