// SPDX-License-Identifier: Apache-2.0
#pragma once
// A machine without a GPU that does all the work at once, and keeps the time that a device would take on a clock of its
// own: a trial of the measurements whose results are known.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/action.hpp>
#include "pinned_cache.hpp"
#include "rods.hpp"

namespace gpu {

/// Bytes a second, seconds, and bytes in all. The states of a dry run are small and its loops short: so slow a device
/// takes as long for each row as a real one.
struct dry_rates {
  static constexpr double slower = 250e3;
  double memory = 3.0e12 / slower, link = 55e9 / slower, pinning = 20e3, launch = 0.5e-3;
  std::size_t device_bytes = std::size_t{24} << 20, host_bytes = std::size_t{8} << 20;
  double late = 1;   ///< times what they are predicted: all but what predictions are made from
  double began = 0;  ///< what the clock says at first
  bool spoils = false;  ///< a bit of all that comes back from the host
  std::size_t most_pinned = std::size_t(-1);  ///< at once, though more is said to be available

  /// As fast as a real device, for what is small there, too.
  void hurry() {
    for (double* const rate : {&memory, &link, &pinning}) *rate *= slower;
    launch /= slower;
  }
};

/// Streams and events are numbers, whose times are kept in seconds. The host has a time, too: it goes on where the host
/// waits.
class dry_runtime {
 public:
  using stream = std::size_t;
  using event = int;

  explicit dry_runtime(dry_rates const& rates) : rates_{rates}, free_{rates.device_bytes}, late_{rates.late} {}

  void spend(stream in, double seconds) {
    streams_.at(in) = std::max(streams_.at(in), host_) + late_ * seconds;
    latest_ = std::max(latest_, streams_[in]);
  }
  /// Kernels in a stream take at least the time to launch them; those in a graph do not.
  void launch(stream in, double seconds) { spend(in, in_graph_ ? seconds : std::max(seconds, rates_.launch)); }
  /// Runs `put`, punctually or in a graph.
  template <class Put>
  void punctually(Put const& put) {
    late_ = 1;
    put();
    late_ = rates_.late;
  }
  template <class Put>
  void from_graph(Put const& put) {
    in_graph_ = true;
    put();
    in_graph_ = false;
  }
  /// When all that was asked for is done: the host is hardly ahead of it.
  [[nodiscard]] double latest() const { return rates_.began + std::max(latest_, host_); }
  [[nodiscard]] double now(stream in) const { return std::max(streams_.at(in), host_); }

  [[nodiscard]] void* device_alloc(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    if (bytes > free_) throw std::bad_alloc{};
    auto* const at = static_cast<unsigned char*>(taken(bytes));
    free_ -= bytes;
    sizes_.emplace_back(at, bytes);
    return at;
  }
  void device_free(void* at) noexcept {
    std::erase_if(sizes_, [&](auto const& one) {
      if (one.first != at) return false;
      free_ += one.second;
      return true;
    });
    pinned_free(at);
  }
  [[nodiscard]] void* pinned_alloc(std::size_t bytes) {
    if (bytes > rates_.most_pinned) throw std::bad_alloc{};
    if (bytes > rod_bytes) host_ += late_ * double(bytes) / rates_.pinning;
    return taken(bytes);
  }
  void pinned_free(void* at) noexcept { ::operator delete(at, std::align_val_t{256}); }
  [[nodiscard]] stream make_stream() {
    streams_.push_back(host_);
    return streams_.size() - 1;
  }
  void destroy(stream) noexcept {}
  [[nodiscard]] event make_event() {
    events_.push_back(0);
    return int(events_.size()) - 1;
  }
  void destroy(event) noexcept {}
  void record(event at, stream in) { events_.at(std::size_t(at)) = now(in); }
  void wait(stream in, event until) { streams_.at(in) = std::max(streams_.at(in), events_.at(std::size_t(until))); }
  void sync(event until) { host_ = std::max(host_, events_.at(std::size_t(until))); }
  void sync(stream all_of) { host_ = now(all_of); }
  [[nodiscard]] bool done(event which) const { return events_.at(std::size_t(which)) <= host_; }
  void copy(void* to, void const* from, std::size_t bytes, cairn::copy_kind kind, stream in) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    if (bytes > 0 && rates_.spoils && kind == cairn::copy_kind::host_to_device)
      static_cast<unsigned char*>(to)[2] ^= 1;  // not one that rounding hides
    spend(in,
          kind == cairn::copy_kind::device_to_device ? 2 * double(bytes) / rates_.memory : double(bytes) / rates_.link);
  }
  [[nodiscard]] std::size_t free_bytes() const noexcept { return free_; }
  [[nodiscard]] int device() const noexcept { return 0; }

