// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file frames.hpp  The states of a sweep in one pool. A checkpoint in memory is a frame with one more owner; loading
/// it copies nothing.
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/same_capacity.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/run/sweep/detail/byte_limit.hpp>
#include <cairn/run/sweep/detail/cached_object.hpp>
#include <cairn/run/sweep/detail/call.hpp>
#include <cairn/run/sweep/detail/maybe.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// What a pool knows about a frame.
struct frame_record {
  step_index at = -1;        // the state that it holds, -1 if none that is complete
  frame_id next = no_frame;  // the next frame in the list of free or of expired frames
  std::int32_t owners = 0;
  bool constructed = false;
  bool anchored =
      false;  // held a checkpoint at the turn: while it does, a second reverse sweep need not recompute it
  mutable bool weighed = false;  // its bytes are in the sum that observers ask for, and did not change since
};

static_assert(sizeof(frame_record) == bytes_a_frame);

/// The bytes of all frames but those that may have changed since these were summed: an observer who asks after each
/// action pays for the few frames of the action only.
struct frame_sum {
  static constexpr int most = 8;
  std::size_t bytes = 0;
  frame_id touched[most] = {};
  int count = 0;
  bool known = false;  // otherwise all are to be summed anew
};

/// What is known of frames, whatever they hold.
struct frame_book {
  raw_array<frame_record> records_;  // the first `known_` are made; the others are not touched before they are taken
  slot_index most_ = 0, known_ = 0, in_play_ = 0;
  frame_id free_ = no_frame, expired_ = no_frame, last_expired_ = no_frame;
  void* store_ = nullptr;
  void const* cursor_ = nullptr;
  mutable frame_sum sum_;
  slot_index constructed_ = 0;  // frames with a state
  byte_limit limit_;
  bool limited_ = false;  // there is a budget
  bool grown_ = false;    // something is larger than planned
  step_index once_ = -2;  // states up to this one are not made again
};

/// Frames of a state, or of a snapshot. A frame without an owner keeps its memory, and its state until the frame is
/// needed. Spare capacity, which containers get when steps resize them, stays with states in use: frames that are kept
/// or free have none, as far as can be seen. Never more than `limit()` frames; allocates only in begin(), and there
/// only when the number of frames changes. One class: a frame's state, its owners and the lists change together.
template <class T>
class frames : frame_book {
 public:
  using value_type = T;
  using settle_fn = void (*)(void* store, frames&);
  using load_sink = bool (*)(void* context, place, step_index);
  using look_fn = void (*)(void const* cursor, void* context, load_sink);

  /// Owns a frame during its lifetime, or until the frame is taken from it.
  struct holder {
    frames& all;
    frame_id held;
    ~holder() { all.forget(held); }
  };

  frames() = default;
  frames(frames&& other) noexcept { *this = std::move(other); }
  frames& operator=(frames&& other) noexcept {
    std::swap(states_, other.states_), std::swap(settle_, other.settle_), std::swap(look_, other.look_);
    std::swap(static_cast<frame_book&>(*this), static_cast<frame_book&>(other));
    return *this;
  }
  ~frames() { destroy_all(); }

  /// Forgets all owners; states of an earlier sweep stay as memory to be reused.
  /// \param most  number of frames   \param held_back  how many of these only `allow_all` makes available
  /// \param once  states up to this one free their memory when nobody owns them, because no other state needs it
  void begin(slot_index most, slot_index held_back = 0, step_index once = -2) {
    if (most != most_) {
      destroy_all();
      most_ = known_ = 0;
      states_ = {}, records_ = {};
      states_ = raw_array<T>{entries_for(most)};
      records_ = raw_array<frame_record>{entries_for(most)};
      most_ = most;
    }
    in_play_ = most - held_back;
    once_ = once;
    sum_ = {};
    for (; known_ > in_play_; --known_) destroy(known_ - 1);
    free_ = expired_ = last_expired_ = no_frame;
    for (frame_id k = 0; k < known_; ++k) record(k).at = -1, record(k).owners = 0, record(k).anchored = false;
    push_all_free();
  }
  /// Makes available the frames that were held back, after all others, because they have no memory yet.
  void allow_all() noexcept { in_play_ = most_; }

