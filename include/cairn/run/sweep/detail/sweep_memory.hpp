// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep_memory.hpp  Frames and store of one sweep, and what the slots hold.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/run/sweep/detail/frames.hpp>
#include <cairn/run/sweep/detail/maybe.hpp>
#include <cairn/store/store.hpp>

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
  slot_index ahead = 0;  ///< of `working`, those for a helper, without which a sweep can go on
  step_index once = -2;  ///< states up to this one are not made again, and no later sweep uses their memory
  sweep_shape shape = {};                    ///< what a store is told; without `plan` if it does not ask
};

/// In place of the number of a state that a slot should hold and lacks.
[[nodiscard]] constexpr step_index missing(step_index i) noexcept { return -2 - i; }

/// A checkpoint at some moment; of the same size on machines that align wide integers to 4 bytes.
struct alignas(8) checkpoint_record {
  step_index at = -1;  ///< negative if the slot is empty; `missing(i)` if the plan expects state i there
  slot_index slot = no_slot;
  frame_id frame = no_frame;
  tier where = tier::memory;
  bool checkpoint = false;  ///< a place to restart from, according to the plan
  bool unwritable = false;  ///< a save to the slot failed, or it was given up
};

static_assert(wide{2} * sizeof(checkpoint_record) == bytes_a_remembered_slot);

/// Sorts by state (Shell's sort: needs no standard header; checkpoints mostly come in order).
inline void sort_by_state(table<checkpoint_record>& all, std::size_t count) noexcept {
  for (std::size_t gap = count / 2; gap > 0; gap /= 2)
    for (std::size_t k = gap; k < count; ++k)
      for (std::size_t j = k; j >= gap && all[j].at < all[j - gap].at; j -= gap) std::swap(all[j], all[j - gap]);
}

/// \throws invalid_call   if a store without `may_lose` has lost a state
template <class Store>
void need_frame(frame_id found, place where, step_index i) {
  if constexpr (!loses_nothing<Store>)
    if (found == no_frame)
      throw invalid_call{"cairn: sweep",
                         "the store has lost a state, and does not declare that it may",
                         {{"state", i}, {"slot", where.slot}, {"tier", int(where.where)}},
                         "give it `static constexpr bool may_lose = true`: then the sweep runs the state again"};
}

/// The shape of a sweep whose store does not ask for it.
struct no_shape {};

/// The memory for the states of a sweep, whether these are values or snapshots of an object: frames, the store, and
/// what the slots hold, at present and at the turn of a kept run.
/// \tparam Value  the state or the snapshot   \tparam Store  may be a reference to the user's own
template <class Value, class Store>
class sweep_memory {
 public:
  using store_type = std::remove_reference_t<Store>;
  /// Whether states that the store lacks can be made again.
  static constexpr bool makes_again = mends_states<store_type>;

