// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file replayed_states.hpp  The states of a sweep with a replay check: hashes and compares states, and forwards all
/// actions to the states inside.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/rules/detail/replay_ledger.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/sweep/detail/end_hash.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/run/sweep/detail/lost_states.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// The library, and not the type, says what the bytes of a type are.
struct known_bytes {
  template <class T>
  static consteval ruling of() {
    return writes_itself<T> || shows_itself<T> ? ruling::no : ruling::by_parts;
  }
};

/// Has the members of `copied_states` or `saved_states` that a sweep uses. Splits an advance where the ledger needs a
/// state. An out-of-place step finds a copy of x in its x1 when it runs first, and values that are not numbers when it
/// runs again; if it does not write all of x1, the two results differ.
/// Snapshots that are restored are run on for one step, and so are states that a store brings back from bytes, as the
/// ledger says: what the step makes shows whether the kept bytes lack something that it reads. An object is
/// taken to state 0 and to the state before the turn as soon as it has reached its end, and to the latter where it is
/// reversed. These calls are not counted.
/// \tparam Tried  the step, if states are brought back
template <class State, class States, class Tried = void>
class replayed_states {
  static constexpr bool kept_in_parts =
      saved_state<State> || !keeps_frames<std::remove_cvref_t<decltype(std::declval<States&>().store())>>;

  /// The first trial changes what the kept bytes lack; only a type that says itself what they are can lack something.
  static constexpr int trials = saved_state<State> || !every_part<known_bytes, State>() ? 2 : 1;

 public:
  replayed_states(States& states, replay_ledger& ledger, sweep_status const& status, Tried* step = nullptr) noexcept
      : states_{states}, ledger_{ledger}, status_{status}, step_{step} {}

  template <class Step>
  void advance(Step& step, step_index from, step_index to, step_index& failed) {
    if (!ledger_.on()) return states_.advance(step, from, to, failed);
    if (step_index const held = taken_from_store(from, to); held >= 0) {
      states_.advance(step, from, held, failed);
      ledger_.reached(from = held);
      known_ = -1;
    }
    along(from, to, [&](step_index at, step_index next) { run(step, at, next, failed); });
  }
  [[nodiscard]] bool save(place where, step_index i) {
    if (ledger_.on()) {
      std::uint64_t const hash = hash_of_live(i);
      if (!ledger_.saved(where.slot, i, hash)) fail(i);
      if constexpr (requires { states_.store().note_hash(i, hash, hash); })
        states_.store().note_hash(i, hash, ledger_.before(i));
    }
    return states_.save(where, i);
  }
  [[nodiscard]] bool load(place where, step_index i) {
    return brought_back(where.slot, i, [&] { return states_.load(where, i); });
  }
  static constexpr bool makes_again = States::makes_again;
  template <class Step>
  std::uint64_t make_again(Step& step, place where, step_index i, step_index& failed, bool& saved) {
    return remake(*this, states_, step, where, i, failed, saved);
  }
  void load_initial() {
    (void)brought_back(ledger_.initial_place(), 0, [&] { return states_.load_initial(), true; });
  }
  template <class Make>
  void load_made(step_index i, Make make, slot_index tape) {
    (void)brought_back(ledger_.place_of_tape(tape), i, [&] { return states_.load_made(i, make, tape), true; });
  }
  void drop(place where) { states_.drop(where); }
  [[nodiscard]] step_index held_between(step_index from, step_index to) const noexcept {
    return states_.held_between(from, to);
  }
  [[nodiscard]] bool load_between(step_index i) { return states_.load_between(i); }
  /// Live stays; states between it and the final one are checked as they are made.
  template <class Step>
  void turn(Step& step, step_index from, step_index to, step_index& failed) {
    if (!ledger_.on()) return states_.turn(step, from, to, failed);
    bool begun = false;
    step_index at = from;
    for (step_index next = from;; ++next) {
      next = ledger_.next_check(next, to);
      if (step_index const held = taken_from_store(at, to); held > next) next = held;
      step_index const reach = lesser(to, next);
      if (!begun && (reach > from || next >= to)) {
        begin_turn(step, from, reach, failed);
        begun = true;
      } else if (at < reach) {
        states_.turn_on(step, at, reach, failed);
      }
      ledger_.reached(at = reach);
      if (next <= to && !ledger_.note(next, begun && at > from ? hash_of_final() : hash_of_live(next)))
        ledger_.fail(next);
      if (next >= to) return;
    }
  }
  template <class Record>
  void turn_by(step_index n, Record record) {
    if (ledger_.on() && ledger_.next_check(n - 1, n) == n - 1) check(n - 1);
    if constexpr (!std::is_void_v<Tried>)
      if (differs_from_initial(*step_, n - 1)) refuse_restored(1, -1);
    states_.turn_by(n, record);
    ledger_.reached(n);
    if constexpr (saved_state<State>)
      if (ledger_.on()) expect_other_snapshot(n, hash_of_final(), hash_of_live(n - 1));
  }
  /// \param tape  where the tape of this step is kept; `no_slot` directly before its adjoint, after which the state is
  ///   not needed
  template <class Record>
  void change_live(step_index i, Record record, slot_index tape) {
    if (!ledger_.on() || tape == no_slot) {
      try_parked();
      states_.change_live(i, record, tape);
      if (ledger_.on_own() && ledger_.mode() == replay_check::every_step) {
        known_ = -1;
        if (!ledger_.matches(i - 1, i, hash_of_live(i))) fail(i);
      }
      return;
    }
    along(i - 1, i, [&](step_index, step_index) { states_.change_live(i, record, tape); });
    if (!ledger_.saved(ledger_.place_of_tape(tape), i, hash_of_live(i))) fail(i);
  }

