// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_stats.hpp  Counts and measurements of a loop over tensors.
#include <cstdint>
#include <cstdio>
#include <string>
#include <cairn/core/bytes.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::libtorch {

/// What a loop has done and taken so far. Counts, bytes copied and seconds are sums over forward and all backwards; the
/// other members are maxima over them. Measured only for a loop with `LoopOptions::stats`. Cost: a table look-up
/// for each allocation, and reading the resident memory, about 20 microseconds, before and after and for at most 1 % of
/// the time between.
struct StepStats {
  std::int64_t forward = 0;  ///< steps run forward, = T
  std::int64_t recompute = 0;  ///< steps run again without a tape, to get from a checkpoint to a block
  std::int64_t vjp = 0;  ///< steps run again with a tape and differentiated, T in each backward
  std::int64_t slots_peak = 0;  ///< most states kept at once
  /// The most bytes of tensors in these states; a tensor that several states share counts in each.
  std::int64_t bytes_peak = 0;
  std::int64_t engine_calls = 0;  ///< calls of the autograd engine, one for each block
  /// The most bytes at once of tensors that the loop has made, on the device of the state: kept states, tapes,
  /// temporary tensors of steps, gradients; the last state and the outputs of a scan as long as the caller holds them.
  /// The sum of `LoopEstimate::peak_bytes` and `caller_bytes` is an upper bound. The loop's arguments are not counted:
  /// the initial state, inputs, captured tensors, and the gradients with which backward begins.
  std::int64_t tensor_bytes = 0;
  /// Forwards and backwards that `tensor_bytes` does not include, because a profiler of LibTorch was on.
  std::int64_t uncounted = 0;
  /// How far the resident memory of the process rose, for whatever reason; a backward includes what its forward left.
  /// Exact if it was the most that the process ever had, otherwise the maximum of some samples, one of them at the
  /// first block, with its tapes. 0 on systems other than Linux.
  std::int64_t resident_bytes = 0;
  std::int64_t offload_bytes = 0;  ///< bytes of kept states, copied to pinned memory and back
  /// The caller's time; a device may still be working. Does not include measuring for a memory limit.
  double forward_seconds = 0;
  double backward_seconds = 0;  ///< the same, for all backwards

  /// A human-readable table, one line per number.
  [[nodiscard]] std::string table() const;
};

namespace detail {

/// The lines of a table of measured numbers and, if given, of expected ones beside them.
class stats_table {
 public:
  stats_table(StepStats const& ran, StepStats const* expected) : ran_{ran}, expected_{expected} {
    add("", "ran", "expected");
    count("steps forward", &StepStats::forward);
    count("steps again", &StepStats::recompute);
    count("steps differentiated", &StepStats::vjp);
    count("calls of the engine", &StepStats::engine_calls);
    count("states kept", &StepStats::slots_peak);
    add("bytes in them", bytes(ran.bytes_peak), "-");
    bool const counted = ran.tensor_bytes > 0 || ran.uncounted == 0;
    add("bytes of tensors", counted ? bytes(ran.tensor_bytes) : "not counted",
        expected_ ? bytes(expected_->tensor_bytes) : "-");
    if (counted && ran.uncounted > 0) add("  not counted in", std::to_string(ran.uncounted), "-");
    add("resident memory", bytes(ran.resident_bytes), "-");
    add("bytes offloaded", bytes(ran.offload_bytes), "-");
    seconds("seconds forward", &StepStats::forward_seconds);
    seconds("seconds backward", &StepStats::backward_seconds);
  }
  [[nodiscard]] std::string const& text() const noexcept { return text_; }

 private:
  [[nodiscard]] static std::string bytes(std::int64_t number) { return to_short_text(wide(number)).c_str(); }
  [[nodiscard]] static std::string seconds(double number) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.3g", number);
    return digits;
  }
  void count(char const* name, std::int64_t StepStats::*what) {
    add(name, std::to_string(ran_.*what), expected_ ? std::to_string(expected_->*what) : "-");
  }
  void seconds(char const* name, double StepStats::*what) {
    add(name, seconds(ran_.*what), expected_ ? seconds(expected_->*what) : "-");
  }
  void add(char const* name, std::string const& ran, std::string const& expected) {
    char line[128];
    std::snprintf(line, sizeof line, "%-22s%12s", name, ran.c_str());
    text_ += line;
    if (expected_) {
      std::snprintf(line, sizeof line, "%12s", expected.c_str());
      text_ += line;
    }
    text_ += '\n';
  }

  StepStats const& ran_;
  StepStats const* expected_;
  std::string text_;
};

}  // namespace detail

inline std::string StepStats::table() const { return detail::stats_table{*this, nullptr}.text(); }

}  // namespace cairn::libtorch
