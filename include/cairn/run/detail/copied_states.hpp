#pragma once
/// \file copied_states.hpp  The states of a sweep whose state can be copied: what each action does to frames and store.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/address_of.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/frames_needed.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/run/detail/frames.hpp>

namespace cairn::detail {

/// What a sweep must know before it begins.
struct sweep_setup {
  slot_index slots = 0;
  slot_index working = 0;        ///< frames besides those of the store; see `working_frames`
  /// How many of these only `allow_next` makes available: the loop runs before its adjoint is known.
  slot_index held_back = 0;
  bool keeps_run = false;  ///< initial and final state are kept to the end, and the states of the turn can be restored
  bool initial_is_free = false;  ///< the plan may load the initial state, which is in none of its slots
  object_ends ends = object_ends::anywhere;  ///< where an object is after the sweep
};

/// A checkpoint at some moment.
struct checkpoint_record {
  step_index at = -1;
  slot_index slot = no_slot;
  frame_id frame = no_frame;
  tier where = tier::memory;
  bool checkpoint = false;  ///< a place to restart from, according to the plan
};

static_assert(wide{2} * sizeof(checkpoint_record) == bytes_a_remembered_slot);

/// Sorts by state (Shell's sort: needs no standard header; checkpoints mostly come in order).
inline void sort_by_state(table<checkpoint_record>& all, std::size_t count) noexcept {
  for (std::size_t gap = count / 2 + 1; gap > 0; gap = gap == 1 ? 0 : gap / 2)
    for (std::size_t k = gap; k < count; ++k)
      for (std::size_t j = k; j >= gap && all[j].at < all[j - gap].at; j -= gap) std::swap(all[j], all[j - gap]);
}

/// \throws invalid_call   if a store without `may_lose` has lost a state
template <class Store>
void need_frame(frame_id found, place where, step_index i) {
  if constexpr (!loses_nothing<Store>)
    if (found == no_frame)
      throw invalid_call{"cairn: sweep",
                         "the store has lost a state, and does not say that it may",
                         {{"state", i}, {"slot", where.slot}, {"tier", int(where.where)}},
                         "give it `static constexpr bool may_lose = true`: then the sweep runs the state again"};
}

/// Asks a store to finish its pending saves.
template <class Store, class Value>
void settle([[maybe_unused]] void* store, [[maybe_unused]] frames<Value>& pool) {
  if constexpr (requires(Store& s) { s.settle(pool); }) static_cast<Store*>(store)->settle(pool);
}

/// Before frames are taken from their owners: pending saves are finished, or forgotten if the store cannot say what it
/// holds.
/// \param anew  the frames themselves are made anew
template <class Store, class Value>
void let_go_of_frames(Store& store, frames<Value>& pool, slot_index slots, bool anew) {
  if constexpr (!keeps_frames<Store> && !outliving_store<Store>) store.begin(slots);
  else if (!anew) settle<Store, Value>(&store, pool);
  else if constexpr (keeps_frames<Store>) store.begin(slots);
}
/// Returns frames to the slots of a store that keeps frames; all other owners lose theirs.
template <class Store, class Value>
void reclaim_slots(Store const& store, frames<Value>& pool, slot_index slots) noexcept {
  pool.reclaim([&](auto claim) {
    if constexpr (keeps_frames<Store>)
      for (slot_index slot = 0; slot < slots; ++slot)
        if (frame_id const k = store.frame(slot); k != no_frame) claim(k);
  });
}
/// The state that a slot still holds after a sweep, or -1; for stores that can tell.
template <class Store, class Value>
[[nodiscard]] step_index stored_state_in(Store const& store, [[maybe_unused]] frames<Value> const& pool,
                                         slot_index slot) {
  if constexpr (keeps_frames<Store>) return store.frame(slot) == no_frame ? -1 : pool.at(store.frame(slot));
  else if constexpr (outliving_store<Store>) return store.at(slot);
  else return -1;
}

/// The hash of state i if a frame holds it; otherwise 0, also if its bytes do not tell all of its value.
template <class Value>
[[nodiscard]] std::uint64_t hash_in_frames([[maybe_unused]] frames<Value> const& pool, [[maybe_unused]] step_index i) {
  if constexpr (hashable<Value>)
    for (frame_id k = 0; k < pool.limit(); ++k)
      if (pool.at(k) == i && pool.record(k).constructed) return hash_of(pool.state(k));
  return 0;
}
/// The hash of the initial state in a slot of a store that outlives its sweeps; 0 if the store has lost it.
template <class Store, class Value>
[[nodiscard]] std::uint64_t hash_in_store(Store& store, frames<Value>& pool, place where) {
  std::uint64_t hash = 0;
  if constexpr (hashable<Value>) {
    frame_id const k = store.load(pool, where, 0);
    if (k == no_frame) return 0;
    hash = hash_of(std::as_const(pool).state(k));
    pool.release(k);
  }
  return hash;
}

/// The frame in a slot, or no_frame if the store keeps no frames.
template <class Store>
[[nodiscard]] frame_id frame_in([[maybe_unused]] Store const& store, [[maybe_unused]] slot_index slot) noexcept {
  if constexpr (keeps_frames<Store>) return store.frame(slot);
  else return no_frame;
}
/// The frame of the latest state at or before i that a frame still holds, or `best`.
template <class Value>
[[nodiscard]] frame_id latest_before(frames<Value> const& pool, frame_id best, step_index i) noexcept {
  for (frame_id k = 0; k < pool.limit(); ++k)
    if (pool.at(k) <= i && pool.at(k) > pool.at(best)) best = k;
  return best;
}
/// Marks as anchors the frames that slots hold at the turn of a kept run, and lists them in `held`, in the order of
/// states.
/// \param tracked  `held` is already complete
/// \param is_checkpoint  says which of these states are places to restart from
template <class Store, class Value, class IsCheckpoint>
void note_turn(Store const& store, frames<Value>& pool, table<checkpoint_record>& held,
               table<checkpoint_record>& anchors, std::size_t& count, bool tracked, IsCheckpoint is_checkpoint) {
  count = 0;
  if (!tracked)
    for (slot_index slot = 0; slot < slot_index(held.size()); ++slot)
      held[std::size_t(slot)] = {stored_state_in<Store>(store, pool, slot), slot, no_frame,
                                 held[std::size_t(slot)].where};
  for (auto& kept : held) kept.checkpoint = kept.at > 0 && is_checkpoint(kept.at);
  for (auto const& kept : held)
    if (kept.at >= 0)
      anchors[count++] = {kept.at, kept.slot, frame_in<Store>(store, kept.slot), kept.where, kept.checkpoint};
  sort_by_state(anchors, count);
  for (std::size_t k = 0; k < count; ++k)
    if (anchors[k].frame != no_frame) pool.anchor(anchors[k].frame);
}
/// Takes all frames from their owners, except those of anchors that still hold their state, of `pinned`, and of the
/// live state of the turn if it is still there. Over a store that keeps no frames all frames are needed for work: none
/// is reserved for the states of the turn.
template <class Store, class Value, class... Pinned>
void reclaim_turn(frames<Value>& pool, table<checkpoint_record>& anchors, std::size_t count,
                  checkpoint_record& turn_live, Pinned... pinned) noexcept {
  pool.reclaim([&](auto claim) {
    (claim(pinned), ...);
    auto const claim_standing = [&](checkpoint_record& kept) {
      if (keeps_frames<Store> && kept.frame != no_frame && pool.at(kept.frame) == kept.at) claim(kept.frame);
      else kept.frame = no_frame;
    };
    for (std::size_t k = 0; k < count; ++k) claim_standing(anchors[k]);
    claim_standing(turn_live);
  });
}
/// Frees the memory of frames; a store that outlives its sweeps keeps its content.
template <class Store, class Value>
void let_go_of_memory(Store& store, frames<Value>& pool) {
  if constexpr (loses_nothing<Store>) store = Store{};
  else if constexpr (outliving_store<Store>) settle<Store, Value>(&store, pool);
  else store.begin(0);
  pool = frames<Value>{};
}

/// Frames and store of one sweep. `Store` may be a reference to the user's own.
/// The initial state is read again if a plan keeps it free or a checkpoint was lost. A kept run has it in a frame;
/// `gradient` has it in the caller's object, which outlives the call.
template <class State, class Store>
class copied_states {
  using store_type = std::remove_reference_t<Store>;

