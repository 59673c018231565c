#pragma once
/// \file saved_states.hpp  The states of a sweep whose state is an object that stays in place and hands out snapshots.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/buffers.hpp>
#include <cairn/core/event.hpp>
#include <cairn/run/detail/copied_states.hpp>

namespace cairn::detail {

/// Has the members of `copied_states` that a sweep uses. The caller's object is live; frames hold snapshots of it.
/// While live is *parked* in a frame, the object is in another state: after a turn it is in the final state, until the
/// first adjoint asks for live.
template <class State, class Store>
class saved_states {
  using store_type = std::remove_reference_t<Store>;
  using snapshot = kept_as<State>;

 public:
  saved_states() = default;
  explicit saved_states(Store store) : store_{std::forward<Store>(store)} {}

  /// The object is advanced in place, whether it is passed as an rvalue or not.
  template <class X0>
  void begin(X0&& x0, sweep_setup const& setup) {
    keeps_run_ = setup.keeps_run;
    store_.begin(setup.slots);
    begin_empty(x0, setup);
    if (shares_initial() || setup.initial_is_free || may_lose<store_type>) keep_initial();
  }
  /// \pre x0 is in the initial state
  void begin_again(State& x0, sweep_setup const& setup) {
    bool const anew = pool_.limit() != limit(setup) || slots_ != setup.slots;
    keeps_run_ = false;
    let_go_of_frames<store_type>(store_, pool_, setup.slots, anew);
    if (anew) {
      begin_empty(x0, setup);
    } else {
      reclaim_slots<store_type>(store_, pool_, setup.slots);
      stand_at(x0, setup);
    }
    keep_initial();
  }
  /// Notes the content of the slots before a sweep continues, so that after a later loss all of it can be used.
  void note_held([[maybe_unused]] auto const& tier_in) {
    if constexpr (may_lose<store_type>)
      for (slot_index slot = 0; slot < slots_; ++slot)
        held_[std::size_t(slot)] = {state_in(slot), slot, no_frame, tier_in(slot)};
  }

  template <class Step>
  void advance(Step& step, step_index from, step_index to, step_index& failed) {
    unpark();
    at_final_ = false;
    run_in_place(step, *x_, from, to, failed);
  }
  void save(place where, step_index i) {
    bool const is_parked = parked_ != no_frame;
    frame_id const k = is_parked ? parked_ : frame_with(i);
    if (is_parked) pool_.keep(k);
    typename frames<snapshot>::holder guard{pool_, k};
    store_.save(pool_, where, i, k);
    if (tracked()) held_[std::size_t(where.slot)] = {i, where.slot, no_frame, where.where};
    else if (keeps_run_) held_[std::size_t(where.slot)].where = where.where;  // `rewind` saves to the same tier again
  }
  [[nodiscard]] bool load(place where, step_index i) {
    pool_.forget(parked_);
    frame_id k = store_.load(pool_, where, i);
    if constexpr (may_lose<store_type>) {
      if (k == no_frame) {
        held_[std::size_t(where.slot)].at = -1;
        return false;
      }
    } else need_frame<store_type>(k, where, i);
    typename frames<snapshot>::holder guard{pool_, k};
    if constexpr (!keeps_frames<store_type>) pool_.set_at(k, i);
    put_back(k);
    return true;
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
    restore_state(*x_, made);
    moved_ = at_final_ = false;
  }
  void drop(place where) {
    store_.drop(pool_, where);
    if (tracked()) held_[std::size_t(where.slot)].at = -1;
  }
  template <class Step>
  void turn(Step& step, step_index from, step_index to, step_index& failed) {
    if (from < to) {
      park(from);
      run_in_place(step, *x_, from, to, failed);
    }
    at_final_ = true;
  }
  /// Continues a turn that stopped on its way.
  template <class Step>
  void turn_on(Step& step, step_index from, step_index to, step_index& failed) {
    run_in_place(step, *x_, from, to, failed);
  }
  /// The turn of an adjoint that runs and records the last step itself.
  template <class Record>
  void turn_by(step_index n, Record record) {
    park(n - 1);
    record(*x_);
    at_final_ = true;
  }

  // For a replay check:
  /// The result of f for a snapshot of the live state.
  template <class F>
  auto inspect_live(F f) const {
    if (parked_ != no_frame) return f(pool_.state(parked_));
    return look_at_object(f);
  }
  /// The same for the present state of the object.
  template <class F>
  auto look_at_object(F f) const {
    if constexpr (saves_into<State>) {
      if (!looked_at_) looked_at_.emplace(snapshot_now());
      else save_state(std::as_const(*x_), *looked_at_);
      return f(std::as_const(*looked_at_));
    } else return f(save_state(std::as_const(*x_)));
  }
  /// Calls f(other, live) with snapshots of state i from before and of live, which is state i, if the former exists.
  template <class F>
  void compare_earlier(step_index i, F f) const {
    for (frame_id k = 0; k < pool_.limit(); ++k)
      if (k != parked_ && pool_.at(k) == i && pool_.record(k).constructed)
        return inspect_live([&](snapshot const& now) { f(pool_.state(k), now); });
  }

