// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file thrust_policy.hpp  Where the algorithms of Thrust run: on a stream of our own with CUDA, else on the host.

#include <thrust/execution_policy.h>

#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA
#include <cuda_runtime_api.h>

#include <stdexcept>
#endif

namespace support {

#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA

[[nodiscard]] inline bool has_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}
/// A stream of our own, on which no algorithm waits for the host.
inline auto const policy = [] {
  cudaStream_t stream = nullptr;
  if (has_device() && cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) stream = nullptr;
  return thrust::cuda::par_nosync.on(stream);
}();
/// Waits for all that runs there.
inline void finish() {
  if (cudaError_t const answer = cudaDeviceSynchronize(); answer != cudaSuccess)
    throw std::runtime_error{cudaGetErrorString(answer)};
}

#else

[[nodiscard]] inline bool has_device() { return true; }
inline auto const policy = thrust::device;
inline void finish() {}

#endif

}  // namespace support
