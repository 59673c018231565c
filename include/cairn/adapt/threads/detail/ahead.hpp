// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file ahead.hpp  The way back of a sweep on two threads: a helper obeys the plan by `execute`, with a `user` that hands
/// each state over instead of reversing; the caller reverses them in order.
#include <cstdint>
#include <exception>
#include <mutex>
#include <type_traits>
#include <utility>
#include <cairn/adapt/threads/detail/handoff.hpp>
#include <cairn/core/detail/same_capacity.hpp>
#include <cairn/door/detail/member_function.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/loop_step.hpp>
#include <cairn/run/form/detail/open_loop.hpp>
#include <cairn/run/form/detail/reversal.hpp>
#include <cairn/run/sweep/detail/byte_limit.hpp>
#include <cairn/run/sweep/detail/cached_object.hpp>
#include <cairn/run/sweep/detail/copied_states.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/run/sweep/detail/frames.hpp>
#include <cairn/run/sweep/detail/replayed_states.hpp>
#include <cairn/run/sweep/sweep_report.hpp>
#include <cairn/store/detail/beside.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// What the two threads do with the frames and states of a sweep that nobody else does.
struct ahead_access {
  template <class State, class Store>
  static auto& values(copied_states<State, Store>& states) noexcept { return states; }
  template <class State, class States, class Tried>
  static auto& values(replayed_states<State, States, Tried>& states) noexcept { return states.states_; }
  /// The states as the helper's walk uses them: a replay check asks how far that is, and not how far the caller is.
  template <class State, class Store>
  static auto& walked(copied_states<State, Store>& states, sweep_status const&) noexcept { return states; }
  template <class State, class States, class Tried>
  static auto walked(replayed_states<State, States, Tried>& states, sweep_status const& status) noexcept {
    return replayed_states<State, States, Tried>{states.states_, states.ledger_, status, states.step_};
  }
  template <class State, class Store>
  static replay_check checks(copied_states<State, Store>&) noexcept { return replay_check::off; }
  template <class State, class States, class Tried>
  static replay_check checks(replayed_states<State, States, Tried>& states) noexcept {
    return states.ledger_.on() ? states.ledger_.mode() : replay_check::off;
  }

  /// The live state for the other thread: to be read, or, if `Exclusive`, to be changed. The next action loads another.
  template <bool Exclusive, class State, class Store>
  [[nodiscard]] static frame_id hand_over(copied_states<State, Store>& states) {
    auto& pool = states.pool_;
    if constexpr (Exclusive) {
      pool.own(states.live_);
      pool.set_at(states.live_, -1);
    } else if constexpr (!is_flat<State>()) {
      // Spare capacity leaves it now: later, the state would move to another frame while it is read.
      if (frame_id const kept = states.live_;
          pool.shared(kept) && !has_exact_capacity(std::as_const(pool).state(kept))) {
        typename frames<State>::holder const other{pool, pool.take()};
        pool.leave_snug(kept, other.held);
      }
    }
    return std::exchange(states.live_, no_frame);
  }
  template <class State, class Store>
  [[nodiscard]] static frame_id hand_over_next(copied_states<State, Store>& states) noexcept {
    return std::exchange(states.next_, no_frame);
  }
  template <class State, class Store>
  static void take_next(copied_states<State, Store>& states, frame_id next) noexcept { states.next_ = next; }
  /// A frame that the other thread has read comes back. It is reused after all others, the first one first: to write
  /// what is still in another core's cache costs several times as much.
  template <class T>
  static void take_back(frames<T>& pool, frame_id k) noexcept {
    auto& f = pool.record(k);
    if (f.owners == 1 && !f.anchored && f.constructed && has_exact_capacity(std::as_const(pool).state(k))) {
      f.owners = 0;
      pool.push_expired(k);
    } else pool.release(k);
  }
  template <class T>
  [[nodiscard]] static bool has_free(frames<T> const& pool) noexcept {
    return pool.free_ != no_frame || pool.known_ < pool.in_play_ || pool.expired_ != no_frame;
  }
  template <class T>
  [[nodiscard]] static std::int64_t free_count(frames<T> const& pool) noexcept {
    std::int64_t n = pool.in_play_ - pool.known_;
    for (frame_id k = pool.free_; k != no_frame; k = pool.record(k).next) ++n;
    return n;
  }
  /// Who is asked when no frame is free.
  template <class T>
  static auto settling(frames<T> const& pool) noexcept { return std::pair{pool.settle_, pool.store_}; }
  template <class T>
  [[nodiscard]] static cached_object& memory(frames<T>& pool) noexcept { return pool.helper_; }
};

