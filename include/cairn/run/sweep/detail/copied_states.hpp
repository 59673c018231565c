// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file copied_states.hpp  The states of a sweep whose state can be copied: what each action does to frames and store.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/run/sweep/detail/frames.hpp>
#include <cairn/run/sweep/detail/lost_states.hpp>
#include <cairn/run/sweep/detail/sweep_memory.hpp>

namespace cairn::detail {

/// The states of one sweep: live, the final state and an adjoint's x1 each own a frame, which they may share.
/// The initial state is read again if a plan keeps it free or a checkpoint was lost. A kept run has it in a frame;
/// `gradient` has it in the caller's object, which outlives the call.
template <class State, class Store>
class copied_states : public sweep_memory<State, Store> {
  using memory = sweep_memory<State, Store>;
  using typename memory::store_type;
  using memory::pool_, memory::anchors_, memory::anchor_count_, memory::turn_live_, memory::initial_,
      memory::keeps_run_;

 public:
  copied_states() = default;
  explicit copied_states(Store store) : memory{std::forward<Store>(store)} {}

  template <class X0>
  void begin(X0&& x0, sweep_setup const& setup) {
    live_ = final_ = next_ = no_frame;
    memory::begin(setup, setup.held_back);
    live_ = pool_.take();
    bool const read_again = !keeps_run_ && (setup.initial_is_free || may_lose<store_type>);
    if constexpr (!given_away<X0>) pool_.copy_in(std::as_const(x0), live_);
    else if (read_again) pool_.copy_in(std::as_const(x0), live_);
    else if (State* const old = pool_.reusable(live_); old != nullptr) *old = std::forward<X0>(x0);
    else pool_.emplace(live_, std::forward<X0>(x0));
    pool_.set_at(live_, 0);
    x0_ = std::is_lvalue_reference_v<X0> || read_again ? address_of(x0) : nullptr;
    if (keeps_run_) pool_.keep(initial_ = live_);
  }
  /// Continues with the content of the slots, and without a live state.
  void begin_again(State const& x0, sweep_setup const& setup) {
    x0_ = address_of(x0);
    live_ = final_ = next_ = no_frame;
    memory::begin_again(setup, setup.held_back);
    if (!keeps_run_) return;
    initial_ = pool_.take();
    pool_.copy_in(x0, initial_);
    pool_.set_at(initial_, 0);
    x0_ = nullptr;
  }

  /// State n, the final one, comes from the store. Returns false if that cannot read it.
  [[nodiscard]] bool read_final(step_index n) {
    pool_.copy_in(std::as_const(pool_).state(initial_), final_ = pool_.take());
    pool_.set_at(final_, -1);
    bool const read = this->store().read_final(n, pool_.state(final_));
    if (read) pool_.set_at(final_, n);
    return read;
  }

  template <class Step>
  void advance(Step& step, step_index from, step_index to, step_index& failed) {
    if constexpr (may_end_sweeps<store_type>) run_in_pieces(live_, step, from, to, failed);
    else pool_.run(step, live_, from, to, failed);
  }
  /// Live becomes state i, which the store holds between two places of the plan. Returns whether that worked.
  [[nodiscard]] bool load_between(step_index i) { return read_between(live_, i); }
  /// Returns false if the slot cannot be written.
  [[nodiscard]] bool save(place where, step_index i) { return this->save_frame(where, i, live_); }
  /// Returns false if the store has lost that state; there is no live state then.
  [[nodiscard]] bool load(place where, step_index i) {
    if constexpr (keeps_frames<store_type> && !memory::makes_again) {  // needs no free frame: the slot holds one
      frame_id const before = std::exchange(live_, this->load_frame(where, i));
      if (before != no_frame) pool_.release(before);
      return true;
    }
    pool_.forget(live_);
    if constexpr (sized_state<State>) pool_.check_read();
    live_ = this->load_frame(where, i);
    if (live_ != no_frame) pool_.check_limit(live());
    return !memory::makes_again || live_ != no_frame;
  }
  /// Makes state i, which the store lacks, live, and saves it in its slot again. Returns how many steps it ran.
  template <class Step>
  std::uint64_t make_again(Step& step, place where, step_index i, step_index& failed, bool& saved) {
    return remake(*this, *this, step, where, i, failed, saved);
  }
  void load_initial() {
    pool_.forget(live_);
    if (initial_ != no_frame) {
      pool_.keep(live_ = initial_);
      return;
    }
    live_ = pool_.take();
    pool_.copy_in(*x0_, live_);
    pool_.set_at(live_, 0);
  }
  /// Live becomes state i, the result of `make`, a value or a reference.
  template <class Make>
  void load_made(step_index i, Make make, slot_index = no_slot) {
    pool_.forget(live_);
    live_ = pool_.take();
    if constexpr (std::is_reference_v<decltype(make())> || traited_copy<State>) pool_.copy_in(make(), live_);
    else pool_.emplace_made(live_, make);
    pool_.set_at(live_, i);
  }
  /// Runs to the end in frames other than that of live, which stays.
  template <class Step>
  void turn(Step& step, step_index from, step_index to, step_index& failed) {
    pool_.keep(final_ = live_);
    if (from == to) return;
    if constexpr (may_end_sweeps<store_type>) run_in_pieces(final_, step, from, to, failed);
    else pool_.run(step, final_, from, to, failed);
  }
  /// Continues a turn that stopped before its end.
  template <class Step>
  void turn_on(Step& step, step_index from, step_index to, step_index& failed) {
    pool_.run(step, final_, from, to, failed);
  }
  /// The turn of an adjoint that runs and records the last step itself: `record` makes the final state `n` from a copy
  /// of live.
  template <class Record>
  void turn_by(step_index n, Record record) {
    pool_.keep(final_ = live_);
    pool_.own(final_);
    pool_.set_at(final_, -1);
    record(pool_.state(final_));
    pool_.set_at(final_, n);
  }