  /// `settle` is called when no frame is left, so that a store may release some.
  void settle_with(settle_fn settle, void* store) noexcept {
    settle_ = settle;
    store_ = store;
  }

  /// Which cursor says what is loaded next; null if none does.
  void look_from(void const* from, look_fn look) noexcept {
    cursor_ = from;
    look_ = look;
  }

  // used by stores
  /// Calls f(place, i) for each state that the plan loads next, in order, until f returns false. Before the turn of a
  /// loop of unknown length nothing is known.
  template <class Fn>
  void coming_loads(Fn f) const {
    if (cursor_ != nullptr)
      look_(cursor_, &f, [](void* context, place where, step_index i) {
        return static_cast<bool>((*static_cast<Fn*>(context))(where, i));
      });
  }
  [[nodiscard]] T const& state(frame_id k) const noexcept { return states_.get()[k]; }
  void keep(frame_id k) noexcept { ++record(k).owners; }
  void release(frame_id k) noexcept {
    auto& f = record(k);
    if (--f.owners == 0) {
      if (f.anchored) push_expired(k);
      else push_free(k);
    }
  }
  /// Releases the frame of a handle, if it has one.
  void forget(frame_id& handle) noexcept {
    if (handle != no_frame) release(std::exchange(handle, no_frame));
  }
  [[nodiscard]] frame_id take() {
    frame_id k = free_;
    if (k != no_frame) free_ = record(k).next;
    else k = take_other();
    auto& f = record(k);
    f.owners = 1;
    f.at = -1;
    return k;
  }
  [[nodiscard]] T* reusable(frame_id k) noexcept {
    if constexpr (varies) touch(k);
    return record(k).constructed ? states_.get() + k : nullptr;
  }
  /// Constructs a new state in a frame; destroys the old one first, so that there are never two.
  template <class... Args>
  void emplace(frame_id k, Args&&... args) {
    end_old(k);
    ::new (static_cast<void*>(states_.get() + k)) T(std::forward<Args>(args)...);
    note_new(k);
  }
  /// The same with the result of `make()`, constructed in place. `emplace` would not do: a constructor of T that takes
  /// any argument would take `make` itself.
  template <class Make>
  void emplace_made(frame_id k, Make&& make) {
    end_old(k);
    ::new (static_cast<void*>(states_.get() + k)) T(make());
    note_new(k);
  }

  // used by sweeps
  [[nodiscard]] T& state(frame_id k) noexcept {
    if constexpr (varies) touch(k);
    return states_.get()[k];
  }
  [[nodiscard]] step_index at(frame_id k) const noexcept { return record(k).at; }
  void set_at(frame_id k, step_index i) noexcept { record(k).at = i; }
  [[nodiscard]] bool shared(frame_id k) const noexcept { return record(k).owners > 1; }
  [[nodiscard]] slot_index limit() const noexcept { return most_; }
  /// Frames [0, known()) have been taken before.
  [[nodiscard]] slot_index known() const noexcept { return known_; }
  [[nodiscard]] frame_record const& record(frame_id k) const noexcept { return records_.get()[k]; }
  void anchor(frame_id k) noexcept { record(k).anchored = true; }

  /// Takes every frame from its owners; then each claim that `claimed` makes adds one owner to a frame. The states in
  /// the other frames are readable until the frames are reused.
  template <class Claimed>
  void reclaim(Claimed claimed) noexcept {
    free_ = expired_ = last_expired_ = no_frame;
    for (frame_id k = 0; k < known_; ++k) record(k).owners = 0, record(k).anchored = false;
    claimed([this](frame_id k) { ++record(k).owners; });
    push_all_free();
  }

