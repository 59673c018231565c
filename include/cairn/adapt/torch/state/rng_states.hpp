// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file rng_states.hpp  How closely a recomputation repeats the first run: what is compared, random numbers, and the
/// states of generators.
#include <mutex>
#include <utility>
#include <vector>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// What must be equal when something is run again.
enum class Check {
  Off,       ///< the number of tensors, and the operations that save them
  Metadata,  ///< also sizes, types and devices
  Bits       ///< also every bit; reads each tensor once more, on the CPU
};

/// The tensors that a recomputation saves for backward differ from those of the first run; the values say which tensor,
/// counted from 0.
class recompute_mismatch : public error {
 public:
  using error::error;
};

/// Whether a recomputation draws the same random numbers as the first run.
enum class Rng {
  Preserve,  ///< yes: the states of the generators are kept with each checkpoint, 5 KB for the CPU's, 16 bytes for a
             ///< CUDA device's
  Ignore  ///< no: no random numbers are used, or they do not matter
};

/// The states of default generators, each with its device: byte tensors on the CPU, as `at::Generator::get_state`
/// returns them.
using device_states = std::vector<std::pair<c10::Device, at::Tensor>>;

namespace detail {
[[nodiscard]] inline at::Generator default_generator(c10::Device device) {
  return device.is_cpu() ? at::detail::getDefaultCPUGenerator() : at::globalContext().defaultGenerator(device);
}
[[nodiscard]] inline at::Tensor state_of(at::Generator generator) {
  std::lock_guard const lock{generator.mutex()};
  return generator.get_state();
}
inline void set_state(at::Generator generator, at::Tensor const& state) {
  std::lock_guard const lock{generator.mutex()};
  generator.set_state(state);
}
inline void add_device_state(c10::Device device, device_states& all) {
  for (auto const& known : all) if (known.first == device) return;
  all.emplace_back(device, state_of(default_generator(device)));
}
/// Adds the states for the CUDA devices of the tensors.
inline void add_device_states(at::TensorList tensors, device_states& all) {
  for (auto const& t : tensors) if (t.defined() && t.is_cuda()) add_device_state(t.device(), all);
}
}  // namespace detail

/// The states of the CPU's default generator, which comes first, and of those of the tensors' CUDA devices.
/// \param tensors  undefined ones are ignored
/// Bytes: 5,056 for the CPU's, 16 for a CUDA device's.
[[nodiscard]] inline device_states get_device_states(at::TensorList tensors) {
  device_states all;
  detail::add_device_state(at::kCPU, all);
  detail::add_device_states(tensors, all);
  return all;
}
/// Sets the generators to these states, which are copied.
/// \throws c10::Error   if a state does not belong to its device's generator, or there is no such device
inline void set_device_states(device_states const& states) {
  for (auto const& [device, state] : states) detail::set_state(detail::default_generator(device), state);
}

}  // namespace cairn::libtorch
