// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_guard.hpp  Makes a device current for a scope.
#include <new>
#include <cairn/adapt/cuda/detail/cuda_error.hpp>

namespace cairn::detail {

/// Makes a CUDA device current in this thread during its lifetime, and then restores the previous one. Cost: one query
/// if the device is already current.
class device_guard {
 public:
  /// \throws device_error
  device_guard(int device, char const* operation) {
    int current = -1;
    need(cudaGetDevice(&current), operation, device);
    if (current == device) return;
    need(cudaSetDevice(device), operation, device);
    before_ = current;
  }
  /// For clean-up: if the device cannot be made current, nothing changes.
  device_guard(int device, std::nothrow_t) noexcept {
    int current = -1;
    bool const known = cudaGetDevice(&current) == cudaSuccess;
    if (known && current == device) return;
    if (known && cudaSetDevice(device) == cudaSuccess) before_ = current;
    else forget_cuda_error();
  }
  device_guard(device_guard const&) = delete;
  device_guard& operator=(device_guard const&) = delete;
  ~device_guard() {
    if (before_ >= 0 && cudaSetDevice(before_) != cudaSuccess) forget_cuda_error();
  }

 private:
  int before_ = -1;  ///< to be restored, if not negative
};

}  // namespace cairn::detail
