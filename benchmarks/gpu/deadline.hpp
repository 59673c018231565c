// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long a part of the measurements may take, and how often something is measured in what is left.
#include <chrono>
#include <string>

namespace gpu {

/// How often to run: not at all where `samples` is 0.
struct repeats {
  int warm_ups = 2, samples = 5;
};

class deadline {
 public:
  explicit deadline(double seconds) : seconds_{seconds} {}

  [[nodiscard]] double left() const {
    return seconds_ - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  /// Two runs to warm up and five measured; of what takes seconds one and three; none where the time does not suffice
  /// for these.
  /// \param once  seconds of a run   \param beside  seconds that are needed before the first, e.g. to pin memory
  [[nodiscard]] repeats repeats_of(double once, double beside = 0) const {
    for (repeats const r : {repeats{2, 5}, repeats{1, 3}})
      if ((once < 2 || r.samples == 3) && beside + once * (r.warm_ups + r.samples) <= left()) return r;
    return {0, 0};
  }
  [[nodiscard]] std::string skipped(double once) const {
    return "skipped: " + std::to_string(int(left())) + " s are left, and one run takes about " + std::to_string(once) +
           " s";
  }

 private:
  double seconds_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace gpu
