#pragma once
/// \file memory_source.hpp  Where a profiler asks how many bytes the program holds.
#include <cstdint>
#include <functional>

namespace cairn {

/// What an allocator that counts, the operating system or a device says of the memory of the program. With one, a
/// profiler sees what operations take while they run; without, only what they declare.
struct memory_source {
  std::function<std::int64_t()> held = {};  ///< bytes held now
  std::function<std::int64_t()> peak = {};  ///< most bytes held at once since `reset_peak`
  std::function<void()> reset_peak = {};    ///< the peak is what is held now

  /// Whether all three are given.
  [[nodiscard]] explicit operator bool() const noexcept { return held && peak && reset_peak; }
};

}  // namespace cairn