  /// The state that an observer sees: the final state right after the turn, otherwise live; null if there is none.
  [[nodiscard]] State const* seen(bool after_turn) const noexcept {
    frame_id const k = after_turn ? final_ : live_;
    return k == no_frame ? nullptr : address_of(pool_.state(k));
  }
  [[nodiscard]] State const& live() const noexcept { return std::as_const(pool_).state(live_); }
  [[nodiscard]] State const& next() const noexcept { return std::as_const(pool_).state(next_); }
  [[nodiscard]] State const& final_state() const noexcept { return std::as_const(pool_).state(final_); }
  /// Passes live to a function other than the step, which changes it; it is state `i` afterwards.
  template <class Record>
  void change_live(step_index i, Record record, slot_index = no_slot) {
    pool_.own(live_);
    pool_.set_at(live_, -1);
    record(pool_.state(live_));
    pool_.set_at(live_, i);
  }
  void forget_final() noexcept { pool_.forget(final_); }
  /// The sweep goes on from states in slots: all others are forgotten, but for the final state of a run that is kept.
  void forget_all(bool turned) noexcept {
    pool_.forget(live_), pool_.forget(next_);
    if (!keeps_run_ || !turned) pool_.forget(final_);
  }
  /// How many slots states may keep that are as large as the largest one held, beside those in use.
  /// \param slots  those in memory
  [[nodiscard]] slot_index slots_within(slot_index slots) {
    pool_.shed();
    auto const& allowed = pool_.limit_now();
    wide const beside = allowed.beside + wide(pool_.limit()) * sizeof(State), heap = pool_.largest() - sizeof(State);
    wide const states = (allowed.budget - lesser(beside, allowed.budget)) / greater<wide>(heap, 1);
    wide const working = wide(pool_.limit() - slots - this->ahead_);  // a sweep goes on without these
    return states > working ? slot_index(lesser(states - working, wide(slots))) : 0;
  }
  /// The loop continues after the state that `turn` made.
  void final_becomes_live() noexcept {
    pool_.forget(live_);
    live_ = std::exchange(final_, no_frame);
  }
  /// Called before the first adjoint that takes x1.
  void allow_next() noexcept { pool_.allow_all(); }
  /// The final state is the x1 of the next adjoint.
  void final_becomes_next() noexcept {
    pool_.forget(next_);
    pool_.keep(next_ = final_);
  }
  [[nodiscard]] bool has_next() const noexcept { return next_ != no_frame; }
  template <class Step>
  std::uint64_t make_next(Step& step, step_index from, step_index to) {
    step_index failed = -1;
    pool_.keep(next_ = live_);
    pool_.run(step, next_, from, to, failed);
    return std::uint64_t(to - from);
  }
  void live_becomes_next() noexcept {
    pool_.forget(next_);
    next_ = std::exchange(live_, no_frame);
  }