 public:
  copied_states() = default;
  explicit copied_states(Store store) : store_{std::forward<Store>(store)} {}

  /// With `resuming`, store and frames keep what they held at the end of the last sweep.
  template <class X0>
  void begin(X0&& x0, sweep_setup const& setup) {
    keeps_run_ = setup.keeps_run;
    prepare(setup);
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
    keeps_run_ = false;
    x0_ = address_of(x0);
    bool const anew = pool_.limit() != limit(setup) || slots_ != setup.slots;
    let_go_of_frames<store_type>(store_, pool_, setup.slots, anew);
    if (anew) return begin_empty(setup);
    reclaim_slots<store_type>(store_, pool_, setup.slots);
    pool_.settle_with(&settle<store_type, State>, address_of(store_));
    live_ = final_ = next_ = initial_ = no_frame;
    if (tracked()) held_.assign(std::size_t(setup.slots), {});
  }
  /// Notes the content of the slots before a sweep continues, so that after a later loss all of it can be used.
  void note_held([[maybe_unused]] auto const& tier_in) {
    if constexpr (may_lose<store_type>)
      for (slot_index slot = 0; slot < slots_; ++slot)
        held_[std::size_t(slot)] = {state_in(slot), slot, no_frame, tier_in(slot)};
  }

  template <class Step>
  void advance(Step& step, step_index from, step_index to, step_index& failed) {
    pool_.run(step, live_, from, to, failed);
  }
  void save(place where, step_index i) {
    store_.save(pool_, where, i, live_);
    if (tracked()) held_[std::size_t(where.slot)] = {i, where.slot, no_frame, where.where};
    else if (keeps_run_) held_[std::size_t(where.slot)].where = where.where;  // `rewind` saves to the same tier again
  }
  /// Returns false if the store has lost that state; there is no live state then.
  [[nodiscard]] bool load(place where, step_index i) {
    if constexpr (keeps_frames<store_type> && !may_lose<store_type>) {  // needs no free frame, because it returns one
      frame_id const found = store_.load(pool_, where, i);
      need_frame<store_type>(found, where, i);
      frame_id const before = std::exchange(live_, found);
      if (before != no_frame) pool_.release(before);
      return true;
    }
    pool_.forget(live_);
    live_ = store_.load(pool_, where, i);
    if constexpr (may_lose<store_type>) {
      if (live_ == no_frame) {
        held_[std::size_t(where.slot)].at = -1;
        return false;
      }
    } else need_frame<store_type>(live_, where, i);
    if constexpr (!keeps_frames<store_type>) pool_.set_at(live_, i);
    return true;
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
  void drop(place where) {
    store_.drop(pool_, where);
    if (tracked()) held_[std::size_t(where.slot)].at = -1;
  }
  /// Runs to the end in other frames than live, which stays.
  template <class Step>
  void turn(Step& step, step_index from, step_index to, step_index& failed) {
    pool_.keep(final_ = live_);
    if (from < to) pool_.run(step, final_, from, to, failed);
  }
  /// Continues a turn that stopped on its way.
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

  // For a replay check:
  /// The result of f for the live state.
  template <class F>
  [[nodiscard]] auto inspect_live(F f) const { return f(live()); }
  /// Calls f(other, live) if a frame still holds state i from before; live is state i.
  template <class F>
  void compare_earlier(step_index i, F f) const {
    for (frame_id k = 0; k < pool_.limit(); ++k)
      if (k != live_ && pool_.at(k) == i && pool_.record(k).constructed) return f(pool_.state(k), live());
  }
  /// Fills the x1 of the next out-of-place step: with a copy of x, or, if the step runs again, with values that are not
  /// numbers.
  void prepare_next(bool again) {
    typename frames<State>::holder const next{pool_, pool_.take()};  // the frame that the step takes, too
    if (State* const x1 = pool_.reusable(next.held); x1 == nullptr) return;
    else if (!again) pool_.copy(live_, next.held);
    else if constexpr (numbered<State>) visit_numbers(*x1, [](auto* numbers, std::size_t count) {
        using number_type = std::remove_pointer_t<decltype(numbers)>;
        for (std::size_t k = 0; k < count; ++k) numbers[k] = std::numeric_limits<number_type>::quiet_NaN();
      });
  }

  [[nodiscard]] std::size_t bytes() const { return pool_.bytes(); }
  [[nodiscard]] slot_index frame_count() const noexcept { return pool_.limit(); }
  [[nodiscard]] store_type& store() noexcept { return store_; }
  /// The content of the slots, if it is tracked; otherwise their content at the turn.
  [[nodiscard]] table<checkpoint_record> const& held() const noexcept { return held_; }

  /// Notes the states at the turn, before which live is state `from`; `is_checkpoint(i)` says which are places to
  /// restart from.
  template <class IsCheckpoint>
  void remember(step_index from, IsCheckpoint is_checkpoint) {
    note_turn<store_type>(store_, pool_, held_, anchors_, anchor_count_, tracked(), is_checkpoint);
    pool_.anchor(live_);
    turn_live_ = {from, no_slot, live_};
  }
  /// Restores slots and live to the turn; runs only the steps of states that are gone, and returns their number.
  /// \param through  these states, or an object that checks them as they change
  template <class Through, class Step>
  step_index rewind(Through& through, Step& step, step_index& failed) {
    step_index ran = 0;
    reclaim_turn<store_type>(pool_, anchors_, anchor_count_, turn_live_, initial_, final_);
    next_ = no_frame;
    pool_.keep(live_ = initial_);
    store_.begin(slot_index(held_.size()));
    if (tracked())
      for (auto& kept : held_) kept.at = -1;
    for (std::size_t k = 0; k < anchor_count_; ++k) {
      ran += go_to(through, step, anchors_[k], failed);
      auto const& kept = anchors_[k];
      through.save({kept.slot, kept.where}, kept.at);
      held_[std::size_t(kept.slot)].checkpoint = kept.checkpoint;
    }
    return ran + go_to(through, step, turn_live_, failed);
  }

  /// The frame of the latest state at or before `i` that is still held; in a kept run there always is one, that of the
  /// initial state.
  [[nodiscard]] frame_id before(step_index i) const noexcept { return latest_before(pool_, initial_, i); }
  [[nodiscard]] frames<State> const& pool() const noexcept { return pool_; }
  /// The frame of a kept state, or no_frame if the store keeps no frames.
  [[nodiscard]] frame_id frame_of(checkpoint_record const& kept) const noexcept {
    return frame_in<store_type>(store_, kept.slot);
  }
  [[nodiscard]] step_index state_in(slot_index slot) const { return stored_state_in<store_type>(store_, pool_, slot); }
  /// For a sweep that stopped: the hash of the initial state, 0 if it is gone. \pre the caller's x0 still exists
  [[nodiscard]] std::uint64_t hash_of_initial() const {
    std::uint64_t const hash = hash_in_frames(pool_, 0);
    if constexpr (hashable<State>)
      if (hash == 0 && x0_ != nullptr) return hash_of(*x0_);
    return hash;
  }
  /// The same for the content of a store that outlives its sweeps, through a frame that is released.
  [[nodiscard]] std::uint64_t hash_of_stored(place where) { return hash_in_store(store_, pool_, where); }
  /// Frees all memory. A store that outlives its sweeps keeps its content.
  void clear() {
    let_go_of_memory<store_type>(store_, pool_);
    held_ = table<checkpoint_record>{};
    anchors_ = table<checkpoint_record>{};
    anchor_count_ = 0;
    slots_ = -1;
    x0_ = nullptr;
    live_ = final_ = next_ = initial_ = no_frame;
  }

 private:
  /// Whether the slots' content is noted as it changes. This is not needed for a store of frames, whose slots can be
  /// inspected at any time.
  [[nodiscard]] bool tracked() const noexcept {
    if constexpr (keeps_frames<store_type> && !may_lose<store_type>) return false;
    else return may_lose<store_type> || keeps_run_;
  }
  [[nodiscard]] slot_index limit(sweep_setup const& setup) const {
    return frames_in(store_, setup.slots) + setup.working;
  }
  void prepare(sweep_setup const& setup) {
    store_.begin(setup.slots);
    begin_empty(setup);
  }
  void begin_empty(sweep_setup const& setup) {
    live_ = final_ = next_ = initial_ = no_frame;
    anchor_count_ = 0;
    slots_ = setup.slots;
    pool_.begin(limit(setup), setup.held_back);
    pool_.settle_with(&settle<store_type, State>, address_of(store_));
    if (tracked() || keeps_run_) held_.assign(std::size_t(setup.slots), {});
    if (keeps_run_) anchors_.assign(std::size_t(setup.slots), {});
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

  [[no_unique_address]] Store store_{};
  frames<State> pool_;
  table<checkpoint_record> held_, anchors_;
  std::size_t anchor_count_ = 0;
  slot_index slots_ = -1;
  checkpoint_record turn_live_;
  State const* x0_ = nullptr;
  frame_id live_ = no_frame, final_ = no_frame, next_ = no_frame, initial_ = no_frame;
  bool keeps_run_ = false;
};

}  // namespace cairn::detail
