// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file launch.hpp  Kernels from one text: with nvcc they run on the GPU, with any other compiler in a loop on the
/// host.

#include <cstddef>

#ifdef __CUDACC__
#include <stdexcept>

#include <cairn/adapt/cuda/cuda_runtime.hpp>
#else
#include "host_runtime.hpp"
#endif

namespace support {

#ifdef __CUDACC__

using gpu = cairn::cuda_runtime;

[[nodiscard]] inline bool has_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

template <class F>
__global__ void call_each(std::size_t count, F f) {
  std::size_t const k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k < count) f(k);
}
/// Puts f(0), ... f(count - 1) into the stream, in no order. The host does not wait.
/// \param f  copied; what it points to lies on the device   \throws std::runtime_error where the kernel cannot be
/// started
template <class F>
void launch(gpu::stream in, std::size_t count, F f) {
  if (count == 0) return;  // a grid without blocks is an error
  constexpr unsigned threads = 256;
  call_each<<<unsigned((count + threads - 1) / threads), threads, 0, in>>>(count, f);
  if (cudaError_t const answer = cudaGetLastError(); answer != cudaSuccess)
    throw std::runtime_error{cudaGetErrorString(answer)};
}

#else

using gpu = host_runtime;

[[nodiscard]] inline bool has_device() { return true; }

/// f(0), ... f(count - 1).
template <class F>
void launch(gpu::stream, std::size_t count, F f) {
  for (std::size_t k = 0; k < count; ++k) f(k);
}

#endif

}  // namespace support
