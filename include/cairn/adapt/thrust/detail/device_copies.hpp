#pragma once
/// \file device_copies.hpp  Copies within the memory of Thrust's device system, in order with the steps on a stream
/// where that has streams.
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

/// On CUDA.
class device_copies {
 public:
  template <class Where>
  static constexpr bool can_follow = std::is_convertible_v<Where const&, cudaStream_t> || requires(Where policy) {
    requires std::is_convertible_v<decltype(get_stream(policy)), cudaStream_t>;
  }
  || requires(Where const& where) { requires std::is_convertible_v<decltype(where.get()), cudaStream_t>; };

  /// Waits for everything.
  device_copies() = default;
  /// In order with what runs there, and waits for nothing.
  template <class Where>
    requires can_follow<Where>
  explicit device_copies(Where const& where) : told_{true} {
    if constexpr (std::is_convertible_v<Where const&, cudaStream_t>) stream_ = where;
    else if constexpr (requires { where.get(); }) stream_ = where.get();
    else {
      auto policy = where;
      stream_ = get_stream(policy);  // Thrust's own, found by the policy's type
    }
  }

  template <class From, class Into>
  void copy(From from, Into into, std::size_t count) const {
    if (count == 0) return;
    if (!told_) check(cudaDeviceSynchronize());
    check(cudaMemcpyAsync(into.get(), from.get(), count * sizeof(*into.get()), cudaMemcpyDefault, stream_));
    if (!told_) check(cudaStreamSynchronize(stream_));
  }
  /// Before Thrust copies by itself, which it does on the default stream.
  void finish() const { check(told_ ? cudaStreamSynchronize(stream_) : cudaDeviceSynchronize()); }
  /// After that.
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

/// On the host, where an algorithm has ended when it returns.
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

/// Those of the states that this thread copies.
[[nodiscard]] inline device_copies& copies_of_states() {
  thread_local device_copies here;
  return here;
}

}  // namespace cairn::detail
