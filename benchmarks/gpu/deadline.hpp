// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long a part of the measurements may take, and how often something is measured in what is left.
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gpu {

/// How often to run: not at all where `samples` is 0.
struct repeats {
  int warm_ups = 2, samples = 5;
  [[nodiscard]] int runs() const noexcept { return warm_ups + samples; }
};

/// Thrown out of a sweep that is still running when the time is up. No std::exception, so that nobody takes it for a
/// failure.
struct time_is_up {};

/// By the clock of a machine: a dry run has one of its own.
class deadline {
 public:
  /// \param clock  seconds since any moment
  deadline(double seconds, std::function<double()> clock) : clock_{std::move(clock)}, end_{clock_() + seconds} {}

  [[nodiscard]] double left() const { return end_ - clock_(); }
  /// \throws time_is_up
  void check() const { if (left() < 0) throw time_is_up{}; }
  /// Two runs to warm up and five measured; of what takes seconds three, or one; none where the time does not suffice
  /// for that.
  /// \param once  seconds of a run   \param beside  seconds that are needed before the first, e.g. to pin memory
  [[nodiscard]] repeats repeats_of(double once, double beside = 0) const {
    for (repeats const r : {repeats{2, 5}, repeats{0, 3}, repeats{0, 1}})
      if ((once < 2 || r.samples < 5) && beside + once * r.runs() <= left()) return r;
    return {0, 0};
  }
  /// What `run` returns each time. Ends early where a further run would not end in time, though one result there is:
  /// where need be, that of the first run, which was to warm up.
  /// \throws time_is_up   where there is none
  template <class Run>
  [[nodiscard]] std::vector<double> samples(repeats times, Run run) const {
    std::vector<double> all;
    for (int k = 0; k < times.runs(); ++k) {
      double const before = clock_();
      double result = 0;
      try {
        result = run();
      } catch (time_is_up const&) {
        if (all.empty()) throw;
        break;
      }
      bool const last = left() < clock_() - before;
      if (k >= times.warm_ups || last) all.push_back(result);
      if (last) break;
    }
    return all;
  }
  [[nodiscard]] std::string skipped(double needed) const {
    return "skipped: " + rounded(left()) + " s are left, and this takes about " + rounded(needed) + " s";
  }
  [[nodiscard]] static std::string rounded(double seconds) {
    return seconds >= 0 && seconds < 10 ? std::to_string(seconds).substr(0, 4) : std::to_string(std::lround(seconds));
  }

 private:
  std::function<double()> clock_;
  double end_;
};

}  // namespace gpu
