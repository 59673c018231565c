// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file saved_states.hpp  The states of a sweep whose state is an object that stays in place and is saved as
/// snapshots.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/same_capacity.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/sweep/detail/frames.hpp>
#include <cairn/run/sweep/detail/lost_states.hpp>
#include <cairn/run/sweep/detail/sweep_memory.hpp>

namespace cairn::detail {

/// An object of the caller's that steps advance in place.
template <class State>
class live_object {
 public:
  using snapshot = stored_as<State>;

  void stand_at(State& x) noexcept {
    x_ = address_of(x);
    moved_ = at_final_ = false;
  }
  void clear() noexcept {
    looked_at_.reset();
    x_ = nullptr;
  }

  [[nodiscard]] State& operator*() const noexcept { return *x_; }
  /// The same for a call that changes the object.
  [[nodiscard]] State& changed() noexcept {
    at_final_ = false;
    return *x_;
  }
  /// The same for an adjoint; with `moves` it may leave the object in no state of the loop.
  [[nodiscard]] State& lent(bool moves) noexcept {
    moved_ = moves;
    return changed();
  }
  [[nodiscard]] bool moved() const noexcept { return moved_; }
  [[nodiscard]] bool is_at_final() const noexcept { return at_final_; }
  void reaches_final() noexcept { at_final_ = true; }
  void restore(snapshot const& from) {
    restore_state(*x_, from);
    moved_ = at_final_ = false;
  }

  [[nodiscard]] snapshot now() const { return taken_snapshot(std::as_const(*x_)); }
  /// Saves into an old snapshot. Returns false if this is not possible, or if the snapshot then has spare capacity: it
  /// has to be made anew.
  [[nodiscard]] bool saved_into(snapshot* old) const {
    if constexpr (saves_into<State>) {
      if (old == nullptr) return false;
      save_state(std::as_const(*x_), *old);
      return has_exact_capacity(std::as_const(*old));
    } else return false;
  }
  /// The result of f for a snapshot of the present state.
  template <class Fn>
  auto look(Fn f) const {
    if constexpr (saves_into<State>) {
      if (!looked_at_) looked_at_.emplace(now());
      else save_state(std::as_const(*x_), *looked_at_);
      return f(std::as_const(*looked_at_));
    } else return f(save_state(std::as_const(*x_)));
  }
  /// A snapshot of what run(object) makes of another state. The object is restored afterwards.
  template <class Run>
  [[nodiscard]] snapshot made_from(snapshot const& from, Run run) {
    snapshot const here = now();
    auto const kept_snapshot = [&] { restore_state(*x_, here); };
    try {
      restore_state(*x_, from);
      run(*x_);
      snapshot made = now();
      kept_snapshot();
      return made;
    } catch (...) {
      kept_snapshot();
      throw;
    }
  }

 private:
  struct no_snapshot {
    void reset() noexcept {}
  };

  /// The memory of `look`.
  mutable std::conditional_t<saves_into<State>, std::optional<snapshot>, no_snapshot> looked_at_;
  State* x_ = nullptr;
  bool moved_ = false;
  bool at_final_ = false;
};

/// Has the members of `copied_states` that a sweep uses. The caller's object is live; frames hold snapshots of it.
/// While live is *parked* in a frame, the object is in another state: after a turn it is in the final state, until the
/// first adjoint asks for live. One class: each action has to say where live is, in the object or parked.
template <class State, class Store>
class saved_states : public sweep_memory<stored_as<State>, Store> {
  using snapshot = stored_as<State>;
  using memory = sweep_memory<snapshot, Store>;
  using memory::pool_, memory::anchors_, memory::anchor_count_, memory::turn_live_, memory::initial_,
      memory::keeps_run_;
  using typename memory::store_type;

 public:
  saved_states() = default;
  explicit saved_states(Store store) : memory{std::forward<Store>(store)} {}

