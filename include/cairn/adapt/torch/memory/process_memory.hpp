// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file process_memory.hpp  How much of the machine's memory the whole process uses.
#include <cstdint>
#include <cairn/core/error.hpp>
#include <cairn/profile/detail/process_bytes.hpp>

namespace cairn::libtorch {

/// Bytes of this process in the machine's memory: tensors, graph nodes, and what allocators keep.
struct ProcessMemory {
  std::uint64_t resident = 0;  ///< now
  std::uint64_t peak = 0;  ///< the most since the process started
};

/// Reads both numbers from Linux; about 20 microseconds.   \throws device_error  on other systems
[[nodiscard]] inline ProcessMemory process_memory() {
  auto const found = cairn::detail::process_bytes_now();
  if (found.resident == 0)
    throw device_error{"cairn::libtorch::process_memory",
                       "this system does not report how much memory a process takes",
                       {},
                       "count tensors with byte_meter"};
  return {std::uint64_t(found.resident), std::uint64_t(found.peak)};
}

}  // namespace cairn::libtorch