 private:
  static constexpr std::size_t rod_bytes = rod * sizeof(float);
  [[nodiscard]] static void* taken(std::size_t bytes) {
    return bytes == 0 ? nullptr : ::operator new (bytes, std::align_val_t{256});
  }

  dry_rates rates_;
  std::size_t free_;
  double late_, latest_ = 0;
  bool in_graph_ = false;
  std::vector<std::pair<void*, std::size_t>> sizes_;
  std::vector<double> streams_, events_;
  double host_ = 0;
};

/// The machine of a dry run; see `cuda_machine`.
class dry_machine {
 public:
  using runtime = pinned_cache<dry_runtime>;
  using stream = dry_runtime::stream;

  explicit dry_machine(dry_rates const& rates) : rates_{rates}, runtime_{rates}, compute_{runtime_.make_stream()} {}

  [[nodiscard]] runtime& device() noexcept { return runtime_; }
  [[nodiscard]] stream compute() const noexcept { return compute_; }
  [[nodiscard]] static std::string name() { return "dry run"; }
  [[nodiscard]] static std::string driver() { return "none"; }
  [[nodiscard]] static std::string toolkit() { return "none"; }
  [[nodiscard]] static int copy_engines() { return 2; }
  [[nodiscard]] std::size_t host_bytes() const { return rates_.host_bytes; }
  [[nodiscard]] double now() const { return runtime_.latest(); }
  static constexpr double slower = dry_rates::slower;
  static constexpr std::size_t rods_compared = 2;
  static constexpr double graphs_below = 2 * dry_rates{}.launch;
  [[nodiscard]] static unsigned pinning_threads() { return 2; }
  [[nodiscard]] double seconds_to_pin(std::size_t bytes, unsigned) {
    double const before = now();
    runtime_.pinned_free(runtime_.pinned_alloc(bytes));
    return now() - before;
  }

  void fill(float* x, std::size_t count, stream in) {
    for (std::size_t k = 0; k < count; ++k) x[k] = noise(k);
    run(in, count, 1);
  }
  void poison(float* x, std::size_t count, stream in) {
    if (count > 0) std::memset(x, 0xff, count * sizeof(float));
    run(in, count, 1);
  }
  void step(float const* x, float* x1, std::size_t count, cairn::step_index i, stream in) {
    each_rod(x, x1, count, [i](float left, float at, float right, float) { return stepped(left, at, right, i); });
    run(in, count, 2);
  }
  void seed(float const* x, float* bar, std::size_t count, stream in) {
    if (count > 0) std::memcpy(bar, x, count * sizeof(float));
    run(in, count, 2);
  }
  void adjoint(float const* x, float* bar, std::size_t count, cairn::step_index i, stream in) {
    std::size_t k = 0;
    each_rod(bar, bar, count,
             [&](float left, float at, float right, float) { return pulled_back(left, at, right, x[k++], i); });
    run(in, count, 3);
  }
  void empty(stream in) { runtime_.launch(in, 0); }
  [[nodiscard]] std::uint64_t digest(float const* x, std::size_t count) {
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += digest_of(x[k], k);
    return sum;
  }

  /// Seconds of what `put` puts into the stream.
  template <class Put>
  [[nodiscard]] double timed(Put put) {
    runtime_.sync(compute_);
    double const before = runtime_.now(compute_);
    put();
    runtime_.sync(compute_);
    return runtime_.now(compute_) - before;
  }
  /// The same, in the time that it should take.
  template <class Put>
  [[nodiscard]] double timed_alone(Put const& put) {
    double seconds = 0;
    runtime_.punctually([&] { seconds = timed(put); });
    return seconds;
  }
  /// What can be put into a stream again and again. `put` must live as long.
  template <class Put>
  [[nodiscard]] std::function<void()> captured(Put const& put) {
    return [this, &put] { runtime_.from_graph(put); };
  }

 private:
  void run(stream in, std::size_t count, int passes) {
    runtime_.launch(in, double(passes) * double(count * sizeof(float)) / rates_.memory);
  }
  template <class F>
  static void each_rod(float const* from, float* to, std::size_t count, F f) {
    for (std::size_t begin = 0; begin < count; begin += rod) {
      float was[rod];
      std::memcpy(was, from + begin, sizeof was);
      for (std::size_t k = 0; k < rod; ++k) to[begin + k] = f(was[(k + rod - 1) % rod], was[k], was[(k + 1) % rod], 0);
    }
  }

  dry_rates rates_;
  runtime runtime_;
  stream compute_;
};

}  // namespace gpu