  /// The object is advanced in place, whether it is passed as an rvalue or not.
  template <class X0>
  void begin(X0&& x0, sweep_setup const& setup) {
    memory::begin(setup, 0);
    stand_at(x0, setup.ends);
    if (shares_initial() || setup.initial_is_free || may_lose<store_type>) keep_initial();
  }
  /// \pre x0 is in the initial state
  void begin_again(State& x0, sweep_setup const& setup) {
    memory::begin_again(setup, 0);
    stand_at(x0, setup.ends);
    initial_ = this->frame_holding(0);
    if (initial_ != no_frame && std::as_const(pool_).record(initial_).owners > 0)
      pool_.keep(initial_);  // a slot has it
    else keep_initial();
  }

  /// State n, the final one, comes from the store. Returns false if that cannot read it.
  [[nodiscard]] bool read_final(step_index n) {
    snapshot made{};
    if (!this->store().read_final(n, made)) return false;
    object_.restore(made);
    object_.reaches_final();
    return true;
  }

  /// A sweep that has ended by an exception leaves the object in the initial state, from which another one begins.
  void go_back() {
    if (initial_ != no_frame) load_initial();
  }

  template <class Step>
  void advance(Step& step, step_index from, step_index to, step_index& failed) {
    unpark();
    run_object(step, from, to, failed);
  }
  /// The object becomes state i, which the store holds between two places of the plan. Returns whether that worked.
  [[nodiscard]] bool load_between(step_index i) {
    unpark();
    return read_between(i);
  }
  /// Returns false if the slot cannot be written.
  [[nodiscard]] bool save(place where, step_index i) {
    bool const is_parked = parked_ != no_frame;
    frame_id const k = is_parked ? parked_ : frame_with(i);
    if (is_parked) pool_.keep(k);
    typename frames<snapshot>::holder guard{pool_, k};
    return this->save_frame(where, i, k);
  }
  [[nodiscard]] bool load(place where, step_index i) {
    pool_.forget(parked_);
    frame_id const k = this->load_frame(where, i);
    if (memory::makes_again && k == no_frame) return false;
    typename frames<snapshot>::holder guard{pool_, k};
    put_back(k);
    return true;
  }
  /// Makes state i, which the store lacks, live, and saves it in its slot again. Returns how many steps it ran.
  template <class Step>
  std::uint64_t make_again(Step& step, place where, step_index i, step_index& failed, bool& saved) {
    return remake(*this, *this, step, where, i, failed, saved);
  }
  void load_initial() {
    pool_.forget(parked_);
    put_back(initial_);
  }
  /// The object becomes state i; `make` returns a snapshot of it, as a value or a reference.
  template <class Make>
  void load_made(step_index, Make make, slot_index = no_slot) {
    pool_.forget(parked_);
    snapshot const& made = make();
    object_.restore(made);
  }
  template <class Step>
  void turn(Step& step, step_index from, step_index to, step_index& failed) {
    if (from < to) {
      park(from);
      run_object(step, from, to, failed);
    }
    object_.reaches_final();
  }
  /// Continues a turn that stopped before its end.
  template <class Step>
  void turn_on(Step& step, step_index from, step_index to, step_index& failed) {
    run_in_place(step, *object_, from, to, failed);
  }
  /// The object returns to live, from which `turn_on` makes the turn again.
  void begin_turn_again() {
    put_back(parked_);
    object_.reaches_final();
  }
  /// Whether live is state i and in a frame, and the object in another state.
  [[nodiscard]] bool is_parked(step_index i) const noexcept {
    return parked_ != no_frame && pool_.record(parked_).at == i;
  }
  /// The object goes to state 0, if a frame holds that; live, state i, is parked. Returns whether it did.
  [[nodiscard]] bool goes_to_initial(step_index i) {
    frame_id const k = this->frame_holding(0, parked_);
    if (k == no_frame) return false;
    if (parked_ == no_frame) park(i);
    put_back(k);
    return true;
  }
  /// The turn of an adjoint that runs and records the last step itself.
  template <class Record>
  void turn_by(step_index n, Record record) {
    park(n - 1);
    record(*object_);
    object_.reaches_final();
  }

