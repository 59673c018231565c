// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_buffer.hpp  Memory of a device, and pinned memory of the host, with an owner.
#include <cstddef>
#include <cairn/adapt/cuda/detail/owned_handle.hpp>
#include <cairn/adapt/cuda/runtime.hpp>

namespace cairn {
namespace detail {

struct sized_memory {
  void* data = nullptr;
  std::size_t size = 0;
};
template <bool Pinned>
struct free_memory_of {
  template <class Runtime>
  void operator()(Runtime& runtime, sized_memory const& which) const noexcept {
    if constexpr (Pinned) runtime.pinned_free(which.data);
    else runtime.device_free(which.data);
  }
};

template <device_runtime Runtime, bool Pinned>
class owned_bytes : owned_handle<Runtime, sized_memory, free_memory_of<Pinned>> {
 public:
  owned_bytes() = default;
  /// Allocates `bytes` bytes of unspecified content. When they are freed, nothing may use them any more.
  /// \throws out_of_memory, device_error
  owned_bytes(Runtime& runtime, std::size_t bytes)
      : owned_bytes::owned_handle{
            runtime, {Pinned ? runtime.pinned_alloc(bytes) : runtime.device_alloc(bytes), bytes}} {}

  [[nodiscard]] void* data() const noexcept { return this->handle_.data; }  ///< the first byte; null if there are none
  [[nodiscard]] std::size_t size() const noexcept { return this->handle_.size; }  ///< number of bytes
};

}  // namespace detail

/// Bytes of device memory with one owner: moved, not copied. The runtime must outlive it.
template <device_runtime Runtime>
using device_buffer = detail::owned_bytes<Runtime, false>;
/// Bytes of pinned host memory with one owner: moved, not copied. The runtime must outlive it.
template <device_runtime Runtime>
using pinned_buffer = detail::owned_bytes<Runtime, true>;

}  // namespace cairn
