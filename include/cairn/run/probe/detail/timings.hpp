// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file timings.hpp  Times of calls by a clock that the user names, and how short a call that clock can measure.
#include <cstddef>
#include <cstdint>
#include <cairn/core/detail/compiler.hpp>

namespace cairn::detail {

/// Stands for a clock that was not given.
struct no_clock {};
template <class Clock>
[[nodiscard]] consteval bool check_clock() {
  constexpr bool told = requires { Clock::now(); };
  static_assert(told,
                "cairn: a probe is given its clock, because nothing here reads one by itself: cairn::chain_probe<"
                "std::chrono::steady_clock>(stages, x0, seed), and so probe and graph_probe");
  return told;
}

/// Seconds between two times of a clock whose durations are ratios of seconds.
template <class Time>
[[nodiscard]] constexpr double seconds_between(Time const& begin, Time const& end) {
  auto const passed = end - begin;
  using period = typename decltype(passed)::period;
  double const seconds = double(passed.count()) * double(period::num) / double(period::den);
  return seconds > 0 ? seconds : 0;
}

/// Nanoseconds, rounded.
[[nodiscard]] constexpr std::int64_t nanoseconds(double seconds) noexcept {
  return seconds > 0 ? std::int64_t(seconds * 1e9 + 0.5) : 0;
}

/// The last measurements of one kind, and their median.
class timings {
 public:
  void add(double seconds) noexcept {
    seconds_[count_ % most] = seconds;
    ++count_;
  }
  [[nodiscard]] double median() const noexcept {
    std::size_t const size = lesser(count_, most);
    if (size == 0) return 0;
    double sorted[most];
    for (std::size_t k = 0; k < size; ++k) {
      std::size_t j = k;
      for (; j > 0 && sorted[j - 1] > seconds_[k]; --j) sorted[j] = sorted[j - 1];
      sorted[j] = seconds_[k];
    }
    return size % 2 != 0 ? sorted[size / 2] : (sorted[size / 2 - 1] + sorted[size / 2]) / 2;
  }

 private:
  static constexpr std::size_t most = 64;
  double seconds_[most] = {};
  std::size_t count_ = 0;
};

/// Adds the time of its own lifetime to the measurements.
template <class Clock>
class stopwatch {
 public:
  explicit stopwatch(timings& into) : into_{into}, begin_{Clock::now()} {}
  stopwatch(stopwatch const&) = delete;
  ~stopwatch() { into_.add(seconds_between(begin_, Clock::now())); }

 private:
  timings& into_;
  decltype(Clock::now()) begin_;
};

/// The precision of a clock, as observed.
template <class Clock>
class clock_precision {
 public:
  clock_precision() {
    timings times;
    for (int k = 0; k < 32; ++k) {
      auto const begin = Clock::now();
      double const nothing = seconds_between(begin, Clock::now());
      times.add(nothing);
      saw(nothing);
    }
    reading_ = times.median();
  }
  /// The resolution of a clock is at most the shortest time that it ever showed.
  void saw(double seconds) noexcept {
    if (seconds > 0 && (tick_ == 0 || seconds < tick_)) tick_ = seconds;
  }
  /// Whether a time is so long that the clock's resolution is a small part of it.
  [[nodiscard]] bool tells(double seconds) const noexcept {
    return tick_ > 0 && seconds >= 64 * tick_ && seconds >= 64 * reading_;
  }
  /// A measured time without the time to read the clock.
  [[nodiscard]] double net(double seconds) const noexcept { return seconds - lesser(seconds, reading_); }

 private:
  double reading_ = 0, tick_ = 0;
};

}  // namespace cairn::detail