  /// Tells the store that an adjoint begins which leads to state `open`, which is live.
  void reversing(step_index open)
    requires is_told_before<store_type>
  {
    this->store().reversing(open, [this](auto const& f) { return this->inspect_live(f); });
  }

  // For a replay check:
  /// The result of f for a snapshot of the live state.
  template <class Fn>
  auto inspect_live(Fn f) const {
    if (parked_ != no_frame) return f(pool_.state(parked_));
    return look_at_object(f);
  }
  /// The same for the present state of the object.
  template <class Fn>
  auto look_at_object(Fn f) const {
    return object_.look(f);
  }
  /// Calls f(other, live) with snapshots of state i from before and of live, which is state i, if the former exists.
  template <class Fn>
  void compare_earlier(step_index i, Fn f) const {
    if (frame_id const k = this->frame_holding(i, parked_); k != no_frame)
      inspect_live([&](snapshot const& now) { f(pool_.state(k), now); });
  }

  [[nodiscard]] State const& live() {
    unpark();
    return *object_;
  }
  /// Live for an adjoint, which with `moves` may leave the object in any other state.
  [[nodiscard]] State& lend_live(bool moves) {
    unpark();
    return object_.lent(moves);
  }
  /// Passes the object to a function other than the step, which changes it.
  template <class Record>
  void change_live(step_index, Record record, slot_index = no_slot) {
    unpark();
    record(object_.changed());
  }
  /// Visits the bytes of the state that an observer sees: of the object, or of its snapshot if the object's are
  /// unknown. Returns false if the object is in no state of the loop, after an adjoint that changed it.
  bool visit(action const& a, moment when, event::sink sink, void* context) const {
    auto const show = [&](auto const& x) { show_runs(x, sink, context); };
    if (object_.moved()) return false;
    bool const parked = parked_ != no_frame && !(when == moment::after && a.kind == action_kind::turn);
    if constexpr (buffered<State>) {
      if (parked && a.kind != action_kind::reverse) return false;
      if (parked) restore_state(*object_, pool_.state(parked_));  // the adjoint comes next and needs the object there
      show(std::as_const(*object_));
      return true;
    } else if constexpr (buffered<snapshot>) {
      if (parked) show(pool_.state(parked_));
      else look_at_object(show);
      return true;
    } else return false;
  }
  [[nodiscard]] State& final_state() noexcept { return *object_; }
  [[nodiscard]] State const& final_state() const noexcept { return *object_; }
  /// Whether the object is in the final state.
  [[nodiscard]] bool is_at_final() const noexcept { return object_.is_at_final(); }
  /// The reverse sweep begins, with the object in the final state.
  void forget_final() {
    if (ends_ != object_ends::at_final) return;
    last_ = frame_with(no_state);
  }
  /// The reverse sweep has ended: puts the object into the state that the caller asked for.
  void end() {
    pool_.forget(parked_);
    if (ends_ == object_ends::at_initial) put_back(initial_);
    else if (ends_ == object_ends::at_final) {
      put_back(last_);
      object_.reaches_final();
      pool_.forget(last_);
    }
  }
  /// The loop continues after the state that `turn` made.
  void final_becomes_live() noexcept { pool_.forget(parked_); }

  /// Notes the states at the turn, before which live is state `from`; `is_checkpoint(i)` says which are places to
  /// restart from.
  template <class IsCheckpoint>
  void remember(step_index from, IsCheckpoint is_checkpoint) {
    this->note_turn(from, parked_, is_checkpoint);
  }
  /// Restores slots and object to the turn of a loop of n steps. Runs the steps of states that are gone, and those of
  /// the turn, and returns their number.
  /// \param through  these states, or an object that checks them as they change
  template <class Through, class Step>
  step_index rewind(Through& through, Step& step, step_index n, step_index& failed) {
    this->reclaim_turn(initial_);
    parked_ = last_ = no_frame;
    put_back(initial_);
    this->empty_slots();
    step_index ran = 0, here = 0;
    for (std::size_t k = 0; k < anchor_count_; ++k) {
      auto& anchor = anchors_[k];
      ran += go_to(through, step, anchor, here, failed);
      this->save_again(through, anchor);
      if (anchor.frame = this->frame_of(anchor); anchor.frame != no_frame) pool_.anchor(anchor.frame);
    }
    ran += go_to(through, step, turn_live_, here, failed);
    step_index const from = turn_live_.at;
    turn(step, from, n, failed);
    if ((turn_live_.frame = parked_) != no_frame) pool_.anchor(parked_);
    return ran + n - from;
  }
  /// A snapshot of what run(object) makes of the state in a frame. The object is restored afterwards.
  template <class Run>
  [[nodiscard]] snapshot made_state(frame_id from, Run run) {
    return object_.made_from(std::as_const(pool_).state(from), run);
  }

