// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file frames.hpp  Full states on a device, allocated once. A checkpoint is a frame with one more owner; loading it
/// copies nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>
#include <cairn/adapt/cuda/detail/state_copies.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// The states of a sweep. A frame without an owner is free; if a copy engine may still use it, it is *held* and waits
/// in a separate queue.
///
/// Steps take the newest free frame that is not held, so that a stream reuses its own frames and waits for nothing.
/// Held frames are taken in the order in which they were freed, and first by copies to the device, which run ahead of
/// time anyway.
template <device_runtime Runtime, class State>
class device_frames {
 public:
  using stamp = stream_stamp<Runtime>;

  /// \param make  `make()` returns a full state; called `count` times   \param or_fewer  whether fewer than `count`
  ///   frames are acceptable, but at least 1
  /// \throws out_of_memory   with the number of frames that could be allocated, if `make` throws that or std::bad_alloc
  /// \throws whatever else `make` throws
  template <class Make>
  device_frames(sweep_streams<Runtime>& streams, slot_index count, bool or_fewer, Make& make)
      : before_freeing_{streams} {
    states_.reserve(std::size_t(count));
    bool memory_ran_out = false;
    try {
      while (this->count() < count) states_.push_back(make());
    } catch (out_of_memory const&) {
      memory_ran_out = true;
    } catch (std::bad_alloc const&) {
      memory_ran_out = true;
    }
    if (memory_ran_out) settle_for_fewer(streams, count, or_fewer);
    records_ = table<frame_record>(states_.size());
  }

  [[nodiscard]] slot_index count() const noexcept { return slot_index(states_.size()); }
  [[nodiscard]] State& state(frame_id k) noexcept { return states_[std::size_t(k)]; }
  [[nodiscard]] State const& state(frame_id k) const noexcept { return states_[std::size_t(k)]; }
  [[nodiscard]] step_index at(frame_id k) const noexcept { return record(k).at; }
  void set_at(frame_id k, step_index i) noexcept { record(k).at = i; }
  [[nodiscard]] bool shared(frame_id k) const noexcept { return record(k).owners > 1; }
  /// Notes a copy that uses the frame; to be called as soon as the copy's stamp has been recorded.
  void set_copy(frame_id k, stamp const& copy) noexcept { record(k).copy = {&copy, copy.where, copy.number()}; }
  /// Whether a copy on that stream may still use the frame when the next work of `compute` runs.
  [[nodiscard]] bool is_held(frame_id k, stream_role by, sweep_streams<Runtime> const& streams) const noexcept {
    return record(k).copy.where == by && is_held(k, streams);
  }
  /// Orders the next work of `compute` after the copy that used the frame last.
  void after_copy(frame_id k, sweep_streams<Runtime>& streams) {
    if (is_held(k, streams)) streams.after(stream_role::compute, *record(k).copy.made);
  }

  /// The same only if that copy filled the frame. Work that reads a frame need not wait for a copy to the host.
  void after_copy_to_device(frame_id k, sweep_streams<Runtime>& streams) {
    if (record(k).copy.where == stream_role::to_device) after_copy(k, streams);
  }

  /// Allows a copy to the host to read the frame: after the steps, and after the copy that filled it. Usually the steps
  /// wait for that copy themselves, but a state that is saved directly after its load has no step in between.
  void order_read(frame_id k, sweep_streams<Runtime>& streams) {
    streams.after_all(stream_role::to_host, stream_role::compute);
    if (auto const& copy = record(k).copy; copy.where == stream_role::to_device &&
                                           !streams.knows(stream_role::to_host, stream_role::to_device, copy.number))
      streams.after(stream_role::to_host, *copy.made);
  }

  /// Forgets all owners, uses and copies: the next work of `compute` comes after all of them, and so does everything
  /// saved then.
  void free_all() noexcept {
    clean_ = held_ = last_held_ = no_frame;
    for (frame_id k = count(); k-- > 0;) {
      record(k) = {};
      push_clean(k);
    }
  }

  void keep(frame_id k) noexcept { ++record(k).owners; }
  void release(frame_id k, sweep_streams<Runtime> const& streams) noexcept {
    if (--record(k).owners > 0) return;
    record(k).used = streams.put_in(stream_role::compute);
    if (is_held(k, streams)) push_held(k);
    else push_clean(k);
  }

