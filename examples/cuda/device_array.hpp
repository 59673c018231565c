// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_array.hpp  Numbers in the memory of a device, as a program with kernels of its own may hold them.

#include <cstddef>
#include <vector>

#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/core/device_memory.hpp>

#include "launch.hpp"

namespace support {

/// A fixed number of elements on the device, with one owner: moved, not copied. cairn knows by what data() returns that
/// they lie there, so that this is a state, and so is a struct of several.
template <class T>
class device_array {
 public:
  using value_type = T;

  device_array() = default;
  /// Of unknown values.
  device_array(gpu& device, std::size_t count) : memory_{device, count * sizeof(T)} {}
  /// As on the host. Waits until they are there.
  device_array(gpu& device, gpu::stream in, std::vector<T> const& values) : device_array{device, values.size()} {
    device.copy(memory_.data(), values.data(), memory_.size(), cairn::copy_kind::host_to_device, in);
    device.sync(in);
  }

  [[nodiscard]] std::size_t size() const noexcept { return memory_.size() / sizeof(T); }
  [[nodiscard]] cairn::device_pointer<T> data() noexcept { return {at()}; }
  [[nodiscard]] cairn::device_pointer<T const> data() const noexcept { return {at()}; }
  /// For kernels.
  [[nodiscard]] T* get() noexcept { return at(); }
  [[nodiscard]] T const* get() const noexcept { return at(); }

  /// On the host. Waits for all that is in the stream.
  [[nodiscard]] std::vector<T> values(gpu& device, gpu::stream in) const {
    std::vector<T> read(size());
    device.copy(read.data(), memory_.data(), memory_.size(), cairn::copy_kind::device_to_host, in);
    device.sync(in);
    return read;
  }

 private:
  [[nodiscard]] T* at() const noexcept { return static_cast<T*>(memory_.data()); }

  cairn::device_buffer<gpu> memory_;
};

}  // namespace support
