// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file state_copies.hpp  Copies a state's runs of bytes: device memory in a stream, host memory immediately.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>
#include <cairn/adapt/cuda/detail/owned_handle.hpp>
#include <cairn/adapt/cuda/owned_stream.hpp>
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// The purpose of a stream: the user's steps, copies to the host, copies to the device.
enum class stream_role : std::uint8_t { compute, to_host, to_device };
inline constexpr std::size_t stream_count = 3;

/// How much of each stream is known to be done before the next work of one stream.
struct stream_clock {
  std::uint64_t of[stream_count] = {};
  [[nodiscard]] std::uint64_t& operator[](stream_role where) noexcept { return of[std::size_t(where)]; }
  [[nodiscard]] std::uint64_t operator[](stream_role where) const noexcept { return of[std::size_t(where)]; }
  void join(stream_clock const& other) noexcept {
    for (std::size_t k = 0; k < stream_count; ++k)
      if (other.of[k] > of[k]) of[k] = other.of[k];
  }
};

/// A position in a stream that others can wait for.
template <device_runtime Runtime>
struct stream_stamp {
  explicit stream_stamp(Runtime& runtime) : event{runtime} {}

  owned_event<Runtime> event;
  stream_role where = stream_role::compute;
  stream_clock behind;  // what is done when this position is reached

  [[nodiscard]] std::uint64_t number() const noexcept { return behind[where]; }
};

/// The user's stream and two more. A sweep requests every order that it needs between them by `after`. An order that
/// follows from earlier waits is not requested again from the runtime, so that each wait is necessary.
template <device_runtime Runtime>
class sweep_streams {
 public:
  using stream = typename Runtime::stream;
  using stamp = stream_stamp<Runtime>;

  /// \throws device_error
  sweep_streams(Runtime& runtime, stream compute)
      : runtime_{&runtime}, compute_{compute}, to_host_{runtime}, to_device_{runtime}, fork_{runtime} {}

  [[nodiscard]] Runtime& runtime() const noexcept { return *runtime_; }
  [[nodiscard]] stream of(stream_role where) const noexcept {
    return where == stream_role::compute ? compute_ : where == stream_role::to_host ? to_host_.get() : to_device_.get();
  }

  /// To be called after each operation is put into a stream.
  void put(stream_role where) noexcept { ++clock(where)[where]; }
  /// The number of operations so far.
  [[nodiscard]] std::uint64_t put_in(stream_role where) const noexcept { return clock(where)[where]; }
  /// Records the stamp at the present end of the stream.
  void record(stamp& into, stream_role where) {
    runtime_->record(into.event.get(), of(where));
    into.where = where;
    into.behind = clock(where);
  }
  [[nodiscard]] bool knows(stream_role later, stamp const& earlier) const noexcept {
    return knows(later, earlier.where, earlier.number());
  }
  /// Whether `later` is known to run after the first `number` operations of `earlier`.
  [[nodiscard]] bool knows(stream_role later, stream_role earlier, std::uint64_t number) const noexcept {
    return clock(later)[earlier] >= number;
  }
  /// Everything put into `later` from here on runs after the stamp.
  void after(stream_role later, stamp const& earlier) {
    if (knows(later, earlier)) return;
    runtime_->wait(of(later), earlier.event.get());
    clock(later).join(earlier.behind);
  }
  /// The same for the first `number` operations of `earlier`, by one event, which is recorded now if the last one is
  /// not late enough.
  void after(stream_role later, stream_role earlier, std::uint64_t number) {
    if (knows(later, earlier, number)) return;
    if (fork_.where != earlier || fork_.number() < number) record(fork_, earlier);
    after(later, fork_);
  }
  /// The same for all present operations of `earlier`.
  void after_all(stream_role later, stream_role earlier) { after(later, earlier, put_in(earlier)); }

  /// The host waits for all three streams, whatever errors occur: after this, memory can be freed.
  void settle() noexcept {
    drain(*runtime_, compute_);
    to_host_.drain();
    to_device_.drain();
    for (auto& mine : clocks_)
      for (std::size_t k = 0; k < stream_count; ++k) mine.of[k] = clocks_[k].of[k];
  }

 private:
  [[nodiscard]] stream_clock& clock(stream_role where) noexcept { return clocks_[std::size_t(where)]; }
  [[nodiscard]] stream_clock const& clock(stream_role where) const noexcept { return clocks_[std::size_t(where)]; }