/// What the caller has of a user's adjoint.
template <class User> struct reversed_by { static constexpr bool known = false; };
template <class StateType, class StepType, class AdjointType, class BarType, bool MakesTurn, bool Limited>
struct reversed_by<reversal<StateType, StepType, AdjointType, BarType, MakesTurn, Limited>> {
  static constexpr bool known = true;
  using adjoint = AdjointType;
  static constexpr adjoint_form form = shape_of_adjoint<AdjointType, StateType, BarType>().form;
  static constexpr bool tells_ends = form == adjoint_form::one_step && takes_end_hash<AdjointType>;
};

/// Whether the caller has said that a function may run beside others; see `concurrent`.
template <class Fn>
[[nodiscard]] consteval bool runs_beside();
template <class Fn> struct within_bound { using type = Fn; };
template <class Fn, class State, class Params, class Terms>
struct within_bound<loop_step<Fn, State, Params, Terms>> { using type = std::remove_reference_t<Fn>; };
template <class Step, class State>
struct within_bound<stoppable<Step, State>> { using type = std::remove_reference_t<Step>; };
template <class Fn, class State, class Bar, class Params, class DP, class Terms, class Step>
struct within_bound<loop_adjoint<Fn, State, Bar, Params, DP, Terms, Step>> { using type = Fn; };
template <class Name, class T>
struct within_bound<member_as_function<Name, T>> { using type = T; };
template <class Fn>
consteval bool runs_beside() {
  using inside = std::remove_const_t<typename within_bound<std::remove_const_t<Fn>>::type>;
  if constexpr (requires { requires bool(Fn::concurrent); }) return true;
  else if constexpr (reference_to<Fn>) return runs_beside<typename Fn::type>();
  else if constexpr (!std::is_same_v<typename untagged<Fn>::type, Fn>) return runs_beside<typename untagged<Fn>::type>();
  else if constexpr (!std::is_same_v<inside, std::remove_const_t<Fn>>) return runs_beside<inside>();
  else return false;
}

/// States whose store is told of each reversal in two parts: what runs steps is for the helper, the rest for the caller.
template <class Values>
concept told_in_parts = requires(Values& values) { values.store().compares(step_index{}, any_look{}); };

/// What is measured of a walk since it was last looked at, in nanoseconds.
struct walk_measures {
  double time = 0;          ///< of the clock
  double waited = 0;        ///< of these the caller waited for states
  double again = 0;         ///< what the helper's steps would have taken the caller; 0 if not known
  double helper_ran = -1;   ///< processor time of the helper; below 0 if not known
  double helper_slept = 0;  ///< of `time` the helper waited for frames
  double moved = 0;         ///< of `time` the helper wrote and read states, which the caller would have done
};

/// A report alone: of reversals it needs nothing that the helper's actions do not show.
template <class Observer> inline constexpr bool reports_only = false;
template <class Given>
inline constexpr bool reports_only<reporting<Given>> = !observed<std::remove_reference_t<Given>>;
/// The caller's observer, which both threads show their actions to, one at a time.
template <class Observer>
struct shared_view {
  static constexpr bool seen = observed<Observer>, by_both = seen && !reports_only<Observer>;
  Observer& observer;
  std::mutex mutex;
  std::size_t bytes = 0;  // as the helper's last action left them

  void show_helpers(event const& e) {
    if constexpr (!by_both) observer(e);
    else {
      std::lock_guard const one_at_a_time{mutex};
      if (e.moment() == moment::after) bytes = e.bytes_held();
      observer(e);
    }
  }
};
/// The observer of the helper's walk: counts the steps and what they would have taken. What the caller does, the caller
/// shows.   \tparam Moves  saves and loads take time, those of a store that keeps no frames
template <class Observer, bool Moves>
struct helpers_view {
  shared_view<Observer>& shared;
  std::int64_t ran = 0, moved_ns = 0;
  void operator()(event const& e) {
    auto const& a = e.what();
    if (a.kind == action_kind::reverse || a.kind == action_kind::done) return;
    if (e.moment() == moment::after && a.kind == action_kind::advance) ran += a.to - a.from;
    if (Moves && (a.kind == action_kind::save || a.kind == action_kind::load))
      moved_ns += e.moment() == moment::after ? now_ns() : -now_ns();
    if constexpr (shared_view<Observer>::seen) shared.show_helpers(e);
  }
  [[nodiscard]] static std::int64_t clock_now()
    requires requires { { Observer::clock_now() } -> std::convertible_to<std::int64_t>; }
  {
    return Observer::clock_now();
  }
};

