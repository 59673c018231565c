// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_buffer.hpp  Memory of a device, and pinned memory of the host, with an owner.
#include <cstddef>
#include <utility>
#include <cairn/adapt/cuda/runtime.hpp>

namespace cairn {
namespace detail {

template <device_runtime R, bool Pinned>
class owned_bytes {
 public:
  owned_bytes() = default;
  /// Allocates `bytes` bytes of unspecified content.   \throws out_of_memory, device_error
  owned_bytes(R& runtime, std::size_t bytes) : runtime_{&runtime}, size_{bytes} {
    if constexpr (Pinned) data_ = runtime.pinned_alloc(bytes);
    else data_ = runtime.device_alloc(bytes);
  }
  owned_bytes(owned_bytes&& other) noexcept
      : runtime_{other.runtime_}, data_{std::exchange(other.data_, nullptr)}, size_{std::exchange(other.size_, 0)} {}
  owned_bytes& operator=(owned_bytes other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  /// \pre nothing uses the bytes any more
  ~owned_bytes() {
    if (data_ == nullptr) return;
    if constexpr (Pinned) runtime_->pinned_free(data_);
    else runtime_->device_free(data_);
  }

  [[nodiscard]] void* data() const noexcept { return data_; }  ///< the first byte; null if there are none
  [[nodiscard]] std::size_t size() const noexcept { return size_; }  ///< number of bytes

 private:
  R* runtime_ = nullptr;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace detail

/// Bytes of device memory with one owner: moved, not copied. The runtime must outlive it.
template <device_runtime R>
using device_buffer = detail::owned_bytes<R, false>;
/// Bytes of pinned host memory with one owner: moved, not copied. The runtime must outlive it.
template <device_runtime R>
using pinned_buffer = detail::owned_bytes<R, true>;

}  // namespace cairn