  [[nodiscard]] auto& limits() noexcept { return states_.limits(); }
  [[nodiscard]] State const* seen(bool after_turn) const noexcept { return states_.seen(after_turn); }
  [[nodiscard]] std::size_t bytes() const { return states_.bytes(); }
  [[nodiscard]] std::size_t bytes(tier where) const { return states_.bytes(where); }
  void reversing(step_index open)
    requires requires(States& all) { all.reversing(open); }
  { states_.reversing(open); }
  template <class Bar>
  void reversed(step_index open, Bar const& bar)
    requires requires(States& all) { all.reversed(open, bar); }
  { states_.reversed(open, bar); }
  template <class Cursor>
  [[nodiscard]] auto look_from(Cursor const& from) noexcept
    requires requires(States& all) { all.look_from(from); }
  { return states_.look_from(from); }
  /// As the states inside, if they visit their bytes themselves, as those of objects do.
  bool visit(action const& a, moment when, event::sink sink, void* context) const
    requires requires(States const& states) { states.visit(a, when, sink, context); }
  { return states_.visit(a, when, sink, context); }
  [[nodiscard]] State const& live() { return states_.live(); }
  [[nodiscard]] State& lend_live(bool moves) {
    try_parked();
    return states_.lend_live(moves);
  }
  [[nodiscard]] State const& next() const noexcept { return states_.next(); }
  [[nodiscard]] State const& final_state() const noexcept { return states_.final_state(); }
  [[nodiscard]] bool has_next() const noexcept { return states_.has_next(); }
  template <class Step>
  std::uint64_t make_next(Step& step, step_index from, step_index to) {
    if (!ledger_.on_own()) return states_.make_next(step, from, to);
    if constexpr (shape_of_step<Step, State>().form == step_form::out_of_place) states_.prepare_next(true);
    std::uint64_t const ran = states_.make_next(step, from, to);
    if (!ledger_.ends(to, hash_of(states_.next()))) ledger_.fail(to);
    return ran;
  }
  /// The hash of state i, 0 if unknown. Live is the state before it; its hash is remembered for the next call.
  [[nodiscard]] end_hash end_behind_live(step_index i) {
    if (!ledger_.on_own()) return {};
    end_hash const end{ledger_.end_at(i)};
    ledger_.end_is(i - 1, hash_of_live(i - 1));
    return end;
  }
  /// Notes the hash of the final state, n: it is the end of the last step, whose adjoint is next.
  void final_is_end(step_index n) {
    if (ledger_.on_own()) ledger_.end_is(n, hash_of_final());
  }
  /// Live, the first state of the step that has just been reversed, is the x1 of the step before it.
  void live_becomes_next() {
    if (ledger_.on_own()) ledger_.end_is(status_.open - 1, hash_of_live(status_.open - 1));
    states_.live_becomes_next();
  }
  /// Runs a seed that puts the adjoint into the object, which is in the final state, n; refuses a seed that changes
  /// what a snapshot holds.
  template <class Fill>
  void seed(step_index n, Fill fill) {
    if (!ledger_.on_own()) return fill();
    std::uint64_t const before = hash_of_final();
    fill();
    if (hash_of_final() != before) refuse_changed_snapshot(n);
  }
  /// Runs an adjoint that finds the object in state i with the bar in it; refuses one that changes what a snapshot
  /// holds.
  template <class Adjoint>
  void read_by(step_index i, Adjoint adjoint) {
    if (!ledger_.on_own()) return adjoint();
    std::uint64_t const before = hash_of_live(i);
    adjoint();
    known_ = -1;
    if (hash_of_live(i) != before) refuse_changed_snapshot(i);
  }
  void final_becomes_live() noexcept { states_.final_becomes_live(); }

