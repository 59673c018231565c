// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file versions.hpp  One name for what LibTorch 1.13 and 2.x name differently, and their differences in behaviour.
#include <ATen/autocast_mode.h>
#include <torch/version.h>

namespace cairn::libtorch::detail {

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)

[[nodiscard]] inline bool autocast_is_on(at::DeviceType device) { return at::autocast::is_autocast_enabled(device); }
inline void switch_autocast(at::DeviceType device, bool on) { at::autocast::set_autocast_enabled(device, on); }
[[nodiscard]] inline at::ScalarType autocast_type(at::DeviceType device) {
  return at::autocast::get_autocast_dtype(device);
}
inline void set_autocast_type(at::DeviceType device, at::ScalarType type) {
  at::autocast::set_autocast_dtype(device, type);
}

#else

[[nodiscard]] inline bool autocast_is_on(at::DeviceType device) {
  return device == at::kCPU ? at::autocast::is_cpu_enabled() : at::autocast::is_enabled();
}
inline void switch_autocast(at::DeviceType device, bool on) {
  device == at::kCPU ? at::autocast::set_cpu_enabled(on) : at::autocast::set_enabled(on);
}
[[nodiscard]] inline at::ScalarType autocast_type(at::DeviceType device) {
  return device == at::kCPU ? at::autocast::get_autocast_cpu_dtype() : at::autocast::get_autocast_gpu_dtype();
}
inline void set_autocast_type(at::DeviceType device, at::ScalarType type) {
  device == at::kCPU ? at::autocast::set_autocast_cpu_dtype(type) : at::autocast::set_autocast_gpu_dtype(type);
}

#endif

/// Whether a third gradient of the same cast is added in place. 2.11 does that, 1.13 makes a new sum; the versions
/// between have not been examined.
inline constexpr bool sums_casts_in_place = TORCH_VERSION_MAJOR > 2 ||
                                            (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 11);

}  // namespace cairn::libtorch::detail
