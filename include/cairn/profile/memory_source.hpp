// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_source.hpp  Where a profiler asks how many bytes the program holds.
#include <cstdint>
#include <fstream>
#include <functional>
#include <cairn/core/error.hpp>
#include <cairn/profile/detail/process_bytes.hpp>

namespace cairn {

/// Asks an allocator that counts, the operating system or a device how many bytes the program holds. With a memory
/// source, a profiler sees what operations take while they run; without one, only what they declare.
struct memory_source {
  std::function<std::int64_t()> held = {};  ///< bytes held now
  std::function<std::int64_t()> peak = {};  ///< most bytes held at once since `reset_peak`
  std::function<void()> reset_peak = {};    ///< sets the peak to the bytes held now

  /// Whether all three are given.
  [[nodiscard]] explicit operator bool() const noexcept { return held && peak && reset_peak; }
};

/// The resident memory of this process as Linux reports it, in whole pages: memory that operations touch, not memory
/// that they ask for. An operation that works in memory that is already resident takes nothing.   Cost: some 20
/// microseconds a call
/// \throws device_error   on other systems
[[nodiscard]] inline memory_source resident_memory_source() {
  if (detail::process_bytes_now().peak == 0)
    throw device_error{"cairn::resident_memory_source",
                       "this system does not report how much memory a process takes",
                       {},
                       "give functions of an allocator that counts"};
  return {[] { return detail::process_bytes_now().resident; }, [] { return detail::process_bytes_now().peak; },
          [] { std::ofstream{"/proc/self/clear_refs"} << "5"; }};
}

}  // namespace cairn