  /// From now on, states that are larger than planned hold no more than this; without budget there is no limit.
  void keep_within(byte_limit const& limit) noexcept {
    limit_ = limit, grown_ = false;
    limited_ = limit.budget != unknown_bytes;
  }
  /// What the sweep holds, frames without a state included.
  [[nodiscard]] wide all_bytes() const { return limit_.beside + bytes() + wide(limit() - constructed_) * sizeof(T); }
  [[nodiscard]] bool limited() const noexcept { return limited_; }
  [[nodiscard]] byte_limit& limit_now() noexcept { return limit_; }
  /// A part of what is held besides states takes so many bytes. Returns whether that is more than ever before.
  bool takes(wide byte_limit::*part, wide bytes) noexcept {
    if (bytes <= limit_.*part) return false;
    limit_.beside += bytes - limit_.*part;
    limit_.*part = bytes;
    return grown_ = true;
  }
  [[nodiscard]] bool has_room() const { return all_bytes() <= limit_.budget; }
  /// Bytes of the largest state held.
  [[nodiscard]] wide largest() const {
    wide most = limit_.state;
    for (frame_id k = 0; k < known_; ++k)
      if (wide const bytes = weight(k); bytes > most) most = bytes;
    return most;
  }
  /// A state is about to be read, which may be as large as the largest one.   \throws states_too_large
  void check_read() {
    if (grown_) check_sum(largest());
  }
  /// \throws states_too_large
  void check_sum(wide more = 0) {
    if (all_bytes() + more <= limit_.budget) return;
    shed();
    if (wide const held = all_bytes() + more; held > limit_.budget) throw states_too_large{limit_.budget, held};
  }
  /// Frees the memory of frames that nobody owns.
  void shed() noexcept {
    for (frame_id k = 0; k < known_; ++k)
      if (record(k).owners == 0 && record(k).constructed) end_state(k);
  }
  /// A state is in a frame, or about to be copied to another one.
  /// \throws states_too_large   if they are beyond the limit, and before they are copied
  void check_limit([[maybe_unused]] T const& x, [[maybe_unused]] bool copied = false) {
    if constexpr (varies)
      if (limited_) {
        wide const size = bytes_of(x);
        if (grown_ = grown_ || size > limit_.state; grown_) check_sum(copied ? size - sizeof(T) : 0);
      }
  }

  /// Copies the state of `source` into `target`, a frame from take(): into the memory of the old state if that is
  /// exactly what a fresh copy would allocate.
  void copy(frame_id source, frame_id target) { copy_in(std::as_const(*this).state(source), target); }
  void copy_in(T const& from, frame_id target) {
    if (!has_capacity_of(from, target)) return copy_anew(from, target);
    copy_state(from, state(target));
    if constexpr (says_bytes<T>())  // only the copy itself knows how these bytes are laid out
      if (heap_of(from) < heap_of(std::as_const(state(target)))) copy_anew(from, target);
  }

  /// Advances `handle` from state `from` to a later state `to`; if its frame has another owner, that frame does not
  /// change. The only caller of out-of-place and by-value steps; never inlined for these: see call.hpp.
  template <class Step>
  void run(Step& step, frame_id& handle, step_index from, step_index to, step_index& failed) {
    if constexpr (shape_of_step<Step, T>().form == step_form::in_place) {
      own(handle);
      struct guard {  // after an exception the frame holds no complete state
        frame_record& frame;
        step_index at;
        ~guard() { frame.at = at; }
      } ends{record(handle), -1};
      if (varies && limited_) run_limited(step, handle, from, to, failed);
      else run_in_place(step, state(handle), from, to, failed);
      ends.at = to;
    } else {
      run_between_frames(step, handle, from, to, failed);
    }
  }
  /// Makes `handle` the only owner of its frame: copies the state if the frame has another owner. The caller then
  /// changes the state and sets its number by `set_at`.
  void own(frame_id& handle) {
    if (!shared(handle)) {
      record(handle).anchored = false;  // its content will be overwritten
      return;
    }
    frame_id const target = take();
    holder guard{*this, target};
    copy(handle, target);
    if constexpr (!is_flat<T>())
      if (!has_exact_capacity(std::as_const(*this).state(handle)))
        exchange(handle, target);  // the copy has no spare capacity, so it is the one to keep
    release(handle);
    handle = std::exchange(guard.held, no_frame);
  }