  /// Tells the store that an adjoint begins which leads to state `open`, which is live.
  void reversing(step_index open)
    requires is_told_before<store_type>
  {
    this->store().reversing(open, [this](auto const& f) { return this->inspect_live(f); });
  }

  // For a replay check:
  /// The result of f for the live state.
  template <class Fn>
  [[nodiscard]] auto inspect_live(Fn f) const { return f(live()); }
  /// Calls f(other, live) if a frame still holds state i from before; live is state i.
  template <class Fn>
  void compare_earlier(step_index i, Fn f) const {
    if (frame_id const k = this->frame_holding(i, live_); k != no_frame) f(pool_.state(k), live());
  }
  /// Fills the x1 of the next out-of-place step: with a copy of x, or, if the step runs again, with values that are not
  /// numbers.
  void prepare_next(bool again) {
    typename frames<State>::holder const next{pool_, pool_.take()};  // the frame that the step takes, too
    if (State* const x1 = pool_.reusable(next.held); x1 == nullptr) return;
    else if (!again) pool_.copy(live_, next.held);
    else if constexpr (numbered<State>) visit_numbers(*x1, [](auto* numbers, std::size_t count) {
        using number_type = std::remove_pointer_t<decltype(numbers)>;
        for (std::size_t k = 0; k < count; ++k) numbers[k] = number_type(quiet_nan());
      });
  }

  /// Notes the states at the turn, before which live is state `from`; `is_checkpoint(i)` says which are places to
  /// restart from.
  template <class IsCheckpoint>
  void remember(step_index from, IsCheckpoint is_checkpoint) {
    this->note_turn(from, live_, is_checkpoint);
  }
  /// Restores slots and live to the turn; runs only the steps of states that are gone, and returns their number.
  /// \param through  these states, or an object that checks them as they change
  template <class Through, class Step>
  step_index rewind(Through& through, Step& step, step_index& failed) {
    step_index ran = 0;
    this->reclaim_turn(initial_, final_);
    next_ = no_frame;
    pool_.keep(live_ = initial_);
    this->empty_slots();
    for (std::size_t k = 0; k < anchor_count_; ++k) {
      ran += go_to(through, step, anchors_[k], failed);
      this->save_again(through, anchors_[k]);
    }
    return ran + go_to(through, step, turn_live_, failed);
  }

  /// For a sweep that stopped: the hash of the initial state, 0 if it is gone. \pre the caller's x0 still exists
  [[nodiscard]] std::uint64_t hash_of_initial() const {
    std::uint64_t const hash = memory::hash_of_initial();
    return hash == 0 && x0_ != nullptr ? hash_if_known(*x0_) : hash;
  }
  /// Frees all memory. A store that outlives its sweeps keeps its content.
  void clear() {
    memory::clear();
    x0_ = nullptr;
    live_ = final_ = next_ = no_frame;
  }

 private:
  /// Runs in the pieces that the store asks for.
  template <class Step>
  void run_in_pieces(frame_id& handle, Step& step, step_index from, step_index to, step_index& failed) {
    this->run_steps(
        from, to, [&](step_index at, step_index next) { pool_.run(step, handle, at, next, failed); },
        [&](auto const& f) { return f(std::as_const(pool_).state(handle)); },
        [&](step_index i) { return read_between(handle, i); });
  }
  [[nodiscard]] bool read_between(frame_id& handle, step_index i) {
    if constexpr (may_end_sweeps<store_type>) {
      step_index const before = pool_.at(handle);
      pool_.own(handle);
      pool_.set_at(handle, -1);
      bool const read = this->store().read_live(i, pool_.state(handle));
      pool_.set_at(handle, read ? i : before);
      return read;
    } else return false;
  }
  /// Makes the state that `to` names live: takes its frame if it is still held, otherwise runs from the state before.
  template <class Through, class Step>
  step_index go_to(Through& through, Step& step, checkpoint_record& to, step_index& failed) {
    if (to.frame != no_frame) {
      pool_.forget(live_);
      live_ = to.frame;
      pool_.anchor(live_);
      return 0;
    }
    step_index const from = pool_.at(live_);
    failed = from;
    if (from < to.at) through.advance(step, from, to.at, failed);
    to.frame = live_;
    pool_.anchor(live_);
    return to.at - from;
  }

  friend struct ahead_access;
  State const* x0_ = nullptr;
  frame_id live_ = no_frame, final_ = no_frame, next_ = no_frame;
};

}  // namespace cairn::detail
