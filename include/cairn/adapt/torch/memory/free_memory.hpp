// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file free_memory.hpp  How much memory a device has free for tensors.
#include <algorithm>
#include <fstream>
#include <string>
#include <c10/core/Device.h>
#include <cairn/adapt/torch/memory/detail/device_allocator.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {
namespace detail {

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