 private:
  /// The state that a store holds for this stretch, if it takes the place of running there; otherwise -1.
  [[nodiscard]] step_index taken_from_store(step_index from, step_index to) const noexcept {
    if constexpr (requires { states_.held_between(from, to); })
      if (!ledger_.on_own()) return states_.held_between(from, to);
    return -1;
  }
  /// Live moves from one state to another by calls run(at, next), split where the ledger needs a state.
  template <class Run>
  void along(step_index from, step_index to, Run run) {
    if (status_.turned) ledger_.reversed(status_.open);
    ledger_.along(from, to, run, [this](step_index i) { check(i); });
  }
  template <class Step>
  void run(Step& step, step_index from, step_index to, step_index& failed) {
    if (!ledger_.on_own()) return states_.advance(step, from, to, failed);
    if constexpr (shape_of_step<Step, State>().form == step_form::out_of_place) {
      for (step_index i = from; i < to; ++i) {
        states_.prepare_next(!ledger_.is_first(i));
        states_.advance(step, i, i + 1, failed);
        ledger_.reached(i + 1);
      }
    } else {
      states_.advance(step, from, to, failed);
    }
  }
  /// Whether an object that is taken to state 0, if that is still kept, goes to another state 1 than at first. Live is
  /// parked, and the turn begins with it.
  template <class Step>
  [[nodiscard]] bool differs_from_initial(Step& step, step_index live) {
    if constexpr (saved_state<State>) {
      std::uint64_t const end = live > 0 ? ledger_.initial_to_try() : 0;
      if (end == 0 || !states_.goes_to_initial(live)) return false;
      step_index failed = 0;
      states_.turn_on(step, 0, 1, failed);
      return hash_of_final() != end;
    } else return false;
  }
  /// Begins the turn; an object makes the first step of it once more from its snapshot.
  template <class Step>
  void begin_turn(Step& step, step_index from, step_index to, step_index& failed) {
    if constexpr (saved_state<State>) {
      if (from < to && ledger_.tries_at_turn(status_.turned)) {
        states_.turn(step, from, from + 1, failed);
        auto const first = states_.look_at_object([](auto const& x) { return member_hashes{x}; });
        std::uint64_t const hash = hash_of_final();
        ledger_.turn() = {from + 1, hash};
        expect_other_snapshot(from + 1, hash, hash_of_live(from));
        bool const differs = differs_from_initial(step, from);
        states_.begin_turn_again();
        if (hash_of_final() != hash_of_live(from)) refuse_loaded(from);
        states_.turn_on(step, from, from + 1, failed);
        if (hash_of_final() != hash)
          refuse_restored(from + 1, states_.look_at_object([&](auto const& x) { return first.first_other(x); }));
        if (differs) refuse_restored(1, -1);
        return states_.turn_on(step, from + 1, to, failed);
      }
    }
    states_.turn(step, from, to, failed);
  }
  /// An object that is in the final state comes back to live, with which its turn began, and is run on for one step:
  /// what its snapshot lacks has the value of the final state now. It comes back once more afterwards.
  void try_parked() {
    if constexpr (saved_state<State> && !std::is_void_v<Tried>) {
      auto const first = ledger_.turn();
      step_index const from = first.at - 1;
      if (first.hash == 0 || !states_.is_parked(from)) return;
      step_index failed = from;
      for (int k = trials; k > 0; --k) {
        states_.begin_turn_again();
        states_.turn_on(*step_, from, first.at, failed);
        if (hash_of_final() != first.hash) refuse_restored(first.at, -1);
      }
    }
  }
  /// Refuses snapshots that are all equal, up to state i and the one before it, and hold no numbers: then they name
  /// where the state is. Numbers may stay as they are, as those of a state at rest do.
  void expect_other_snapshot(step_index i, std::uint64_t hash,
                             std::uint64_t before) {
    if constexpr (saved_state<State>) {
      if (hash != before || !ledger_.on_own() || !ledger_.are_all(i, hash)) return;
      bool numbers = false;
      if constexpr (numbered<stored_as<State>>)
        states_.look_at_object([&](auto const& x) {
          visit_numbers(x, [&](auto const*, std::size_t count) { numbers |= count > 0; });
        });
      if (!numbers) refuse_equal_snapshots(i);
    }
  }
  /// Brings state i back by `load`, which returns whether it is there. One that is run on is brought back again, from a
  /// file, too: what comes next may be its adjoint, and a copy in memory would be a state more than the budget counts.
  template <class Load>
  [[nodiscard]] bool brought_back(slot_index place, step_index i, Load load) {
    if (!load()) return false;
    came_back(place, i);
    if constexpr (!std::is_void_v<Tried> && kept_in_parts) {
      std::uint64_t const end = status_.turned ? ledger_.end_to_try(i) : 0;
      if (end == 0) return true;
      expect_other_snapshot(i + 1, end, hash_);
      step_index failed = i;
      for (int k = trials; k > 0; --k) {
        run(*step_, i, i + 1, failed);
        known_ = -1;
        if (hash_of_live(i + 1) != end) ledger_.others() ? fail(i + 1) : refuse_restored(i + 1, -1);
        known_ = -1;
        if (!load()) return false;
      }
    }
    return true;
  }
  void check(step_index i) {
    if (!ledger_.note(i, hash_of_live(i))) fail(i);
  }
  void came_back(slot_index place, step_index i) {
    if (!ledger_.on()) return;
    known_ = -1;
    if (!ledger_.loaded(place, i, hash_of_live(i))) refuse_loaded(i);
  }
  /// The hash of live, which is state i. Computed once: no action between two calls for the same state changes it.
  [[nodiscard]] std::uint64_t hash_of_live(step_index i) {
    if (known_ != i) {
      hash_ = states_.inspect_live([](auto const& x) { return hash_of(x); });
      known_ = i;
    }
    return hash_;
  }
  [[nodiscard]] std::uint64_t hash_of_final() {
    auto const hash = [](auto const& x) { return hash_of(x); };
    if constexpr (copied_state<State>) return hash(states_.final_state());
    else return states_.look_at_object(hash);
  }
  [[noreturn]] void fail(step_index i) {
    if constexpr (requires { states_.store().is_wrong(); }) states_.store().is_wrong();
    first_difference where;
    states_.compare_earlier(i, [&](auto const& first, auto const& again) { where = difference_of(first, again); });
    ledger_.fail(i, where);
  }

  friend struct ahead_access;
  States& states_;
  replay_ledger& ledger_;
  sweep_status const& status_;
  Tried* step_;
  std::uint64_t hash_ = 0;  // of live, while it is state known_
  step_index known_ = -1;
};

}  // namespace cairn::detail