/// The helper's `user`.
template <class By, class View>
struct handing : no_hooks {
  handoff& ring;
  View const& counted;
  bool paused = false;
  handing(handoff& to, View const& by) noexcept : ring{to}, counted{by} {}
  template <class States>
  std::uint64_t reverse(States& states, action const& a) {
    handed_state next{no_frame, a.from, a.to, counted.ran, counted.moved_ns};
    if constexpr (By::tells_ends && requires { states.end_behind_live(a.to); }) next.end = states.end_behind_live(a.to);
    auto& values = ahead_access::values(states);
    auto& pool = values.limits();
    if constexpr (told_in_parts<std::remove_reference_t<decltype(values)>>)
      values.store().compares(a.from, [&values](auto const& f) { return values.inspect_live(f); });
    next.frame = ahead_access::hand_over<By::form == adjoint_form::recorded>(values);
    typename std::remove_reference_t<decltype(pool)>::holder mine{pool, next.frame};
    ring.put(next, [&](frame_id k) { ahead_access::take_back(pool, k); });
    mine.held = no_frame;
    paused = ring.recalled.load(std::memory_order_relaxed);
    return 0;
  }
  [[nodiscard]] bool pauses() const noexcept { return paused; }
};

/// The limits of a budget as the caller knows them while the helper uses those of the frames, without a look at them. A
/// state that may grow may have taken all that was left when the walk began.
struct lent_limits {
  byte_limit known;
  bool on = false;
  wide states = 0;  ///< the most that they take
  [[nodiscard]] bool limited() const noexcept { return on; }
  [[nodiscard]] byte_limit& limit_now() noexcept { return known; }
  bool takes(wide byte_limit::*part, wide bytes) noexcept {
    if (bytes <= known.*part) return false;
    known.beside += bytes - known.*part;
    known.*part = bytes;
    return true;
  }
  void check_sum() const {
    if (known.beside + states > known.budget) throw states_too_large{known.budget, known.beside + states};
  }
};

/// The caller's `states`: one that the helper has handed over, and for adjoints that take it the one behind the step.
template <class State, class Walk>
struct lent_states {
  Walk& walk;
  frames<State>& pool;
  lent_limits& all;
  frame_id frame = no_frame, next_frame = no_frame;
  end_hash end = {};
  std::size_t held = 0;
  [[nodiscard]] State const& live() const noexcept { return std::as_const(pool).state(frame); }
  [[nodiscard]] State const& next() const noexcept { return std::as_const(pool).state(next_frame); }
  [[nodiscard]] static constexpr bool has_next() noexcept { return true; }
  void live_becomes_next() noexcept {}
  template <class Step>
  std::uint64_t make_next(Step&, step_index, step_index) noexcept { return 0; }
  template <class Record>
  void change_live(step_index, Record record, slot_index = no_slot) {
    record(const_cast<State&>(live()));  // this thread has it alone; the frame's other accessor writes what the helper reads
  }
  template <class Make>
  void load_made(step_index, Make, slot_index = no_slot) noexcept {}
  [[nodiscard]] end_hash end_behind_live(step_index) const noexcept { return end; }
  void reversing(step_index open)
    requires Walk::told
  { walk.store().notes(open, [this](auto const& f) { return f(live()); }); }
  template <class Bar>
  void reversed(step_index open, Bar const& bar)
    requires Walk::told
  {
    walk.store().reversed(open, bar);
    if (!walk.store().ends_at(open)) return;
    walk.park();
    walk.store().ends_after(pool, open);
  }
  [[nodiscard]] lent_limits& limits() noexcept { return all; }
  [[nodiscard]] std::size_t bytes() const noexcept { return held; }
  [[nodiscard]] State const* seen(bool) const noexcept { return frame == no_frame ? nullptr : address_of(live()); }
};

/// Ring and thread, which a workspace keeps for the next sweep.
template <class Thread>
struct helper_memory {
  handoff ring;
  Thread thread;
  int in_vain = 0;  ///< looks in a row at which the helper was of no use
};

