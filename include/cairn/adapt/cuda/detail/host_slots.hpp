// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file host_slots.hpp  Pinned host memory for states of a device, pinned once.
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/cuda/detail/state_copies.hpp>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// Slots to which states are copied, and from which they are copied back, on streams of their own. Each takes the bytes
/// of the state's runs in device memory; only the beginning of a run is aligned. Many small slots share an allocation.
template <device_runtime Runtime, class State>
class host_slots {
 public:
  using stamp = stream_stamp<Runtime>;

  /// \param or_fewer  whether fewer than `count` slots are acceptable, even none
  /// \throws out_of_memory   with the number of slots that could be pinned   \throws device_error
  host_slots(Runtime& runtime, slot_index count, bool or_fewer, state_layout const& layout) : layout_{layout} {
    std::size_t const size = layout_.device_bytes(), stride = layout_.stride();
    slot_index const together = stride == 0 ? count : slot_index(1 + shared_bytes / stride);
    slots_.reserve(std::size_t(count));
    while (this->count() < count) {
      slot_index const left = count - this->count(), now = left < together ? left : together;
      if (!pin(runtime, std::size_t(now - 1) * stride + size)) {
        if (or_fewer) break;
        throw out_of_memory{"cairn::device_sweep",
                            "not all host slots could be pinned",
                            {{"slots", count}, {"pinned", this->count()}, {"bytes a slot", size}},
                            "give fewer host slots, or say capacity_up_to{capacity} to take what there is"};
      }
      for (slot_index k = 0; k < now; ++k)
        slots_.push_back({static_cast<unsigned char*>(memory_.back().data()) + std::size_t(k) * stride, stamp{runtime},
                          stamp{runtime}});
    }
    host_parts_.resize(slots_.size() * layout_.host_bytes());
    free_.resize(slots_.size());
    free_all();
  }

  [[nodiscard]] slot_index count() const noexcept { return slot_index(slots_.size()); }
  /// Of a slot, beside its pinned memory.
  [[nodiscard]] wide noted_bytes() const noexcept {
    return sizeof(slot_record) + sizeof(slot_index) + layout_.host_bytes();
  }
  void free_all() noexcept {
    free_count_ = count();
    first_free_ = 0;
    for (slot_index k = 0; k < count(); ++k) free_[std::size_t(k)] = k;
  }
  /// The slot that was freed first: of all free slots, its copy to the device is done first.   \pre one is free
  [[nodiscard]] slot_index take() noexcept {
    slot_index const slot = free_[std::size_t(first_free_)];
    first_free_ = first_free_ + 1 == count() ? 0 : first_free_ + 1;
    --free_count_;
    return slot;
  }
  void give_back(slot_index slot) noexcept {
    free_[std::size_t((first_free_ + free_count_) % count())] = slot;
    ++free_count_;
  }

  /// Copies a state from a frame. `to_host` must already be ordered after the work that filled the frame. Until the
  /// returned stamp the frame may be read, but not written.
  stamp const& save(slot_index slot, State const& x, sweep_streams<Runtime>& streams) {
    auto& mine = slots_[std::size_t(slot)];
    streams.after(stream_role::to_host, mine.loaded);  // nothing to wait for if compute has already waited for the load
    unsigned char* const host_part = part(slot);
    copy_runs(x, mine.bytes, stream_role::to_host, streams, [&](void const* at, state_layout::run const& run) {
      std::memcpy(host_part + run.offset, at, run.bytes);
    });
    streams.record(mine.stored, stream_role::to_host);
    return mine.stored;
  }
  /// Shows a state that `compute` has made: calls visit(run, bytes) with each run copied to host memory, in this slot.
  /// The host waits.
  template <class Visit>
  void visit_bytes(slot_index slot, State const& x, sweep_streams<Runtime>& streams, Visit&& visit) {
    unsigned char* const bytes = slots_[std::size_t(slot)].bytes;
    copy_runs(x, bytes, stream_role::compute, streams, [](void const*, state_layout::run const&) {});
    streams.runtime().sync(streams.of(stream_role::compute));
    layout_.each(x, [&](void const* at, state_layout::run const& run) {
      visit(run.on_device ? bytes + run.offset : at, run.bytes);
    });
  }
  /// Fills a state with zeros on `compute`, through the memory of a scratch slot, which holds no state.
  /// \param blank  whether the slot still contains zeros from the last call; true afterwards
  void fill(slot_index slot, State& x, sweep_streams<Runtime>& streams, bool& blank) {
    unsigned char* const zeros = slots_[std::size_t(slot)].bytes;
    if (!std::exchange(blank, true) && layout_.device_bytes() > 0) std::memset(zeros, 0, layout_.device_bytes());
    copy_runs(x, zeros, stream_role::compute, streams,
              [](void* at, state_layout::run const& run) { std::memset(at, 0, run.bytes); });
  }
  /// The stamp after which the slot holds the state.
  [[nodiscard]] stamp const& stored(slot_index slot) const noexcept { return slots_[std::size_t(slot)].stored; }
  /// Copies a state into a frame. `to_device` must already be ordered after the work that used the frame and after
  /// `stored(slot)`. The frame may be used after the returned stamp.
  stamp const& load(slot_index slot, State& into, sweep_streams<Runtime>& streams) {
    auto& mine = slots_[std::size_t(slot)];
    unsigned char const* const host_part = part(slot);
    copy_runs(into, mine.bytes, stream_role::to_device, streams, [&](void* at, state_layout::run const& run) {
      std::memcpy(at, host_part + run.offset, run.bytes);
    });
    streams.record(mine.loaded, stream_role::to_device);
    return mine.loaded;
  }

 private:
  static constexpr std::size_t shared_bytes = std::size_t{64} << 20;

  struct slot_record {
    unsigned char* bytes;
    stamp stored, loaded;
  };
  /// Puts copies of the runs on the device into a stream: from a const state to `pinned`, into another state from
  /// `pinned`. The runs on the host, unless empty, are given to `on_host`.
  template <class Input, class OnHost>
  void copy_runs(Input& x, unsigned char* pinned, stream_role by, sweep_streams<Runtime>& streams,
                 OnHost const& on_host) {
    layout_.each(x, [&](auto* at, state_layout::run const& run) {
      if (run.bytes == 0) return;
      if (!run.on_device) return on_host(at, run);
      auto* const there = pinned + run.offset;
      if constexpr (std::is_const_v<Input>)
        streams.runtime().copy(there, at, run.bytes, copy_kind::device_to_host, streams.of(by));
      else streams.runtime().copy(at, there, run.bytes, copy_kind::host_to_device, streams.of(by));
    });
    streams.put(by);
  }
  [[nodiscard]] unsigned char* part(slot_index slot) noexcept {
    return host_parts_.data() + std::size_t(slot) * layout_.host_bytes();
  }
  /// Returns false if there is not enough memory.
  [[nodiscard]] bool pin(Runtime& runtime, std::size_t bytes) {
    try {
      memory_.push_back({runtime, bytes});
      return true;
    } catch (out_of_memory const&) {
      return false;
    }
  }

  state_layout layout_;
  std::vector<pinned_buffer<Runtime>> memory_;
  std::vector<slot_record> slots_;
  std::vector<unsigned char> host_parts_;
  std::vector<slot_index> free_;
  slot_index free_count_ = 0, first_free_ = 0;
};

}  // namespace cairn::detail
