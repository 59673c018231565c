// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_copies.hpp  Copies within the memory of Thrust's device system, ordered with the steps on a stream if
/// the system has streams.
#include <cstddef>
#include <type_traits>
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <cairn/core/error.hpp>
#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA
#include <cuda_runtime_api.h>
#endif

namespace cairn::detail {

#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA

/// For CUDA.
class device_copies {
 public:
  template <class Where>
  static constexpr bool can_follow = std::is_convertible_v<Where const&, cudaStream_t> || requires(Where policy) {
    requires std::is_convertible_v<decltype(get_stream(policy)), cudaStream_t>;
  }
  || requires(Where const& where) { requires std::is_convertible_v<decltype(where.get()), cudaStream_t>; };

  /// Copies wait for everything.
  device_copies() = default;
  /// Copies run in order on that stream, and wait for nothing.
  template <class Where>
    requires can_follow<Where>
  explicit device_copies(Where const& where) : told_{true} {
    if constexpr (std::is_convertible_v<Where const&, cudaStream_t>) stream_ = where;
    else if constexpr (requires { where.get(); }) stream_ = where.get();
    else {
      auto policy = where;
      stream_ = get_stream(policy);  // found by the policy's type
    }
  }

  template <class From, class Into>
  void copy(From from, Into into, std::size_t count) const {
    if (count == 0) return;
    if (!told_) check(cudaDeviceSynchronize());
    check(cudaMemcpyAsync(into.get(), from.get(), count * sizeof(*into.get()), cudaMemcpyDefault, stream_));
    if (!told_) check(cudaStreamSynchronize(stream_));
  }
  /// To be called before Thrust copies on its own, which it does on the default stream.
  void finish() const { check(told_ ? cudaStreamSynchronize(stream_) : cudaDeviceSynchronize()); }
  /// To be called after such a copy of Thrust's.
  static void finish_of_thrust() { check(cudaStreamSynchronize(cudaStream_t{})); }

 private:
  static void check(cudaError_t code) {
    if (code == cudaSuccess) return;
    int device = -1;
    (void)cudaGetDevice(&device);
    throw device_error{"cairn::copy_state",
                       "a call of the device's runtime failed",
                       {{"device", device}, {"code", int(code)}},
                       cudaGetErrorName(code)};
  }

  cudaStream_t stream_ = nullptr;
  bool told_ = false;
};

#else

/// For the host systems, whose algorithms are done when they return.
class device_copies {
 public:
  template <class Where>
  static constexpr bool can_follow = std::is_base_of_v<thrust::execution_policy<Where>, Where>;

  device_copies() = default;
  template <class Where>
    requires can_follow<Where>
  explicit device_copies(Where const&) {}

  template <class From, class Into>
  void copy(From from, Into into, std::size_t count) const {
    thrust::copy_n(from, count, into);
  }
  void finish() const {}
  static void finish_of_thrust() {}
};

#endif

/// The copies of states in this thread.
[[nodiscard]] inline device_copies& copies_of_states() {
  thread_local device_copies here;
  return here;
}

}  // namespace cairn::detail