  /// A frame for steps to write, or no_frame if all have owners.
  [[nodiscard]] frame_id take(sweep_streams<Runtime>& streams) {
    frame_id const k = clean_ != no_frame ? take_clean() : take_held();
    if (k != no_frame) after_copy(k, streams);
    return k;
  }
  /// A frame for a copy to the device, without any ordering yet; or no_frame.
  [[nodiscard]] frame_id take_for_copy() noexcept { return held_ != no_frame ? take_held() : take_clean(); }
  /// Allows a copy to the device to fill the frame from the host slot of `stored`: after that stamp, after the copy
  /// that used the frame last, and after the steps that used it. Waiting for the steps takes an event that is recorded
  /// now, unless the stamp or the copy already comes after these steps.
  void order_copy(frame_id k, stamp const& stored, sweep_streams<Runtime>& streams) {
    auto const& f = record(k);
    bool const read = f.copy.where == stream_role::to_host &&
                      !streams.knows(stream_role::to_device, stream_role::to_host, f.copy.number);
    bool const sent = !streams.knows(stream_role::to_device, stored);
    std::uint64_t const after_these = (std::max)(read ? f.copy.made->behind[stream_role::compute] : 0,
                                                 sent ? stored.behind[stream_role::compute] : 0);
    if (f.used > after_these) streams.after(stream_role::to_device, stream_role::compute, f.used);
    // Of two positions in one stream the later one comes after the other.
    bool const read_last = read && f.copy.made->number() > stored.number();
    if (read_last) streams.after(stream_role::to_device, *f.copy.made);
    streams.after(stream_role::to_device, stored);
    if (read && !streams.knows(stream_role::to_device, stream_role::to_host, f.copy.number))
      streams.after(stream_role::to_device, *f.copy.made);
  }

 private:
  struct frame_copy {
    stamp const* made = nullptr;  // a later copy from or to the same host slot may have reused the stamp; waiting for
                                  // it is then longer than needed
    stream_role where = stream_role::compute;
    std::uint64_t number = 0;
  };
  struct frame_record {
    step_index at = -1;        // the state that it holds, -1 if none that is complete
    frame_id next = no_frame;  // in the list of free frames or in the queue of held frames
    std::int32_t owners = 0;
    std::uint64_t used = 0;  // how much was in `compute` when the last owner released it
    frame_copy copy;
  };

 public:
  static constexpr wide noted_bytes = sizeof(State) + sizeof(frame_record);  ///< of a frame, on the host

 private:

  void settle_for_fewer(sweep_streams<Runtime>& streams, slot_index wanted, bool or_fewer) {
    if (count() == 0 || !or_fewer) {
      std::size_t const bytes = count() == 0 ? 0 : state_layout{states_[0]}.device_bytes();
      throw out_of_memory{
          "cairn::device_sweep",
          "not all frames could be made",
          {{"frames", wanted}, {"made", count()}, {"bytes a frame", bytes}},
          "plan for fewer bytes, say capacity_up_to{capacity} to take what there is, or let states go to the host"};
    }
    if (count() == 1) return;
    streams.settle();
    states_.pop_back();  // leaves some memory free for what steps allocate
  }

  [[nodiscard]] frame_record& record(frame_id k) noexcept { return records_[std::size_t(k)]; }
  [[nodiscard]] frame_record const& record(frame_id k) const noexcept { return records_[std::size_t(k)]; }
  [[nodiscard]] bool is_held(frame_id k, sweep_streams<Runtime> const& streams) const noexcept {
    auto const& copy = record(k).copy;
    return copy.made != nullptr && !streams.knows(stream_role::compute, copy.where, copy.number);
  }
  [[nodiscard]] frame_id taken(frame_id k) noexcept {
    record(k).at = -1;
    record(k).owners = 1;
    return k;
  }
  /// A free frame that is not held.
  [[nodiscard]] frame_id take_clean() noexcept {
    if (clean_ == no_frame) return no_frame;
    return taken(std::exchange(clean_, record(clean_).next));
  }
  [[nodiscard]] frame_id take_held() noexcept {
    if (held_ == no_frame) return no_frame;
    return taken(std::exchange(held_, record(held_).next));
  }
  void push_clean(frame_id k) noexcept {
    record(k).next = clean_;
    clean_ = k;
  }
  void push_held(frame_id k) noexcept {
    record(k).next = no_frame;
    if (held_ == no_frame) held_ = k;
    else record(last_held_).next = k;
    last_held_ = k;
  }

  /// Waits for the streams if a frame, or later a slot, cannot be allocated, because what `make` has put into them may
  /// still run.
  struct settled_streams {
    sweep_streams<Runtime>& streams;
    ~settled_streams() { streams.settle(); }
  };

  std::vector<State> states_;
  settled_streams before_freeing_;
  table<frame_record> records_;
  frame_id clean_ = no_frame, held_ = no_frame, last_held_ = no_frame;
};

}  // namespace cairn::detail