  [[nodiscard]] State const& live() {
    unpark();
    return *x_;
  }
  /// Live for an adjoint, which with `moves` may leave the object in any other state.
  [[nodiscard]] State& lend_live(bool moves) {
    unpark();
    at_final_ = false;
    moved_ = moves;
    return *x_;
  }
  /// Passes the object to a function other than the step, which changes it.
  template <class Record>
  void change_live(step_index, Record record, slot_index = no_slot) {
    unpark();
    at_final_ = false;
    record(*x_);
  }
  /// Visits the bytes of the state that an observer sees: of the object, or of its snapshot if the object's are
  /// unknown. Returns false if the object is in no state of the loop, after an adjoint that changed it.
  bool visit(action const& a, moment when, event::sink sink, void* context) const {
    auto const show = [&](auto const& x) {
      visit_buffers(x, [&](void const* bytes, std::size_t size) { sink(context, bytes, size); });
    };
    if (moved_) return false;
    bool const parked = parked_ != no_frame && !(when == moment::after && a.kind == action_kind::turn);
    if constexpr (buffered<State>) {
      if (parked && a.kind != action_kind::reverse) return false;
      if (parked) restore_state(*x_, pool_.state(parked_));  // the adjoint comes next and needs the object there
      show(std::as_const(*x_));
      return true;
    } else if constexpr (buffered<snapshot>) {
      if (parked) show(pool_.state(parked_));
      else look_at_object(show);
      return true;
    } else return false;
  }
  [[nodiscard]] State& final_state() noexcept { return *x_; }
  [[nodiscard]] State const& final_state() const noexcept { return *x_; }
  /// Whether the object is in the final state.
  [[nodiscard]] bool is_at_final() const noexcept { return at_final_; }
  /// The way back begins, with the object in the final state.
  void forget_final() {
    if (ends_ != object_ends::at_final) return;
    last_ = frame_with(no_state);
  }
  /// The way back has ended: puts the object into the state that the caller asked for.
  void end() {
    pool_.forget(parked_);
    if (ends_ == object_ends::at_initial) put_back(initial_);
    else if (ends_ == object_ends::at_final) {
      put_back(last_);
      at_final_ = true;
      pool_.forget(last_);
    }
  }
  /// The loop continues after the state that `turn` made.
  void final_becomes_live() noexcept { pool_.forget(parked_); }

