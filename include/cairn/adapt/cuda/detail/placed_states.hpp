// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file placed_states.hpp  Where the states of a sweep are: in frames of the device, or in pinned slots of the host.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <cairn/adapt/cuda/detail/frames.hpp>
#include <cairn/adapt/cuda/detail/host_slots.hpp>
#include <cairn/adapt/cuda/detail/state_copies.hpp>
#include <cairn/adapt/cuda/device_capacity.hpp>
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// The frames, the host slots and the streams of a sweep: which state is in which of them, and which one is live. A
/// handle is the number of a frame, and one of its owners.
///
/// Besides the live state and the states that the plan has saved, frames may hold the initial state, the state that is
/// loaded next from the host, and the state loaded last from the host if it is loaded again. The last two are released
/// if a frame is needed. Cannot be copied or moved; the destructor waits for the streams.
template <device_runtime Runtime, class State>
class placed_states {
 public:
  using stream = typename Runtime::stream;

  /// \param or_less  whether less than the capacity is acceptable
  template <class Make>
  placed_states(Runtime& runtime, stream compute, device_capacity capacity, bool or_less, Make& make)
      : streams_{runtime, compute},
        frames_{streams_, capacity.frames, or_less, make},
        copier_{state_layout_of_all()},
        slots_{runtime, capacity.host_slots, or_less, copier_.layout()} {}
  placed_states(placed_states const&) = delete;
  placed_states& operator=(placed_states const&) = delete;
  ~placed_states() { streams_.settle(); }

  [[nodiscard]] device_capacity capacity() const noexcept { return {frames_.count(), slots_.count()}; }
  [[nodiscard]] std::size_t frame_bytes() const noexcept { return copier_.layout().device_bytes(); }
  /// Bytes of all frames.
  [[nodiscard]] std::size_t bytes() const noexcept { return std::size_t(frames_.count()) * frame_bytes(); }

  /// Bytes of what is noted of frames and slots, on the host.   \param slots  of the plan
  [[nodiscard]] wide noted_bytes(device_capacity of, slot_index slots) const noexcept {
    return wide(of.frames) * frames_.noted_bytes + wide(of.host_slots) * slots_.noted_bytes() +
           wide(slots) * sizeof(place_record);
  }

  [[nodiscard]] Runtime& runtime() const noexcept { return streams_.runtime(); }
  /// The stream of steps and adjoints.
  [[nodiscard]] stream compute() const noexcept { return streams_.of(stream_role::compute); }
  /// To be called after work is put into `compute`.
  void put() noexcept { streams_.put(stream_role::compute); }
  /// The next work of `compute` comes after all copies.
  void join() {
    streams_.after_all(stream_role::compute, stream_role::to_host);
    streams_.after_all(stream_role::compute, stream_role::to_device);
  }
  /// The host waits for all streams.
  void settle() noexcept { streams_.settle(); }

  /// Forgets all states: a sweep begins. \param slots  of the plan
  void begin(slot_index slots) {
    places_.assign(std::size_t(slots), {});
    put();  // work that the caller has put there since the last sweep
    frames_.free_all();
    slots_.free_all();
    live_ = initial_ = next_ = current_ = no_frame;
  }
  /// Takes a host slot through which `show` and `blank` copy.
  [[nodiscard]] slot_index take_scratch() noexcept { return slots_.take(); }

  /// The live state.
  [[nodiscard]] frame_id& live() noexcept { return live_; }
  [[nodiscard]] State& state(frame_id k) noexcept { return frames_.state(k); }
  void set_at(frame_id k, step_index i) noexcept { frames_.set_at(k, i); }
  /// Takes a frame for the live state, which is to be written.
  [[nodiscard]] State& write_live() { return state(live_ = frame_to_write()); }
  /// The live state is the initial one, which stays.
  void keep_initial() noexcept { frames_.keep(initial_ = live_); }
  /// One more handle of the same frame.
  [[nodiscard]] frame_id share(frame_id handle) noexcept {
    frames_.keep(handle);
    return handle;
  }
  void release(frame_id& handle) noexcept {
    if (handle != no_frame) frames_.release(std::exchange(handle, no_frame), streams_);
  }
  /// A handle of a frame that is to be written.
  [[nodiscard]] frame_id frame_to_write() {
    return one_by([&] { return frames_.take(streams_); });
  }
  /// Makes `handle` a frame that may be changed: with one owner, and not being read by a copy to the host.
  void own(frame_id& handle) {
    frame_id target = no_frame;
    while (target == no_frame && frames_.shared(handle)) {
      target = frames_.take(streams_);
      if (target == no_frame && !give_way()) refuse_schedule();
    }
    // Waiting for the oldest copy takes less time than waiting for this one, which was put last.
    if (target == no_frame && frames_.is_held(handle, stream_role::to_host, streams_)) target = frames_.take(streams_);
    if (target == no_frame) return frames_.after_copy(handle, streams_);
    copy(frames_.state(handle), frames_.state(target));
    release(handle);
    handle = target;
  }

