// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file owned_stream.hpp  A stream with an owner.
#include <cairn/adapt/cuda/detail/owned_handle.hpp>
#include <cairn/adapt/cuda/runtime.hpp>

namespace cairn {
namespace detail {

/// Waits before, because the stream's work may use memory that is freed next.
struct destroy_stream {
  template <class Runtime>
  void operator()(Runtime& runtime, typename Runtime::stream which) const noexcept {
    detail::drain(runtime, which);
    runtime.destroy(which);
  }
};

}  // namespace detail

/// A stream with one owner: moved, not copied. The runtime must outlive it. Before the stream is destroyed, the host
/// waits until it is done, and ignores errors.
template <device_runtime Runtime>
class owned_stream : detail::owned_handle<Runtime, typename Runtime::stream, detail::destroy_stream> {
 public:
  owned_stream() = default;
  /// Makes one.   \throws device_error, out_of_memory
  explicit owned_stream(Runtime& runtime) : owned_stream::owned_handle{runtime, runtime.make_stream()} {}

  [[nodiscard]] typename Runtime::stream get() const noexcept { return this->handle_; }  ///< the handle
  /// Waits until the stream is done; ignores errors. For clean-up: `R::sync` reports errors.
  void drain() const noexcept {
    if (this->runtime_ != nullptr) detail::drain(*this->runtime_, this->handle_);
  }
};

}  // namespace cairn
