// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file owned_stream.hpp  A stream with an owner.
#include <utility>
#include <cairn/adapt/cuda/runtime.hpp>

namespace cairn {

/// A stream with one owner: moved, not copied. The runtime must outlive it.
template <device_runtime R>
class owned_stream {
 public:
  owned_stream() = default;
  /// Makes one.   \throws device_error, out_of_memory
  explicit owned_stream(R& runtime) : runtime_{&runtime}, stream_{runtime.make_stream()} {}
  /// Takes over the stream; the other object then owns nothing.
  owned_stream(owned_stream&& other) noexcept
      : runtime_{std::exchange(other.runtime_, nullptr)}, stream_{other.stream_} {}
  /// Takes over the stream, and destroys its own.
  owned_stream& operator=(owned_stream other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  /// Waits until the stream is done, because its work may use memory that is freed next; ignores errors.
  ~owned_stream() {
    if (runtime_ == nullptr) return;
    drain();
    runtime_->destroy(stream_);
  }

  [[nodiscard]] typename R::stream get() const noexcept { return stream_; }  ///< the handle
  /// Waits until the stream is done; ignores errors. For clean-up: `R::sync` reports errors.
  void drain() const noexcept {
    if (runtime_ == nullptr) return;
    try {
      runtime_->sync(stream_);
    } catch (...) {  // the device's context is lost: nothing runs any more
    }
  }

 private:
  R* runtime_ = nullptr;
  typename R::stream stream_{};
};

}  // namespace cairn