  /// Frees all memory. A store that outlives its sweeps keeps its content.
  void clear() {
    memory::clear();
    object_.clear();
    parked_ = last_ = no_frame;
  }

 private:
  static constexpr step_index no_state = -1;

  template <class Step>
  void run_object(Step& step, step_index from, step_index to, step_index& failed) {
    if constexpr (!may_end_sweeps<store_type>) run_in_place(step, object_.changed(), from, to, failed);
    else
      this->run_steps(
          from, to,
          [&](step_index at, step_index next) { run_in_place(step, object_.changed(), at, next, failed); },
          [&](auto const& f) { return look_at_object(f); }, [&](step_index i) { return read_between(i); });
  }
  [[nodiscard]] bool read_between(step_index i) {
    if constexpr (may_end_sweeps<store_type>) {
      snapshot made{};
      if (!this->store().read_live(i, made)) return false;
      object_.restore(made);
      return true;
    } else return false;
  }

  /// The initial state is kept to the end, and shares a frame with its slot.
  [[nodiscard]] bool shares_initial() const noexcept { return keeps_run_ || ends_ == object_ends::at_initial; }
  void keep_initial() {
    initial_ = pool_.take();
    store_snapshot(initial_, 0);
  }
  void put_back(frame_id k) { object_.restore(std::as_const(pool_).state(k)); }
  void unpark() {
    if (parked_ == no_frame) return;
    put_back(parked_);
    pool_.forget(parked_);
  }
  /// Live, state i, stays in a frame while the object advances from it.
  void park(step_index i) {
    if (parked_ != no_frame) put_back(parked_);
    else parked_ = frame_with(i);
  }
  /// A frame with a snapshot of the object, which is in state i, and one more owner.
  [[nodiscard]] frame_id frame_with(step_index i) {
    if (i == 0 && (shares_initial() || (this->resumed_ && initial_ != no_frame))) {
      pool_.keep(initial_);
      return initial_;
    }
    typename frames<snapshot>::holder taken{pool_, pool_.take()};
    store_snapshot(taken.held, i);
    return std::exchange(taken.held, no_frame);
  }
  void store_snapshot(frame_id k, step_index i) {
    if (!object_.saved_into(pool_.reusable(k))) pool_.emplace_made(k, [this] { return object_.now(); });
    pool_.set_at(k, i);
    pool_.check_limit(std::as_const(pool_).state(k));
  }
  void stand_at(State& x0, object_ends ends) {
    object_.stand_at(x0);
    ends_ = ends;
    parked_ = last_ = no_frame;
  }
  /// Makes the state that `to` names live: by its frame if it is still held, otherwise the object runs there from state
  /// `here`.
  template <class Through, class Step>
  step_index go_to(Through& through, Step& step, checkpoint_record const& to, step_index& here, step_index& failed) {
    step_index const from = std::exchange(here, to.at);
    if (to.frame != no_frame) {
      pool_.forget(parked_);
      parked_ = to.frame;
      return 0;
    }
    failed = from;
    if (from < to.at) through.advance(step, from, to.at, failed);
    return to.at - from;
  }

  live_object<State> object_;
  frame_id parked_ = no_frame, last_ = no_frame;
  object_ends ends_ = object_ends::anywhere;
};

}  // namespace cairn::detail
