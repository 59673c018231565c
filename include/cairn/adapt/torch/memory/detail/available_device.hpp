// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file available_device.hpp  Whether LibTorch sees a device.
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

}  // namespace cairn::libtorch::detail