/// The way back of one sweep until the helper's walk ends.
template <class Rules, class By, class State, class Cursor, class States, class Step, class User, class Observer>
class walk_ahead {
  static constexpr bool with_next = By::form == adjoint_form::with_next;
  using values_type = std::remove_reference_t<decltype(ahead_access::values(std::declval<States&>()))>;
  using pool_type = frames<State>;

 public:
  static constexpr bool told = told_in_parts<values_type>;

  walk_ahead(Cursor& cursor, States& states, Step& step, User& user, Observer& observer, sweep_status& status,
             helper_memory<typename Rules::thread>& memory, slot_index most, double step_ns)
      : cursor_{cursor},
        values_{ahead_access::values(states)},
        pool_{values_.limits()},
        step_{step},
        user_{user},
        shared_{observer, {}, 0},
        status_{status},
        ring_{memory.ring},
        thread_{memory.thread},
        in_vain_{memory.in_vain},
        walked_{ahead_access::walked(states, walked_status_)},
        step_ns_{step_ns} {
    walked_status_.turned = true, walked_status_.turned_at = status.turned_at, walked_status_.open = status.open;
    ring_.holds_back = with_next ? 1 : 0;
    ring_.begin(most + ring_.holds_back, Rules::spin_ns);
    auto const& limit = pool_.limit_now();
    limits_ = {limit, pool_.limited(),
               is_flat<State>() ? wide(pool_.limit()) * limit.state : limit.budget - lesser(limit.beside, limit.budget)};
    if constexpr (shared_view<Observer>::by_both) shared_.bytes = values_.bytes();
  }
  walk_ahead(walk_ahead const&) = delete;

  /// Returns why the helper's walk has ended; all that it handed over is reversed.
  /// \throws what step, adjoint or observer throw, after the reversals before it
  stop_reason go() {
    settle_ = ahead_access::settling(pool_);
    cold_ = ahead_access::free_count(pool_);
    pool_.settle_with([](void* self, pool_type& pool) { static_cast<walk_ahead*>(self)->find_frame(pool); }, this);
    struct restored {
      walk_ahead& all;
      ~restored() { all.ends(); }
    } const at_end{*this};
    if constexpr (with_next) {
      next_ = ahead_access::hand_over_next(values_);
      ring_.put_at_once({next_});
    }
    struct running {  // the helper's walk, while this exists
      walk_ahead& all;
      ~running() { all.park(); }
    };
    auto const reason = [this] {
      start();
      running const helper{*this};
      return reverse_all();
    }();
    if (ring_.thrown) {
      status_.failure = walked_status_.failure;
      std::rethrow_exception(ring_.thrown);
    }
    return reason;
  }
  [[nodiscard]] auto& store() noexcept { return values_.store(); }
  /// Ends the helper's walk.
  void park() noexcept {
    if (!std::exchange(walks_, false)) return;
    ring_.stop();
    thread_.wait();
  }

 private:
  void start() {
    if constexpr (told) store().runs_beside(&beside_);
    thread_.start([](void* self) { static_cast<walk_ahead*>(self)->walk(); }, this);
    walks_ = true;
  }
  /// On the helper's thread.
  void walk() noexcept {
    try {
      helpers_view<Observer, !keeps_frames<std::remove_reference_t<decltype(values_.store())>>> observer{shared_};
      handing<By, decltype(observer)> hands{ring_, observer};
      reason_ = execute(cursor_, walked_, step_, hands, observer, walked_status_);
      ring_.put_at_once({});
    } catch (walk_is_stopped const&) {
    } catch (...) {
      ring_.thrown = std::current_exception();
      ring_.put_at_once({});
    }
  }
  /// On the helper's thread: no frame is free.
  void find_frame(pool_type& pool) {
    while (!ahead_access::has_free(pool) && got_some_back()) {}
    if (!ahead_access::has_free(pool) && settle_.first != nullptr) settle_.first(settle_.second, pool);
  }
  /// On the helper's thread: the caller has reversed all, and waits.
  void wait_for_caller() {
    while (got_some_back()) {}
  }
  [[nodiscard]] bool got_some_back() {
    return ring_.wait_for_some([this](frame_id k) { ahead_access::take_back(pool_, k); });
  }
  /// The helper is parked: what it holds for the caller goes back.
  void ends() noexcept {
    ring_.release_to(ring_.handed(), [this](frame_id k) {
      if (k != no_frame && k != next_) ahead_access::take_back(pool_, k);
    });
    if constexpr (with_next) ahead_access::take_next(values_, next_);
    if constexpr (told) store().runs_beside(nullptr);
    pool_.settle_with(settle_.first, settle_.second);
    status_.ran += std::exchange(walked_status_.ran, 0);
    for (auto const part : {&byte_limit::adjoints, &byte_limit::tapes, &byte_limit::terms, &byte_limit::gradient})
      (void)pool_.takes(part, limits_.known.*part);
  }

