#pragma once
/// \file saved_states.hpp  The states of a sweep whose state is an object that stays where it is and hands out
/// snapshots.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/run/detail/copied_states.hpp>

namespace cairn::detail {

/// The same members as `copied_states` as far as a sweep uses them: the caller's object is live, frames hold snapshots
/// of it.
template <class State, class Store>
class saved_states {
  using store_type = std::remove_reference_t<Store>;
  using snapshot = std::remove_cvref_t<decltype(save_state(std::declval<State const&>()))>;

 public:
  saved_states() = default;
  explicit saved_states(Store store) : store_{std::forward<Store>(store)} {}

  /// The object is advanced where it stands, whether it was handed over for good or not.
  template <class X0>
  void begin(X0&& x0, sweep_setup const& setup) {
    store_.begin(setup.slots);
    begin_empty(x0, setup);
    if (setup.initial_is_free || may_lose<store_type>) {
      initial_ = pool_.take();
      store_snapshot(initial_, 0);
    }
  }
  /// \pre x0 is in the initial state
  void begin_again(State& x0, sweep_setup const& setup) {
    bool const anew = pool_.limit() != limit(setup) || slots_ != setup.slots;
    let_go_of_frames<store_type>(store_, pool_, setup.slots, anew);
    if (anew) {
      begin_empty(x0, setup);
    } else {
      reclaim_slots<store_type>(store_, pool_, setup.slots);
      pool_.settle_with(&settle<store_type, snapshot>, address_of(store_));
      x_ = address_of(x0);
      parked_ = no_frame;
      if (may_lose<store_type>) held_.assign(std::size_t(setup.slots), {});
    }
    initial_ = pool_.take();
    store_snapshot(initial_, 0);
  }
  /// Notes what the slots hold before a sweep goes on, so that a loss on its way is planned around all of it.
  void note_held([[maybe_unused]] auto const& tier_in) {
    if constexpr (may_lose<store_type>)
      for (slot_index slot = 0; slot < slots_; ++slot)
        held_[std::size_t(slot)] = {state_in(slot), slot, no_frame, tier_in(slot)};
  }

  template <class Step>
  void advance(Step& step, step_index from, step_index to, step_index& failed) {
    run_in_place(step, *x_, from, to, failed);
  }
  void save(place where, step_index i) {
    bool const has_snapshot = parked_ != no_frame;
    frame_id const k = has_snapshot ? parked_ : pool_.take();
    if (has_snapshot) pool_.keep(k);
    typename frames<snapshot>::holder guard{pool_, k};
    if (!has_snapshot) store_snapshot(k, i);
    store_.save(pool_, where, i, k);
    if constexpr (may_lose<store_type>) held_[std::size_t(where.slot)] = {i, where.slot, no_frame, where.where};
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
    restore_state(*x_, std::as_const(pool_).state(k));
    return true;
  }
  void load_initial() {
    pool_.forget(parked_);
    restore_state(*x_, std::as_const(pool_).state(initial_));
  }
  void drop(place where) {
    store_.drop(pool_, where);
    if constexpr (may_lose<store_type>) held_[std::size_t(where.slot)].at = -1;
  }
  template <class Step>
  void turn(Step& step, step_index from, step_index to, step_index& failed) {
    if (from < to) {
      parked_ = pool_.take();
      store_snapshot(parked_, from);
    }
    advance(step, from, to, failed);
  }

  /// Goes on with the run of a turn that stopped on its way.
  template <class Step>
  void turn_on(Step& step, step_index from, step_index to, step_index& failed) {
    advance(step, from, to, failed);
  }

  // for a replay check
  /// What f makes of a snapshot of the live state.
  template <class F>
  auto look(F f) const {
    if (parked_ != no_frame) return f(pool_.state(parked_));
    return f(save_state(std::as_const(*x_)));
  }
  /// f(another, live) for snapshots of live, which is state i, and of state i from before, if there is one.
  template <class F>
  void look_at_another(step_index i, F f) const {
    for (frame_id k = 0; k < pool_.limit(); ++k)
      if (k != parked_ && pool_.at(k) == i && pool_.record(k).constructed)
        return look([&](snapshot const& now) { f(pool_.state(k), now); });
  }

  [[nodiscard]] State const& live() {
    if (parked_ != no_frame) {
      restore_state(*x_, std::as_const(pool_).state(parked_));
      pool_.forget(parked_);
    }
    return *x_;
  }
  /// What an observer sees: after the turn the object is the final state, and no live state until the first reverse.
  [[nodiscard]] State const* seen(bool after_turn) const noexcept {
    return after_turn || parked_ == no_frame ? x_ : nullptr;
  }
  [[nodiscard]] State const& final_state() const noexcept { return *x_; }
  void forget_final() noexcept {}
  /// The loop goes on behind what `turn` made.
  void final_becomes_live() noexcept { pool_.forget(parked_); }

  [[nodiscard]] std::size_t bytes() const { return pool_.bytes(); }
  [[nodiscard]] slot_index frame_count() const noexcept { return pool_.limit(); }
  [[nodiscard]] store_type& store() noexcept { return store_; }
  [[nodiscard]] table<kept_frame> const& held() const noexcept { return held_; }
  [[nodiscard]] step_index state_in(slot_index slot) const { return kept_in<store_type>(store_, pool_, slot); }
  /// For a sweep that stopped: the hash of the initial state's snapshot, 0 where it is gone.
  [[nodiscard]] std::uint64_t hash_of_initial() const { return hash_in_frames(pool_, 0); }
  /// The same of what an outliving store holds, in a frame that is given back.
  [[nodiscard]] std::uint64_t hash_of_stored(place where) { return hash_in_store(store_, pool_, where); }

 private:
  void store_snapshot(frame_id k, step_index i) {
    pool_.emplace_made(
        k, [this] { return taken_out_by([this]() -> decltype(auto) { return save_state(std::as_const(*x_)); }); });
    pool_.set_at(k, i);
  }
  [[nodiscard]] slot_index limit(sweep_setup const& setup) const {
    return frames_in(store_, setup.slots) + setup.working;
  }
  void begin_empty(State& x0, sweep_setup const& setup) {
    x_ = address_of(x0);
    parked_ = initial_ = no_frame;
    slots_ = setup.slots;
    pool_.begin(limit(setup));
    pool_.settle_with(&settle<store_type, snapshot>, address_of(store_));
    if (may_lose<store_type>) held_.assign(std::size_t(setup.slots), {});
  }

  [[no_unique_address]] Store store_{};
  frames<snapshot> pool_;
  table<kept_frame> held_;
  State* x_ = nullptr;
  slot_index slots_ = -1;
  frame_id parked_ = no_frame, initial_ = no_frame;
};

}  // namespace cairn::detail
