// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file versions.hpp  One name for what LibTorch 1.13 and 2.x name differently, and their differences in behaviour.
#include <cstdint>
#include <memory>
#include <ATen/autocast_mode.h>
#include <c10/core/TensorImpl.h>
#include <torch/nn/module.h>
#include <torch/version.h>

namespace cairn::libtorch::detail {

template <class Clone>
struct device_choice_of;
/// LibTorch 1 and 2 use different optionals.
template <class Choice>
struct device_choice_of<std::shared_ptr<torch::nn::Module> (torch::nn::Module::*)(Choice const&) const> {
  using type = Choice;
};
using device_choice = device_choice_of<decltype(&torch::nn::Module::clone)>::type;

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

// LibTorch 1.13 cannot set a counter; an explicit instantiation may name the private members.
void write_version(c10::VariableVersion const& counter, std::int64_t version);
template <auto Member>
struct names_counter {
  friend void write_version(c10::VariableVersion const& counter, std::int64_t version) {
    (counter.*Member)->version_ = std::uint32_t(version);
  }
};
template struct names_counter<&c10::VariableVersion::version_counter_>;

/// Sets how often a tensor counts as changed in place.
inline void set_version(c10::VariableVersion const& counter, std::int64_t version) {
  if (counter.enabled()) write_version(counter, version);
}

/// Whether a third gradient of the same cast is added in place. 2.11 does that, 1.13 makes a new sum; the versions
/// between have not been examined.
inline constexpr bool sums_casts_in_place = TORCH_VERSION_MAJOR > 2 ||
                                            (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 11);

}  // namespace cairn::libtorch::detail