  /// Copies a state within the device.
  void copy(State const& from, State& to) {
    copier_.copy(runtime(), from, to, compute());
    put();
  }
  /// Calls visit(run, bytes) with each run of a state, copied to a scratch slot. The host waits.
  template <class Visit>
  void show(slot_index scratch, frame_id k, Visit&& visit) {
    slots_.visit_bytes(scratch, std::as_const(frames_).state(k), streams_, visit);
  }
  /// Fills a frame with zeros from a scratch slot. \param is_blank  whether the slot contains zeros; true afterwards
  void blank(slot_index scratch, frame_id k, bool& is_blank) {
    slots_.fill(scratch, frames_.state(k), streams_, is_blank);
  }

  /// Saves the live state, state i, where the plan says.
  void save(place where, step_index i) {
    auto& there = places_[std::size_t(where.slot)];
    there = {live_, i, where.where == tier::host};
    if (!there.on_host) return frames_.keep(live_);
    there.number = slots_.take();
    frames_.order_read(live_, streams_);
    frames_.set_copy(live_, slots_.save(there.number, std::as_const(frames_.state(live_)), streams_));
  }
  void drop(slot_index slot) {
    auto& place = places_[std::size_t(slot)];
    if (place.on_host) slots_.give_back(place.number);
    else frames_.release(place.number, streams_);
    place = {};
  }
  /// Makes state i live, from a slot of the plan or, for `no_slot`, from the frame of the initial state.
  /// \param ahead  a `host_loads`   \param now  the number of the present action
  template <class Ahead>
  void load(Ahead& ahead, slot_index slot, step_index i, std::int64_t now) {
    if (slot != no_slot && places_[std::size_t(slot)].on_host) load_from_host(ahead, slot, i, now);
    else load_frame(slot == no_slot ? initial_ : places_[std::size_t(slot)].number);
  }
  /// Fetches the next state from the host as soon as no action before its load needs the frame.
  template <class Ahead>
  void fetch_ahead(Ahead const& ahead, std::int64_t now) {
    if (next_ != no_frame || !ahead.has_free_frame(now, current_ != no_frame)) return;
    auto const& place = places_[std::size_t(ahead.next_slot())];
    if (!place.on_host || place.at != ahead.next_state()) return;  // not saved yet
    if (frames_.at(live_) == ahead.next_state()) {
      frames_.keep(next_ = live_);
    } else if (next_ = frames_.take_for_copy(); next_ != no_frame) {
      fetch(next_, ahead.next_slot(), ahead.next_state());
    }
  }

 private:
  /// The content of a slot of the plan: a frame, or a slot of the host.
  struct place_record {
    std::int64_t number = -1;
    step_index at = -1;
    bool on_host = false;
  };

  [[nodiscard]] state_layout state_layout_of_all() const {
    state_layout layout{frames_.state(0)};
    for (frame_id k = 1; k < frames_.count(); ++k)
      layout.each(frames_.state(k), [](void const*, state_layout::run const&) {});
    return layout;
  }
  /// Releases a frame that is kept only for a later load; returns false if there is none.
  bool give_way() noexcept {
    frame_id& least_needed = current_ != no_frame ? current_ : next_;
    if (least_needed == no_frame) return false;
    release(least_needed);
    return true;
  }
  [[noreturn]] void refuse_schedule() const {
    throw invalid_schedule{"cairn::device_sweep",
                           "the schedule needs more states at once than it said",
                           {{"frames", frames_.count()}},
                           "check the plan with cairn::verify"};
  }
  /// The frame that `take()` returns, after releasing frames until there is one.
  template <class Take>
  [[nodiscard]] frame_id one_by(Take take) {
    for (;;) {
      if (frame_id const k = take(); k != no_frame) return k;
      if (!give_way()) refuse_schedule();
    }
  }
  void load_frame(frame_id frame) {
    frames_.keep(frame);
    release(live_);
    live_ = frame;
  }
  template <class Ahead>
  void load_from_host(Ahead& ahead, slot_index slot, step_index i, std::int64_t now) {
    bool const is_next = ahead.is_next(slot, i);
    frame_id& waiting = is_next ? next_ : current_;
    if (waiting != no_frame) {
      release(live_);
      live_ = std::exchange(waiting, no_frame);
    } else if (frames_.at(live_) != i) {
      release(live_);
      live_ = one_by([&] { return frames_.take_for_copy(); });
      fetch(live_, slot, i);
    }
    frames_.after_copy_to_device(live_, streams_);
    if (is_next) {
      ahead.pass();
      release(current_);
    }
    if (ahead.comes_again(now)) frames_.keep(current_ = live_);
  }
  /// Copies the state in a host slot to a frame.
  void fetch(frame_id into, slot_index slot, step_index state) {
    slot_index const from = places_[std::size_t(slot)].number;
    frames_.order_copy(into, slots_.stored(from), streams_);
    frames_.set_copy(into, slots_.load(from, frames_.state(into), streams_));
    frames_.set_at(into, state);
  }

  sweep_streams<Runtime> streams_;
  device_frames<Runtime, State> frames_;
  state_copier<Runtime, State> copier_;
  host_slots<Runtime, State> slots_;
  table<place_record> places_;
  frame_id live_ = no_frame, initial_ = no_frame;
  frame_id next_ = no_frame;     // kept for the next load from the host
  frame_id current_ = no_frame;  // kept for the current state, which is loaded again
};

}  // namespace cairn::detail
