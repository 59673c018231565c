#pragma once
/// \file process_memory.hpp  What the whole process takes of the machine's memory, beside what its tensors say.
#include <cstdint>
#include <cairn/adapt/torch/free_memory.hpp>
#include <cairn/core/error.hpp>

namespace cairn {

/// Bytes of this process in the machine's memory. Tensors are a part of them: graph nodes and what allocators keep are others.
struct ProcessMemory {
  std::uint64_t resident = 0;  ///< now
  std::uint64_t peak = 0;  ///< the most since the process began
};

/// Reads both from Linux; some ten microseconds.   \throws device_error  on another system
[[nodiscard]] inline ProcessMemory process_memory() {
  constexpr char const* file = "/proc/self/status";
  ProcessMemory const found{1024 * detail::number_behind(file, "VmRSS:"), 1024 * detail::number_behind(file, "VmHWM:")};
  if (found.resident == 0)
    throw device_error{"cairn::process_memory", "this system does not tell how much memory a process takes", {}, "count tensors with byte_meter"};
  return found;
}

}  // namespace cairn