  [[nodiscard]] stop_reason reverse_all() {
    looked_at_ = {now_ns(), 0, 0, thread_.ran_ns(), 0};
    std::int64_t ready = 0, looked = 0;
    for (std::int64_t k = with_next ? 1 : 0;; ++k) {
      bool waits = false;
      if (k >= ready) ready = ring_.published.now();
      if (k >= ready) {
        std::int64_t const begin = now_ns();
        ready = ring_.published.above(k, [] { return false; });
        std::int64_t const took = now_ns() - begin;
        waited_ += took, waits = took > Rules::spin_ns;
      }
      handed_state const e = ring_[k];
      if (e.frame == no_frame) return reason_;
      reverse(e);
      if constexpr (with_next) next_ = e.frame;
      ring_.done.raise(k + 1 - ring_.holds_back);
      if (!recalled_ && (waits || k - looked >= Rules::look_after) && look(k, e)) {
        ring_.recalled.store(true, std::memory_order_relaxed);
        recalled_ = true;
      }
      if (k - looked >= Rules::look_after) looked = k;
    }
  }
  void reverse(handed_state const& e) {
    lent_states<State, walk_ahead> lent{*this, pool_, limits_, e.frame, next_, e.end};
    action const a{.kind = action_kind::reverse, .from = e.from, .to = e.to};
    no_cursor_yet const rest;
    auto const tell = [&](moment when) {
      if constexpr (shared_view<Observer>::by_both) {
        std::lock_guard const one_at_a_time{shared_.mutex};
        lent.held = shared_.bytes;
        show(lent, rest, a, phase::reverse, when, shared_.observer);
      }
    };
    try {
      tell(moment::before);
      status_.ran += user_.reverse(lent, a);
      status_.open = e.from;
      tell(moment::after);
    } catch (...) {
      status_.failure = {true, phase::reverse, a, e.from};
      throw;
    }
  }
  /// Whether the caller is to go on alone: asked now and then.
  [[nodiscard]] bool look(std::int64_t k, handed_state const& e) {
    moments const now{now_ns(), waited_, e.ran, -1, ring_.done.slept_ns(), e.moved_ns};
    if (now.time - looked_at_.time < Rules::window_ns) return false;
    moments const then = std::exchange(looked_at_, now);
    looked_at_.helper_ran = thread_.ran_ns();
    walk_measures seen{double(now.time - then.time), double(now.waited - then.waited),
                       double(now.ran - then.ran) * step_ns_, -1, double(now.slept - then.slept),
                       double(now.moved - then.moved)};
    if (k < cold_) seen.again = 0;  // a frame is slow the first time it is written, which says nothing about the next
    if (then.helper_ran >= 0) seen.helper_ran = double(looked_at_.helper_ran - then.helper_ran);
    // One look may be wrong, three in a row are not. A sweep too short for three goes on where the last one left off.
    if (Rules::recalls(seen)) ++in_vain_;
    else if (k >= cold_) in_vain_ = 0;
    if (in_vain_ < 3) return false;
    in_vain_ = 2;
    return true;
  }

  struct moments {
    std::int64_t time = 0, waited = 0, ran = 0, helper_ran = 0, slept = 0, moved = 0;
  };

  Cursor& cursor_;
  values_type& values_;
  pool_type& pool_;
  Step& step_;
  User& user_;
  shared_view<Observer> shared_;
  sweep_status& status_;
  sweep_status walked_status_;
  handoff& ring_;
  typename Rules::thread& thread_;
  int& in_vain_;
  decltype(ahead_access::walked(std::declval<States&>(), std::declval<sweep_status const&>())) walked_;
  double step_ns_;
  lent_limits limits_;
  std::pair<typename pool_type::settle_fn, void*> settle_{};
  frame_id next_ = no_frame;
  stop_reason reason_ = stop_reason::done;
  bool recalled_ = false, walks_ = false;
  caller_beside beside_{{}, [](void* self) { static_cast<walk_ahead*>(self)->wait_for_caller(); }, this};
  std::int64_t waited_ = 0, cold_ = 0;
  moments looked_at_;
};

}  // namespace cairn::detail
