// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file system_threads.hpp  What the system says of threads and cores, where C++ does not.
#include <cstdint>
#include <thread>
#if defined(__linux__)
#include <ctime>
#include <pthread.h>
#include <sched.h>

namespace cairn::detail {

/// How many cores the process may use.
[[nodiscard]] inline int allowed_cores() noexcept {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  return int(std::thread::hardware_concurrency());
}
/// A thread's processor time in nanoseconds; -1 where the system does not tell another thread's.
[[nodiscard]] inline std::int64_t processor_ns(std::thread& of) noexcept {
  clockid_t clock{};
  timespec now{};
  if (pthread_getcpuclockid(of.native_handle(), &clock) != 0 || clock_gettime(clock, &now) != 0) return -1;
  return std::int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace cairn::detail
#else

namespace cairn::detail {

[[nodiscard]] inline int allowed_cores() noexcept { return int(std::thread::hardware_concurrency()); }
[[nodiscard]] inline std::int64_t processor_ns(std::thread&) noexcept { return -1; }

}  // namespace cairn::detail
#endif