  /// Bytes of all states, memory of free frames included; 0 for a type whose bytes are unknown.
  /// Cost: one `bytes_of` for each frame that may have changed since the last call; the first time for all.
  [[nodiscard]] std::size_t bytes() const {
    if constexpr (sized_state<T>) {
      if (std::exchange(sum_.known, false))
        for (int k = 0; k < sum_.count; ++k) weigh(sum_.touched[k]);
      else {
        sum_.bytes = 0;
        for (frame_id k = 0; k < known_; ++k) weigh(k);
      }
      sum_.count = 0;
      sum_.known = true;
    }
    return sum_.bytes;
  }

 private:
  /// Whether states of this type may differ in bytes. Otherwise only making and ending a state changes the sum.
  static constexpr bool varies = sized_state<T> && !is_flat<T>();
  [[nodiscard]] std::size_t weight(frame_id k) const {
    return record(k).constructed ? bytes_of(std::as_const(*this).state(k)) : 0;
  }
  void weigh(frame_id k) const {
    sum_.bytes += weight(k);
    record(k).weighed = true;
  }
  /// The bytes of a frame are about to change.
  void touch(frame_id k) noexcept {
    if (record(k).weighed) take_from_sum(k);
  }
  [[gnu::noinline, gnu::cold]] void take_from_sum(frame_id k) noexcept {
    record(k).weighed = false;
    if (!std::exchange(sum_.known, false) || sum_.count == frame_sum::most) return;
    try {
      std::size_t const now = weight(k);
      if (now > sum_.bytes) return;  // a state that changed while it was constant
      sum_.bytes -= now;
      sum_.touched[sum_.count++] = k;
      sum_.known = true;
    } catch (...) {  // the next observer learns it
    }
  }
  /// Before a state is constructed in a frame.
  void end_old([[maybe_unused]] frame_id k) noexcept {
    if constexpr (!is_flat<T>()) destroy(k);  // otherwise the new state just takes the place
  }
  void note_new(frame_id k) noexcept {
    if constexpr (is_flat<T>()) {
      if (!record(k).constructed) note_first(k);
    } else {
      if constexpr (sized_state<T>) touch(k);
      record(k).constructed = true;
      ++constructed_;
    }
  }
  [[gnu::noinline, gnu::cold]] void note_first(frame_id k) noexcept {
    touch(k);
    record(k).constructed = true;
    ++constructed_;
  }
  [[nodiscard]] frame_record& record(frame_id k) noexcept { return records_.get()[k]; }
  [[gnu::noinline]] void end_state(frame_id k) noexcept { destroy(k), record(k).at = -1; }
  void push_free(frame_id k) noexcept {
    if constexpr (!is_flat<T>())
      if (auto const& f = record(k);
          f.constructed && (f.at <= once_ || !has_exact_capacity(std::as_const(*this).state(k))))
        end_state(k);
    record(k).next = free_;
    free_ = k;
  }
  /// Puts all frames without an owner on the free list, those with memory on top.
  void push_all_free() noexcept {
    for (bool const constructed : {false, true})
      for (frame_id k = known_; k-- > 0;)
        if (record(k).owners == 0 && record(k).constructed == constructed) push_free(k);
  }
  void push_expired(frame_id k) noexcept {
    record(k).next = no_frame;
    if (expired_ == no_frame) expired_ = k;
    else record(last_expired_).next = k;
    last_expired_ = k;
  }
  /// One that was never taken, or an expired one: the frame dropped first is reused first, because of the states of the
  /// turn those late in the loop are the cheapest to recompute.
  [[gnu::noinline]] frame_id take_other() {
    if (known_ < in_play_) {
      records_.get()[known_] = {.weighed = sum_.known};
      return known_++;
    }
    if (expired_ == no_frame && settle_ != nullptr) {
      settle_(store_, *this);
      if (free_ != no_frame) return std::exchange(free_, record(free_).next);
    }
    if (expired_ == no_frame)
      throw invalid_schedule{"cairn: sweep",
                             "the schedule needs more states at once than it said",
                             {{"frames", limit()}},
                             "check the plan with cairn::verify"};
    record(expired_).anchored = false;
    return std::exchange(expired_, record(expired_).next);
  }
  /// If a state that is to be kept has spare capacity, exchanges it with a fresh copy: spare capacity stays with the
  /// states that go on changing.
  /// \param target  a frame to be written
  void leave_snug([[maybe_unused]] frame_id kept, [[maybe_unused]] frame_id target) {
    if constexpr (!is_flat<T>()) {
      if (has_exact_capacity(std::as_const(*this).state(kept))) return;
      copy_anew(std::as_const(*this).state(kept), target);
      exchange(kept, target);
    }
  }
  /// Swaps by the function that argument-dependent lookup finds: that of std::tuple is in a header which is not
  /// included here.
  void exchange(frame_id one, frame_id other) {
    using std::swap;
    swap(state(one), state(other));
  }
  [[nodiscard]] bool has_capacity_of(T const& from, frame_id target) const {
    return record(target).constructed && same_capacity(from, state(target));
  }
  template <class Step>
  [[gnu::noinline]] void run_limited(Step& step, frame_id handle, step_index i, step_index to, step_index& failed) {
    for (; i < to; failed = ++i, check_limit(std::as_const(*this).state(handle)))
      run_in_place(step, state(handle), i, i + 1, failed);
  }
  void copy_anew(T const& from, frame_id target) {
    if constexpr (varies) {
      destroy(target);
      check_limit(from, true);
    }
    if constexpr (traited_copy<T>) {
      emplace(target);
      copy_state(from, state(target));
    } else emplace(target, from);
  }