  /// Notes the content of the slots before a sweep continues.
  void note_held(auto const& tier_in) {
    if constexpr (makes_again)
      for (slot_index slot = 0; slot < slots_; ++slot)
        held_[slot] = {state_in(slot), slot, no_frame, tier_in(slot)};
  }
  /// The plan expects state i in this slot; -1: none.
  void expect(place where, step_index i) noexcept {
    if constexpr (!makes_again) return;
    auto& held = held_[where.slot];
    if (held.at < 0) held = {i < 0 ? -1 : missing(i), where.slot, no_frame, where.where};
    else if (held.at == i) held.where = where.where;
  }
  /// The first state between `from` and `to` that a slot should hold and lacks; in no slot state `to` if there is none.
  [[nodiscard]] placed_state next_missing(step_index from, step_index to) const noexcept {
    placed_state first{to};
    if constexpr (makes_again)
      for (auto const& held : held_)
        if (held.at < missing(from) && held.at > missing(first.state)) first = {missing(held.at), {held.slot, held.where}};
    return first;
  }
  void drop(place where) {
    if constexpr (makes_again)
      if (auto& at = held_[where.slot].at; at < 0) {  // lost, or never written
        at = -1;
        return;
      }
    note_call();
    store_->drop(pool_, where);
    if (tracked()) held_[where.slot].at = -1;
  }
  /// The latest state at or before i that a slot holds; the initial one in no slot.
  [[nodiscard]] placed_state nearest(step_index i) const {
    placed_state best;
    for (slot_index slot = 0; slot < slots_; ++slot)
      if (step_index const at = now_in(slot); at > best.state && at <= i)
        best = {at, {slot, makes_again ? held_[slot].where : tier::memory}};
    return best;
  }
  /// Slots that are given up are not used again: all those in memory but `stay` of them, or, to begin with, an eighth.
  /// Returns false if there was none.
  /// \param tier_in  of a slot   \param drop  called for those that hold states
  template <class TierIn, class Drop>
  [[nodiscard]] bool give_up_slots(slot_index stay, TierIn const& tier_in, Drop const& drop) {
    slot_index usable = 0;
    auto const each_usable = [&](auto const& f) {
      for (slot_index slot = 0; slot < slots_; ++slot)
        if (!is_given_up(slot) && tier_in(slot) == tier::memory) f(slot);
    };
    each_usable([&](slot_index) { ++usable; });
    if (usable == 0) return false;
    if (slot_index const most = usable - 1 - usable / 8; stay > most) stay = most;
    // Every so many stays: plans keep states where they are needed next more densely, and so do these.
    auto const each_gone = [&](auto const& f) {
      slot_index seen = 0, kept = 0;
      each_usable([&](slot_index slot) {
        if (wide(++seen) * wide(stay) / wide(usable) > wide(kept)) ++kept;
        else f(slot);
      });
    };
    each_gone([&](slot_index slot) {
      if (now_in(slot) >= 0) drop(slot);
    });
    pool_.shed();  // makes room for what notes the slots
    if (held_.size() == 0) held_.assign(entries_for(slots_), {});
    each_gone([&](slot_index slot) {
      held_[slot] = {-1, slot, no_frame, tier::memory, false, true};
    });
    std::size_t left = 0;
    for (std::size_t k = 0; k < anchor_count_; ++k)
      if (!held_[anchors_[k].slot].unwritable) anchors_[left++] = anchors_[k];
    anchor_count_ = left;
    return true;
  }
  /// How many states are made again in memory for another sweep back.
  [[nodiscard]] slot_index slots_at_turn() const noexcept {
    slot_index count = 0;
    for (std::size_t k = 0; k < anchor_count_; ++k) count += anchors_[k].where == tier::memory ? 1 : 0;
    return count;
  }
  /// Whether a slot is not used again.
  [[nodiscard]] bool is_given_up(slot_index slot) const noexcept {
    return held_.size() > 0 && held_[slot].unwritable;
  }
  /// The state in a slot, as it was noted or can be seen; negative if there is none.
  [[nodiscard]] step_index known_in(slot_index slot) const {
    if constexpr (keeps_frames<store_type> && !makes_again) return state_in(slot);
    else return held_[slot].at;
  }
  /// The state in a slot at present, negative if there is none.
  [[nodiscard]] step_index now_in(slot_index slot) const {
    if constexpr (makes_again) return held_[slot].at;
    else return state_in(slot);
  }
  /// The state that the last failed save was to write, and where.
  [[nodiscard]] checkpoint_record const& unwritten() const noexcept { return unwritten_; }

  /// What the store is told if the slots are emptied.
  void note_shape(sweep_shape const& shape) noexcept {
    if constexpr (takes_shape<store_type>) shape_ = shape;
  }
  /// Called when a sweep, or a part of one, begins: a store that is part of the workspace moves with it.
  void meet_store() noexcept {
    if constexpr (settles) pool_.settle_with(&settle, address_of(*store_));
  }
  /// The store finishes its pending saves, so that no frame is in use when the sweep, or the workspace, ends.
  /// \throws anything   that the store throws
  void finish_saves() {
    if constexpr (settles)
      if (moving_mark const called = std::move(called_)) settle(address_of(*store_), pool_);
  }
  /// The same where an exception is under way, or nobody is left who could catch one.
  void finish_saves_quietly() noexcept {
    try {
      finish_saves();
    } catch (...) {  // the store has let go of all frames, as `store_of` demands
    }
  }