  /// Notes the states at the turn, before which live is state `from`; `is_checkpoint(i)` says which are places to
  /// restart from.
  template <class IsCheckpoint>
  void remember(step_index from, IsCheckpoint is_checkpoint) {
    note_turn<store_type>(store_, pool_, held_, anchors_, anchor_count_, tracked(), is_checkpoint);
    if (parked_ != no_frame) pool_.anchor(parked_);
    turn_live_ = {from, no_slot, parked_};
  }
  /// Restores slots and object to the turn of a loop of n steps. Runs the steps of states that are gone, and those of
  /// the turn, and returns their number.
  /// \param through  these states, or an object that checks them as they change
  template <class Through, class Step>
  step_index rewind(Through& through, Step& step, step_index n, step_index& failed) {
    reclaim_turn<store_type>(pool_, anchors_, anchor_count_, turn_live_, initial_);
    parked_ = last_ = no_frame;
    put_back(initial_);
    store_.begin(slot_index(held_.size()));
    if (tracked())
      for (auto& kept : held_) kept.at = -1;
    step_index ran = 0, here = 0;
    for (std::size_t k = 0; k < anchor_count_; ++k) {
      auto& kept = anchors_[k];
      ran += go_to(through, step, kept, here, failed);
      through.save({kept.slot, kept.where}, kept.at);
      held_[std::size_t(kept.slot)].checkpoint = kept.checkpoint;
      if (kept.frame = frame_of(kept); kept.frame != no_frame) pool_.anchor(kept.frame);
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
    snapshot const here = snapshot_now();
    auto const come_back = [&] { restore_state(*x_, here); };
    try {
      restore_state(*x_, std::as_const(pool_).state(from));
      run(*x_);
      snapshot made = snapshot_now();
      come_back();
      return made;
    } catch (...) {
      come_back();
      throw;
    }
  }
  /// The frame of the latest state at or before i that is still held; in a kept run there always is one, that of the
  /// initial state.
  [[nodiscard]] frame_id before(step_index i) const noexcept { return latest_before(pool_, initial_, i); }
  [[nodiscard]] frames<snapshot> const& pool() const noexcept { return pool_; }
  /// The frame of a kept state, or no_frame if the store keeps no frames.
  [[nodiscard]] frame_id frame_of(checkpoint_record const& kept) const noexcept {
    return frame_in<store_type>(store_, kept.slot);
  }

  [[nodiscard]] std::size_t bytes() const { return pool_.bytes(); }
  [[nodiscard]] slot_index frame_count() const noexcept { return pool_.limit(); }
  [[nodiscard]] store_type& store() noexcept { return store_; }
  [[nodiscard]] table<checkpoint_record> const& held() const noexcept { return held_; }
  [[nodiscard]] step_index state_in(slot_index slot) const { return stored_state_in<store_type>(store_, pool_, slot); }
  /// For a sweep that stopped: the hash of the initial state's snapshot, 0 if it is gone.
  [[nodiscard]] std::uint64_t hash_of_initial() const { return hash_in_frames(pool_, 0); }
  /// The same for the content of a store that outlives its sweeps, through a frame that is released.
  [[nodiscard]] std::uint64_t hash_of_stored(place where) { return hash_in_store(store_, pool_, where); }
  /// Frees all memory. A store that outlives its sweeps keeps its content.
  void clear() {
    let_go_of_memory<store_type>(store_, pool_);
    held_ = table<checkpoint_record>{};
    anchors_ = table<checkpoint_record>{};
    looked_at_.reset();
    x_ = nullptr;
    slots_ = -1;
    parked_ = initial_ = last_ = no_frame;
  }

 private:
  static constexpr step_index no_state = -1;
  /// The snapshot that a replay check hashes; reusable memory.
  struct none_looked_at {
    void reset() noexcept {}
  };

  /// Whether the slots' content is noted as it changes. This is not needed for a store of frames, whose slots can be
  /// inspected at any time.
  [[nodiscard]] bool tracked() const noexcept {
    if constexpr (keeps_frames<store_type> && !may_lose<store_type>) return false;
    else return may_lose<store_type> || keeps_run_;
  }
  /// The initial state is kept to the end, and shares a frame with its slot.
  [[nodiscard]] bool shares_initial() const noexcept { return keeps_run_ || ends_ == object_ends::at_initial; }
  void keep_initial() {
    initial_ = pool_.take();
    store_snapshot(initial_, 0);
  }
  void put_back(frame_id k) {
    restore_state(*x_, std::as_const(pool_).state(k));
    moved_ = at_final_ = false;
  }
  void unpark() {
    if (parked_ == no_frame) return;
    put_back(parked_);
    pool_.forget(parked_);
  }
  /// Live, state i, stays in a frame while the object goes on from it.
  void park(step_index i) {
    if (parked_ != no_frame) put_back(parked_);
    else parked_ = frame_with(i);
  }
  /// A frame with a snapshot of the object, which is in state i, and one more owner.
  [[nodiscard]] frame_id frame_with(step_index i) {
    if (i == 0 && shares_initial()) {
      pool_.keep(initial_);
      return initial_;
    }
    typename frames<snapshot>::holder taken{pool_, pool_.take()};
    store_snapshot(taken.held, i);
    return std::exchange(taken.held, no_frame);
  }
  [[nodiscard]] snapshot snapshot_now() const { return taken_snapshot(std::as_const(*x_)); }
  void store_snapshot(frame_id k, step_index i) {
    if (!saved_again(k)) pool_.emplace_made(k, [this] { return snapshot_now(); });
    pool_.set_at(k, i);
  }
  /// Saves into the frame's old snapshot. One that then has spare capacity is made anew.
  [[nodiscard]] bool saved_again([[maybe_unused]] frame_id k) {
    if constexpr (saves_into<State>) {
      snapshot* const old = pool_.reusable(k);
      if (old == nullptr) return false;
      save_state(std::as_const(*x_), *old);
      return has_exact_capacity(std::as_const(*old));
    } else return false;
  }
  [[nodiscard]] slot_index limit(sweep_setup const& setup) const {
    return frames_in(store_, setup.slots) + setup.working;
  }
  void begin_empty(State& x0, sweep_setup const& setup) {
    slots_ = setup.slots;
    pool_.begin(limit(setup));
    stand_at(x0, setup);
  }
  void stand_at(State& x0, sweep_setup const& setup) {
    x_ = address_of(x0);
    ends_ = setup.ends;
    parked_ = initial_ = last_ = no_frame;
    moved_ = at_final_ = false;
    anchor_count_ = 0;
    pool_.settle_with(&settle<store_type, snapshot>, address_of(store_));
    if (tracked() || keeps_run_) held_.assign(std::size_t(setup.slots), {});
    if (keeps_run_) anchors_.assign(std::size_t(setup.slots), {});
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

  [[no_unique_address]] Store store_{};
  frames<snapshot> pool_;
  table<checkpoint_record> held_, anchors_;
  std::size_t anchor_count_ = 0;
  checkpoint_record turn_live_;
  mutable std::conditional_t<saves_into<State>, std::optional<snapshot>, none_looked_at> looked_at_;
  State* x_ = nullptr;
  slot_index slots_ = -1;
  frame_id parked_ = no_frame, initial_ = no_frame, last_ = no_frame;
  object_ends ends_ = object_ends::anywhere;
  bool keeps_run_ = false;
  bool moved_ = false;     // an adjoint changed the object, possibly to no state of the loop
  bool at_final_ = false;  // the object is in the final state
};

}  // namespace cairn::detail
