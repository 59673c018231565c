// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_allocator.hpp  The devices that LibTorch sees, and its allocators for them.
#include <cstdint>
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

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

}  // namespace cairn::libtorch::detail
