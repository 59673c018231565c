// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_samples.hpp  An observer that records the memory of a sweep, one sample for each action.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/memory_sample.hpp>

namespace cairn {

/// Records when each action of a sweep begins and ends, and the memory it takes. Give it to a verb as observer, by
/// reference: `gradient(step, x0, plan, seed, adjoint, samples)`. `cairn draw` draws the samples beside the curve
/// of the plan.
/// Cost: 24 bytes for each action, and two calls of the meter.
class memory_samples {
 public:
  /// Records `event::bytes_held`, the bytes of all states, before and after each action. States that are held only
  /// within an action, such as the result of a step by value, are not seen.
  memory_samples() = default;
  /// Records bytes that the caller measures.
  /// \param meter  called before and after each action; returns the most bytes that were held at once since its last
  ///   call, or, if that is unknown, the bytes that are held now
  explicit memory_samples(std::function<std::int64_t()> meter) : meter_{std::move(meter)} {}

  /// Called by the sweep.
  void operator()(event const& seen) {
    if (seen.what().kind == action_kind::done) return;
    std::int64_t const now = seen.now();
    if (started_ < 0) {
      started_ = now;
      if (meter_) (void)meter_();  // discarded: it counts bytes held before this sweep
    }
    std::int64_t const bytes = meter_ ? meter_() : std::int64_t(seen.bytes_held());
    if (seen.moment() == moment::before) {
      begun_ = now;
      before_ = bytes;
    } else {
      samples_.push_back({begun_ - started_, now - started_, (std::max)(before_, bytes)});
    }
  }
  /// Reserves memory for this many samples, so that a meter of the heap does not see them grow.
  void reserve(std::size_t actions) { samples_.reserve(actions); }
  /// One sample for each action that has ended, in their order; none for `done`.
  [[nodiscard]] std::vector<memory_sample> const& samples() const noexcept { return samples_; }
  /// Forgets the samples; times of the next sweep count from its start.
  void clear() noexcept {
    samples_.clear();
    started_ = -1;
  }
  /// Nanoseconds of the steady clock.
  [[nodiscard]] static std::int64_t clock_now() {
    auto const since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  }

 private:
  std::function<std::int64_t()> meter_;
  std::vector<memory_sample> samples_;
  std::int64_t started_ = -1, begun_ = 0, before_ = 0;
};

}  // namespace cairn
