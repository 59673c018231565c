// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep_streams.hpp  The three streams of a sweep, and what each is known to have waited for.
#include <cstddef>
#include <cstdint>
#include <cairn/adapt/cuda/detail/owned_handle.hpp>
#include <cairn/adapt/cuda/owned_stream.hpp>
#include <cairn/adapt/cuda/runtime.hpp>

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

}  // namespace cairn::detail