  /// Of the frames, and of what the store holds besides them in memory.
  [[nodiscard]] std::size_t bytes() const { return pool_.bytes() + stored_bytes(tier::memory); }
  /// Tells the store how far the reverse sweep is.
  template <class Bar>
  void reversed(step_index open, Bar const& bar)
    requires requires(store_type& store) { store.reversed(open, bar); }
  {
    note_call();
    store_->reversed(open, bar);
    if constexpr (may_end_sweeps<store_type>) store_->ends_after(pool_, open);
  }
  /// Steps that were counted and did not run, because the store held a state behind them; the next call begins with 0.
  [[nodiscard]] step_index skipped() noexcept {
    if constexpr (may_end_sweeps<store_type>) return store_->skipped();
    else return 0;
  }
  /// The state that the store holds for this stretch; -1 if there is none.
  [[nodiscard]] step_index held_between(step_index from,
                                        step_index to) const noexcept {
    if constexpr (may_end_sweeps<store_type>)
      if (step_index const held = store_->live_at(); from < held && held <= to) return held;
    return -1;
  }
  [[nodiscard]] std::size_t bytes(tier where) const { return where == tier::memory ? bytes() : stored_bytes(where); }
  /// Lets the store look ahead from the cursor as long as the result exists.
  template <class Cursor>
    requires looks_ahead<store_type>
  [[nodiscard]] auto look_from(Cursor const& from) noexcept {
    struct look {
      frames<Value>& pool;
      look(frames<Value>& all, Cursor const& cursor) noexcept : pool{all} { pool.look_from(&cursor, &list_loads<Cursor>); }
      look(look const&) = delete;
      ~look() { pool.look_from(nullptr, nullptr); }
    };
    return look{pool_, from};
  }
  [[nodiscard]] slot_index frame_count() const noexcept { return pool_.limit(); }
  /// The frames, as what keeps a budget.
  [[nodiscard]] frames<Value>& limits() noexcept { return pool_; }
  [[nodiscard]] frames<Value> const& pool() const noexcept { return pool_; }
  [[nodiscard]] store_type& store() noexcept { return *store_; }
  /// Whether another sweep has begun in the caller's store since the last one here, whose states are gone then.
  [[nodiscard]] bool lost_its_store() const noexcept {
    if constexpr (!std::is_reference_v<Store>) return false;
    else return store_marks::begun(*store_) != begun_;
  }
  /// The content of the slots, if it is tracked; otherwise their content at the turn.
  [[nodiscard]] table<checkpoint_record> const& held() const noexcept { return held_; }
  /// The state that a slot still holds after a sweep, or -1; for stores that know it.
  [[nodiscard]] step_index state_in(slot_index slot) const {
    if constexpr (shows_frames<store_type>)
      if (frame_id const k = store_->frame(slot); k != no_frame) return pool_.at(k);
    if constexpr (outliving_store<store_type>) return store_->at(slot);
    else return -1;
  }
  /// The frame of a kept state, or no_frame if the store keeps no frames.
  [[nodiscard]] frame_id frame_of(checkpoint_record const& held) const noexcept { return frame_in(held.slot); }
  /// The frame of the initial state, if it is kept to the end; otherwise no_frame.
  [[nodiscard]] frame_id initial() const noexcept { return initial_; }
  /// The frame of the latest state at or before i that is still held; in a kept run there always is one, that of the
  /// initial state.
  [[nodiscard]] frame_id before(step_index i) const noexcept {
    frame_id best = initial_;
    for (frame_id k = 0; k < pool_.known(); ++k)
      if (pool_.at(k) <= i && pool_.at(k) > pool_.at(best)) best = k;
    return best;
  }
  /// For a sweep that stopped: the hash of the initial state; 0 if it is gone, or its bytes are not all of it.
  [[nodiscard]] std::uint64_t hash_of_initial() const {
    if (frame_id const k = frame_holding(0); k != no_frame) return hash_if_known(pool_.state(k));
    return 0;
  }
  /// The same for what a slot of a store that outlives its sweeps holds, through a frame that is released.
  [[nodiscard]] std::uint64_t hash_of_stored(place where) {
    std::uint64_t hash = 0;
    if constexpr (hashable<Value>) {
      frame_id const k = store_->load(pool_, where, 0);
      if (k == no_frame) return 0;
      hash = hash_of(std::as_const(pool_).state(k));
      pool_.release(k);
    }
    return hash;
  }

