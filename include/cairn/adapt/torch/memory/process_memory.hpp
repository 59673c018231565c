// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file process_memory.hpp  The memory of the process: what it takes, the limit of all that is planned in it, and what
/// a device has free for tensors.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <cairn/core/bytes.hpp>
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

namespace detail {

/// The limit of the process; threads may set and read it at the same time.
struct process_limit {
  std::mutex access;
  std::optional<byte_size> bytes;
};
[[nodiscard]] inline process_limit& limit_of_process() {
  static process_limit one;
  return one;
}
inline void set_process_limit(std::optional<byte_size> bytes) {
  std::lock_guard const lock{limit_of_process().access};
  limit_of_process().bytes = bytes;
}

}  // namespace detail

/// From now on, `checkpoint_module`, checkpointed Sequentials and loops stay within this limit, unless
/// they are given a limit, number of segments, block size, checkpoints or schedule of their own. The limit applies to
/// each of them separately, and to calls that begin after it is set.
/// \param limit  "4GB", or a number of bytes   \throws invalid_size, overflow_error
inline void set_memory_limit(byte_size limit) { detail::set_process_limit(limit); }
/// Removes the limit of the process.
inline void clear_memory_limit() { detail::set_process_limit({}); }
/// The limit of the process; empty if none is set.
[[nodiscard]] inline std::optional<byte_size> memory_limit() {
  std::lock_guard const lock{detail::limit_of_process().access};
  return detail::limit_of_process().bytes;
}

namespace detail {

/// The device, with the index of the current one if it has none.   \throws device_error  if LibTorch sees no such
/// device
[[nodiscard]] inline c10::Device available_device(c10::Device device, char const* operation) {
  int count = 0;
  if (c10::impl::hasDeviceGuardImpl(device.type()))
    count = int(c10::impl::VirtualGuardImpl(device.type()).deviceCount());
  if (count == 0 || device.index() >= count)
    throw device_error{operation,
                       "LibTorch sees no such device",
                       {{"index", int(device.index())}, {"devices", count}},
                       "link LibTorch's library for it"};
  return device.has_index() ? device : c10::impl::VirtualGuardImpl(device.type()).getDevice();
}

/// Calls `use` with the allocator for a type of devices. The name `getDeviceAllocator` exists only in LibTorch 2.9 and
/// later, so the type of `type` is a template parameter.
template <class DeviceType, class Use>
void with_device_allocator(DeviceType type, char const* operation, Use use) {
  if constexpr (requires { getDeviceAllocator(type); }) {
    auto* const allocator = getDeviceAllocator(type);
    if (allocator->initialized()) use(*allocator);
  } else {
    throw device_error{operation,
                       "this LibTorch does not report the memory of devices without its CUDA headers",
                       {},
                       "take 2.9 or later"};
  }
}

/// \tparam Kind  of bytes: a list of sums, the first of which is over all pools
[[nodiscard]] std::int64_t sum_of(auto const& kind) { return kind[0].current; }

/// Bytes that LibTorch keeps for later tensors, according to `getDeviceStats`.
[[nodiscard]] std::int64_t cached_bytes(auto const& stats) {
  return sum_of(stats.reserved_bytes) - sum_of(stats.allocated_bytes);
}

/// The first number in a file, or the first one after a word; `none` if there is none.
[[nodiscard]] inline std::uint64_t number_in(char const* file, std::uint64_t none, std::string const& word = {}) {
  std::ifstream text{file};
  std::uint64_t number = 0;
  for (std::string read; read != word;) if (!(text >> read)) return none;
  return text >> number ? number : none;
}

}  // namespace detail

/// Bytes that are free on a device. For the host: what Linux reports as available, or less if a control group allows
/// less. For another device: what its driver reports, plus what LibTorch keeps there for later tensors.
/// \param device  without an index, the current one of its type
/// Cost: three small files of Linux are read, or the driver is queried
/// \throws device_error  if LibTorch sees no such device, or if its memory is unknown: on systems other than Linux, and
///   before LibTorch 2.9 for all except the CPU
[[nodiscard]] inline std::uint64_t free_memory(c10::Device device = c10::Device(c10::kCPU)) {
  constexpr char const* who = "cairn::libtorch::free_memory";
  if (device.is_cpu()) {
    std::uint64_t const available = 1024 * detail::number_in("/proc/meminfo", 0, "MemAvailable:");
    if (available == 0)
      throw device_error{who, "this system does not report how much memory is available", {}, "give a limit in bytes"};
    auto const most = detail::number_in("/sys/fs/cgroup/memory.max", UINT64_MAX),
               used = detail::number_in("/sys/fs/cgroup/memory.current", 0);
    return (std::min)(available, most - (std::min)(most, used));
  }
  auto const seen = detail::available_device(device, who);
  std::uint64_t free = 0, cached = 0;
  detail::with_device_allocator(seen.type(), who, [&](auto& allocator) {
    if constexpr (requires { allocator.getMemoryInfo(seen.index()); }) {
      free = allocator.getMemoryInfo(seen.index()).first;
      cached = std::uint64_t(detail::cached_bytes(allocator.getDeviceStats(seen.index())));
    }
    else
      throw device_error{who, "this LibTorch does not report how much memory is free on this device", {},
                         "give a limit in bytes"};
  });
  return free + cached;
}

}  // namespace cairn::libtorch
