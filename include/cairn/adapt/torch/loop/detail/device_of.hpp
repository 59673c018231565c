// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_of.hpp  The device of a state.
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace cairn::libtorch::detail {

/// The device of the first defined part; the CPU without one.
[[nodiscard]] inline c10::Device device_of(at::TensorList parts) {
  for (auto const& part : parts) if (part.defined()) return part.device();
  return c10::Device(c10::kCPU);
}

}  // namespace cairn::libtorch::detail