 protected:
  /// Runs steps [from, to) by run(from, to). A store that may end the sweep is asked before each of them; what it holds
  /// between them is not run to.
  /// \param look  look(f) calls f with the state where the steps are   \param read  read(i) makes it state i, which the
  /// store holds; returns whether that worked
  template <class Run, class Look, class Read>
  void run_steps(step_index from, step_index to, Run const& run, Look const& look, Read const& read)
    requires may_end_sweeps<store_type>
  {
    step_index const held = held_between(from, to);
    if (held >= 0 && read(held)) store_->skips(std::exchange(from, held));
    for (step_index const begin = from; from < to && store_->is_asked(); ++from) {
      bool const ends = store_->stops(pool_, from, look);
      run(from, from + 1);
      if (ends) store_->ends(from + 1, begin, look);
    }
    if (from < to) run(from, to);
  }
  sweep_memory()
    requires std::is_default_constructible_v<Store>
  = default;
  explicit sweep_memory(Store store) : store_{std::in_place, std::forward<Store>(store)} {}
  sweep_memory(sweep_memory&&) = default;
  sweep_memory& operator=(sweep_memory&& other) {
    finish_saves_quietly();
    store_ = std::move(other.store_);
    pool_ = std::move(other.pool_);
    anchors_ = std::move(other.anchors_);
    held_ = std::move(other.held_);
    anchor_count_ = other.anchor_count_;
    turn_live_ = other.turn_live_;
    initial_ = other.initial_;
    keeps_run_ = other.keeps_run_;
    resumed_ = other.resumed_;
    unwritten_ = other.unwritten_;
    slots_ = other.slots_, ahead_ = other.ahead_;
    called_ = std::move(other.called_);
    begun_ = other.begun_;
    return *this;
  }
  ~sweep_memory() { finish_saves_quietly(); }

  /// \param held_back  frames that only `allow_all` makes available
  void begin(sweep_setup const& setup, slot_index held_back) {
    finish_saves();
    keeps_run_ = setup.keeps_run;
    resumed_ = false;
    initial_ = no_frame;
    tell_store(setup.shape, false);
    make_frames(setup, held_back);
  }
  /// Continues with the content of the slots; all other owners lose their frames.
  void begin_again(sweep_setup const& setup, slot_index held_back) {
    finish_saves();
    keeps_run_ = setup.keeps_run;
    resumed_ = true;
    initial_ = no_frame;
    if constexpr (takes_shape<store_type>) tell_store(setup.shape, true);
    bool const anew = pool_.limit() - ahead_ != limit(setup) - setup.ahead || slots_ != setup.slots;
    if constexpr (!takes_shape<store_type>) {
      if (!shows_frames<store_type> ? !outliving_store<store_type> : anew && keeps_frames<store_type>)
        tell_store(setup.shape, false);
    }
    if (anew) {
      if constexpr (shows_frames<store_type> && !keeps_frames<store_type>)  // these frames end here
        for (slot_index slot = 0; slot < setup.slots; ++slot)
          if (store_->frame(slot) != no_frame) store_->drop(pool_, {slot, setup.shape.tier_of(slot)});
      return make_frames(setup, held_back);
    }
    reclaim_slots(setup.slots);
    clear_records(setup.slots);
  }
  /// Frees frames and records; a store that outlives its sweeps keeps its content.
  void clear() {
    finish_saves();
    if constexpr (loses_nothing<store_type>) *store_ = store_type{};
    else if constexpr (!outliving_store<store_type>) tell_store({}, false);
    pool_ = frames<Value>{};
    held_ = table<checkpoint_record>{};
    anchors_ = table<checkpoint_record>{};
    anchor_count_ = 0;
    slots_ = -1;
    initial_ = no_frame;
  }