  template <class Step>
  [[gnu::noinline]] void run_between_frames(Step& step, frame_id& handle, step_index from, step_index to,
                                            step_index& failed) {
    static constexpr auto shape = shape_of_step<Step, T>();
    frame_id spare = no_frame;
    step_index i = from, done = from;
    try {
      for (; i < to; ++i) {
        frame_id const target = spare != no_frame ? std::exchange(spare, no_frame) : take();
        record(target).anchored = false;  // its content is overwritten
        holder guard{*this, target};
        if (shared(handle)) leave_snug(handle, target);
        T const& x = std::as_const(*this).state(handle);
        set_at(target, -1);
        if constexpr (shape.form == step_form::by_value) {
          if constexpr (varies) {
            destroy(target);
            check_limit(x, true);  // the result will be about as large
          }
          emplace_made(target, [&]() -> T {
            if constexpr (shape.indexed) return call_lending(step, x, std::as_const(i));
            else return call_lending(step, x);
          });
        } else {
          if (!has_capacity_of(x, target))
            copy_anew(x, target);  // otherwise containers would keep the largest capacity of any state in this frame
          if constexpr (shape.indexed) call_lending(step, x, state(target), std::as_const(i));
          else call_lending(step, x, state(target));
        }
        set_at(target, done = i + 1);
        check_limit(std::as_const(*this).state(target));
        if (shared(handle)) release(handle);
        else spare = handle;
        handle = std::exchange(guard.held, no_frame);
      }
    } catch (...) {
      if (spare != no_frame) release(spare);
      failed = done;
      throw;
    }
    if (spare != no_frame) release(spare);
  }

  void destroy(frame_id k) noexcept {
    if constexpr (sized_state<T>) touch(k);
    if (std::exchange(record(k).constructed, false)) --constructed_, states_.get()[k].~T();
  }
  void destroy_all() noexcept {
    for (frame_id k = 0; k < known_; ++k) destroy(k);
  }
  raw_array<T> states_;
  settle_fn settle_ = nullptr;
  look_fn look_ = nullptr;
  cached_object helper_;  // of who walks ahead, kept for the next sweep
  friend struct ahead_access;
};

}  // namespace cairn::detail