  Runtime* runtime_;
  stream compute_;
  owned_stream<Runtime> to_host_, to_device_;
  stamp fork_;
  stream_clock clocks_[stream_count];
};

/// Where a state's runs are placed in memory that holds a copy of it: runs of device memory at multiples of 64 bytes;
/// runs of host memory separately.
class state_layout {
 public:
  struct run {
    std::size_t bytes = 0, offset = 0;
    bool on_device = false;
  };

  template <class State>
  explicit state_layout(State const& like) {
    each_raw(like, [this](void const*, std::size_t bytes, bool on_device) {
      std::size_t& end = on_device ? device_bytes_ : host_bytes_;
      if (on_device) end = (end + alignment - 1) / alignment * alignment;
      runs_.push_back({bytes, end, on_device});
      end += bytes;
    }, structure_);
  }

  [[nodiscard]] std::size_t device_bytes() const noexcept { return device_bytes_; }
  [[nodiscard]] std::size_t host_bytes() const noexcept { return host_bytes_; }
  [[nodiscard]] std::vector<run> const& runs() const noexcept { return runs_; }
  /// Distance between consecutive copies.
  [[nodiscard]] std::size_t stride() const noexcept { return (device_bytes_ + alignment - 1) / alignment * alignment; }

  /// Calls f(address, run) for each run of a state, as void const* if it is const.   \throws invalid_call   if its runs
  /// differ from these
  template <class State, class Fn>
  void each(State& x, Fn f) const {
    std::size_t k = 0;
    state_hash structure;
    auto const refuse = [&](std::size_t bytes) {
      throw invalid_call{
          "cairn::device_sweep",
          "a state has different buffers from the first frame",
          {{"buffer", k}, {"bytes", bytes}, {"bytes of the first frame's", k < runs_.size() ? runs_[k].bytes : 0}},
          "make all frames alike, and let no step change the sizes of what a state holds"};
    };
    each_raw(x, [&](auto* address, std::size_t bytes, bool on_device) {
      if (k == runs_.size() || runs_[k].bytes != bytes || runs_[k].on_device != on_device) refuse(bytes);
      f(address, runs_[k++]);
    }, structure);
    if (k != runs_.size() || structure.value() != structure_.value()) refuse(0);  // such as {{"a"}, {}} for {{}, {"a"}}
  }

 private:
  static constexpr std::size_t alignment = 64;

  template <class State, class Fn>
  static void each_raw(State& x, Fn f, state_hash& into) {
    using address = std::conditional_t<std::is_const_v<State>, void const, void>;
    struct visitor {
      Fn& f;
      state_hash& into;
      void structure(std::uint64_t count) { into.structure(count); }
      void operator()(device_pointer<address> at, std::size_t bytes) { f(at.get(), bytes, true); }
      void operator()(address* at, std::size_t bytes) { f(at, bytes, false); }
    };
    visit_buffers(x, visitor{f, into});
  }

  std::vector<run> runs_;
  state_hash structure_;  // lengths and what optionals hold, where no run shows them
  std::size_t device_bytes_ = 0, host_bytes_ = 0;
};

/// Copies states from frame to frame.
template <device_runtime Runtime, class State>
class state_copier {
 public:
  explicit state_copier(state_layout layout)
      : layout_{static_cast<state_layout&&>(layout)}, source_(layout_.runs().size()), host_(layout_.host_bytes()) {}

  [[nodiscard]] state_layout const& layout() const noexcept { return layout_; }

  /// `to` becomes a copy of `from`: device memory in the stream, the rest immediately.
  void copy(Runtime& runtime, State const& from, State& to, typename Runtime::stream stream) {
    std::size_t k = 0;
    layout_.each(from, [&](void const* at, state_layout::run const& run) {
      source_[k++] = at;
      if (!run.on_device && run.bytes > 0) std::memcpy(host_.data() + run.offset, at, run.bytes);
    });
    k = 0;
    layout_.each(to, [&](void* at, state_layout::run const& run) {
      void const* const source = source_[k++];
      if (run.bytes == 0) return;
      if (run.on_device) runtime.copy(at, source, run.bytes, copy_kind::device_to_device, stream);
      else std::memcpy(at, host_.data() + run.offset, run.bytes);
    });
  }

 private:
  state_layout layout_;
  std::vector<void const*> source_;
  std::vector<unsigned char> host_;
};

}  // namespace cairn::detail