  /// Returns false if the slot turns out not to be writable. Such a slot is not used again: its states are made again
  /// when they are needed.
  [[nodiscard]] bool save_frame(place where, step_index i, frame_id k) {
    bool saved = true;
    if constexpr (makes_again)
      if (resumed_) drop(where);  // a state that the plan does not expect there
    if constexpr (fails_to_save<store_type, frames<Value>>) {
      static_assert(may_lose<store_type>,
                    "cairn: a store whose save returns whether it succeeded loses states; give it "
                    "`static constexpr bool may_lose = true`");
      if (held_[where.slot].unwritable) return true;
      note_call();
      saved = store_->save(pool_, where, i, k);
    } else {
      note_call();
      store_->save(pool_, where, i, k);
    }
    if (tracked()) held_[where.slot] = {saved ? i : -1, where.slot, no_frame, where.where, false, !saved};
    else if (keeps_run_) held_[where.slot].where = where.where;  // `rewind` saves to the same tier again
    if (!saved) unwritten_ = {i, where.slot, no_frame, where.where};
    return saved;
  }
  /// A frame with state i, owned once more; no_frame if the store has lost that state.
  [[nodiscard]] frame_id load_frame(place where, step_index i) {
    if constexpr (makes_again)
      if (held_[where.slot].at != i && (may_lose<store_type> || resumed_)) return no_frame;
    note_call();
    frame_id const k = store_->load(pool_, where, i);
    if constexpr (may_lose<store_type>) {
      if (k == no_frame) {
        held_[where.slot].at = missing(i);
        return no_frame;
      }
    } else need_frame<store_type>(k, where, i);
    if constexpr (!keeps_frames<store_type>) pool_.set_at(k, i);
    return k;
  }

  /// Notes the states of the turn: those in slots, and live, which is state `from` in frame `live`, if it is in one.
  /// \param is_checkpoint  says which of these states are places to restart from
  template <class IsCheckpoint>
  void note_turn(step_index from, frame_id live, IsCheckpoint is_checkpoint) {
    anchor_count_ = 0;
    if (!tracked())
      for (slot_index slot = 0; slot < slot_index(held_.size()); ++slot)
        held_[slot] = {state_in(slot), slot,  no_frame, held_[slot].where,
                                    false,          held_[slot].unwritable};
    for (auto& held : held_) held.checkpoint = held.at > 0 && is_checkpoint(held.at);
    for (auto const& held : held_)
      if (held.at != -1)  // what the plan expects there and lacks is made by `rewind`
        anchors_[anchor_count_++] = {held.at < 0 ? missing(held.at) : held.at, held.slot, frame_of(held), held.where,
                                     held.checkpoint};
    sort_by_state(anchors_, anchor_count_);
    for (std::size_t k = 0; k < anchor_count_; ++k)
      if (anchors_[k].frame != no_frame) pool_.anchor(anchors_[k].frame);
    if (live != no_frame) pool_.anchor(live);
    turn_live_ = {from, no_slot, live};
  }
  /// Takes all frames from their owners, except those of anchors that still hold their state, of `pinned`, and of the
  /// live state of the turn if it is still there. Over a store that keeps no frames all frames are needed for work:
  /// none is reserved for the states of the turn.
  template <class... Pinned>
  void reclaim_turn(Pinned... pinned) noexcept {
    pool_.reclaim([&](auto claim) {
      (claim(pinned), ...);
      auto const claim_standing = [&](checkpoint_record& held) {
        if (keeps_frames<store_type> && held.frame != no_frame && pool_.at(held.frame) == held.at) claim(held.frame);
        else held.frame = no_frame;
      };
      for (std::size_t k = 0; k < anchor_count_; ++k) claim_standing(anchors_[k]);
      claim_standing(turn_live_);
    });
  }
  /// The slots are empty, before `save_again` fills them.
  void empty_slots() {
    if constexpr (takes_shape<store_type>) tell_store(shape_, false);
    else tell_store({.slots = slot_index(held_.size())}, false);
    if (tracked())
      for (auto& held : held_) held.at = -1;
  }
  /// Saves the state of an anchor, which is live, in its slot again.
  template <class Through>
  void save_again(Through& through, checkpoint_record const& anchor) {
    (void)through.save({anchor.slot, anchor.where}, anchor.at);
    held_[anchor.slot].checkpoint = anchor.checkpoint;
  }

