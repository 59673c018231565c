#pragma once
/// \file lanes.hpp  The three streams of a sweep, and what each of them is known to wait for.
#include <cstddef>
#include <cstdint>
#include <cairn/adapt/cuda/owned_event.hpp>
#include <cairn/adapt/cuda/owned_stream.hpp>
#include <cairn/adapt/cuda/runtime.hpp>

namespace cairn::detail {

/// What a stream of a sweep is for: the user's steps, copies to the host, copies to the device.
enum class lane : std::uint8_t { compute, down, up };
inline constexpr std::size_t lane_count = 3;

/// How much of each lane is known to be done before what is put next.
struct lane_clock {
  std::uint64_t of[lane_count] = {};
  [[nodiscard]] std::uint64_t& operator[](lane where) noexcept { return of[std::size_t(where)]; }
  [[nodiscard]] std::uint64_t operator[](lane where) const noexcept { return of[std::size_t(where)]; }
  void join(lane_clock const& other) noexcept {
    for (std::size_t k = 0; k < lane_count; ++k)
      if (other.of[k] > of[k]) of[k] = other.of[k];
  }
};

/// A place in a lane that others can wait for.
template <device_runtime R>
struct lane_stamp {
  explicit lane_stamp(R& runtime) : event{runtime} {}

  owned_event<R> event;
  lane where = lane::compute;
  lane_clock behind;  // what is done when this is reached

  [[nodiscard]] std::uint64_t number() const noexcept { return behind[where]; }
};

/// The user's stream and two more. Every order that a sweep needs between them is asked for by `after`; what follows
/// from earlier waits is not waited for again, so that each wait that is made is needed.
template <device_runtime R>
class lanes {
 public:
  using stream = typename R::stream;
  using stamp = lane_stamp<R>;

  /// \throws device_error
  lanes(R& runtime, stream compute)
      : runtime_{&runtime}, compute_{compute}, down_{runtime}, up_{runtime}, fork_{runtime} {}

  [[nodiscard]] R& runtime() const noexcept { return *runtime_; }
  [[nodiscard]] stream of(lane where) const noexcept {
    return where == lane::compute ? compute_ : where == lane::down ? down_.get() : up_.get();
  }

  /// To be called behind whatever is put into a lane.
  void put(lane where) noexcept { ++clock(where)[where]; }
  /// How much that is so far.
  [[nodiscard]] std::uint64_t put_in(lane where) const noexcept { return clock(where)[where]; }
  /// The stamp stands for all that is in the lane.
  void record(stamp& into, lane where) {
    runtime_->record(into.event.get(), of(where));
    into.where = where;
    into.behind = clock(where);
  }
  [[nodiscard]] bool knows(lane later, stamp const& earlier) const noexcept {
    return knows(later, earlier.where, earlier.number());
  }
  /// Whether `later` is known to come after the first `number` things that were put into `earlier`.
  [[nodiscard]] bool knows(lane later, lane earlier, std::uint64_t number) const noexcept {
    return clock(later)[earlier] >= number;
  }
  /// What is put into `later` from here on runs after the stamp.
  void after(lane later, stamp const& earlier) {
    if (knows(later, earlier)) return;
    runtime_->wait(of(later), earlier.event.get());
    clock(later).join(earlier.behind);
  }
  /// The same for the first `number` things that were put into `earlier`, by one event: recorded now, where the last
  /// one is not late enough.
  void after(lane later, lane earlier, std::uint64_t number) {
    if (knows(later, earlier, number)) return;
    if (fork_.where != earlier || fork_.number() < number) record(fork_, earlier);
    after(later, fork_);
  }
  /// The same for all that is in `earlier` now.
  void after_all(lane later, lane earlier) { after(later, earlier, put_in(earlier)); }

  /// The host waits for all three, whatever goes wrong on the way: behind this, memory can be freed.
  void settle() noexcept {
    try {
      runtime_->sync(compute_);
    } catch (...) {  // the device's context is lost: nothing runs any more
    }
    down_.drain();
    up_.drain();
    for (auto& mine : clocks_)
      for (std::size_t k = 0; k < lane_count; ++k) mine.of[k] = clocks_[k].of[k];
  }

 private:
  [[nodiscard]] lane_clock& clock(lane where) noexcept { return clocks_[std::size_t(where)]; }
  [[nodiscard]] lane_clock const& clock(lane where) const noexcept { return clocks_[std::size_t(where)]; }

  R* runtime_;
  stream compute_;
  owned_stream<R> down_, up_;
  stamp fork_;
  lane_clock clocks_[lane_count];
};

}  // namespace cairn::detail
