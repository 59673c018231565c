// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file process_bytes.hpp  The memory of this process, as Linux reports it.
#include <cstdint>
#include <fstream>
#include <string>

namespace cairn::detail {

/// Resident bytes of this process: now, and the most so far. Both are 0 on systems other than Linux.
struct process_bytes {
  std::int64_t resident = 0, peak = 0;
};
/// Cost: some 20 microseconds.
[[nodiscard]] inline process_bytes process_bytes_now() {
  process_bytes found;
  std::ifstream status{"/proc/self/status"};
  for (std::string word; found.resident == 0 && status >> word;) {  // the file has the peak before the current bytes
    if (word == "VmHWM:") status >> found.peak;
    else if (word == "VmRSS:") status >> found.resident;
  }
  return {1024 * found.resident, 1024 * found.peak};
}

}  // namespace cairn::detail