  /// A frame that holds state i, or no_frame.
  [[nodiscard]] frame_id frame_holding(step_index i, frame_id other_than = no_frame) const noexcept {
    for (frame_id k = 0; k < pool_.known(); ++k)
      if (k != other_than && pool_.at(k) == i && pool_.record(k).constructed) return k;
    return no_frame;
  }

  reseated<Store> store_{std::in_place};
  std::uint64_t begun_ = 0;  ///< sweeps in the store, when the last one here had begun there
  frames<Value> pool_;
  table<checkpoint_record> anchors_;  ///< the first `anchor_count_`: the states in slots at the turn, by number
  std::size_t anchor_count_ = 0;
  checkpoint_record turn_live_;
  frame_id initial_ = no_frame;  ///< the initial state, if it is kept to the end
  bool keeps_run_ = false, resumed_ = false;
  slot_index ahead_ = 0;  ///< frames for a helper

 private:
  /// Whether the slots' content is noted as it changes. This is not needed for a store of frames, whose slots can be
  /// inspected at any time.
  [[nodiscard]] bool tracked() const noexcept {
    if constexpr (keeps_frames<store_type> && !makes_again) return false;
    else return makes_again || keeps_run_;
  }
  [[nodiscard]] slot_index limit(sweep_setup const& setup) const {
    return frames_in(*store_, setup.slots) + setup.working;
  }
  [[nodiscard]] frame_id frame_in(slot_index slot) const noexcept {
    if constexpr (shows_frames<store_type>) return store_->frame(slot);
    else return no_frame;
  }
  void tell_store(sweep_shape shape, bool resumed) {
    if constexpr (takes_shape<store_type>) {
      shape.resumed = resumed;
      store_->begin(shape);
    } else store_->begin(shape.slots);
    begun_ = store_marks::begun(*store_);
  }
  [[nodiscard]] std::size_t stored_bytes(tier where) const {
    if constexpr (requires { { store_->bytes(where) } -> std::convertible_to<std::size_t>; })
      return std::size_t(store_->bytes(where));
    else return 0;
  }
  template <class Cursor>
  static void list_loads(void const* from, void* context, typename frames<Value>::load_sink sink) {
    Cursor ahead = *static_cast<Cursor const*>(from);
    for (action a = ahead.next(); a.kind != action_kind::done; a = ahead.next())
      if (a.kind == action_kind::load && a.what == content::state && a.slot != no_slot &&
          !sink(context, {a.slot, a.where}, a.from))
        return;
  }
  static constexpr bool settles = requires(store_type& store, frames<Value>& pool) { store.settle(pool); };
  static void settle(void* store, frames<Value>& pool) { static_cast<store_type*>(store)->settle(pool); }
  /// The store may own frames from now on.
  void note_call() noexcept {
    if constexpr (settles) called_.set(true);
  }
  void make_frames(sweep_setup const& setup, slot_index held_back) {
    slots_ = setup.slots, ahead_ = setup.ahead;
    pool_.begin(limit(setup), held_back, setup.once);
    clear_records(setup.slots);
  }
  void clear_records(slot_index slots) {
    anchor_count_ = 0;
    held_.assign(tracked() || keeps_run_ ? entries_for(slots) : 0, {});
    if (keeps_run_) anchors_.assign(entries_for(slots), {});
  }
  /// Returns frames to the slots of a store that keeps frames; all other owners lose theirs.
  void reclaim_slots(slot_index slots) noexcept {
    pool_.reclaim([&](auto claim) {
      if constexpr (shows_frames<store_type>)
        for (slot_index slot = 0; slot < slots; ++slot)
          if (frame_id const k = store_->frame(slot); k != no_frame) claim(k);
    });
  }

  table<checkpoint_record> held_;
  checkpoint_record unwritten_;
  [[no_unique_address]] std::conditional_t<takes_shape<store_type>, sweep_shape, no_shape> shape_;
  slot_index slots_ = -1;
  moving_mark called_{false};  // since its saves were finished last, the store was called
};

}  // namespace cairn::detail
