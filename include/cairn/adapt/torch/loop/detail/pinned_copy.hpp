// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file pinned_copy.hpp  Device tensors in pinned host memory, copied there and back in parallel to the computation.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>
#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace cairn::libtorch::detail {

/// The stream on which the calling thread computes.
[[nodiscard]] inline c10::Stream stream_of(c10::Device device) {
  return c10::impl::VirtualGuardImpl{device.type()}.getStream(device);
}

/// Pinned memory for a tensor of a device, in the same layout.
class pinned_tensor {
 public:
  explicit pinned_tensor(at::Tensor const& like)
      : device_{like.device()},
        values_{at::empty_strided(like.sizes(), like.strides(), like.options().device(at::kCPU).pinned_memory(true))},
        written_{device_.type()},
        read_{device_.type()} {}

  [[nodiscard]] bool fits(at::Tensor const& t) const {
    return t.device() == device_ && t.scalar_type() == values_.scalar_type() && t.sizes() == values_.sizes() &&
           t.strides() == values_.strides();
  }
  [[nodiscard]] std::int64_t bytes() const { return std::int64_t(values_.nbytes()); }
  /// Copies t to this memory on the stream `side`, after the present work of the caller's stream and the last read.
  /// \pre t lives until the caller's stream waits for the copy, by `wait_written`
  void write(at::Tensor const& t, c10::Stream side) {
    c10::Event ready{device_.type()};
    ready.record(stream_of(device_));
    ready.block(side);
    read_.block(side);
    c10::StreamGuard const on{side};
    values_.copy_(t, true);
    written_.record(side);
  }
  /// Later work of `stream` waits for the last write.
  void wait_written(c10::Stream stream) const { written_.block(stream); }
  /// A copy on the device, on the stream on which the caller computes.
  [[nodiscard]] at::Tensor read() {
    auto const stream = stream_of(device_);
    wait_written(stream);
    auto t =
        at::empty_strided(values_.sizes(), values_.strides(), values_.options().device(device_).pinned_memory(false));
    t.copy_(values_, true);
    read_.record(stream);
    return t;
  }

 private:
  c10::Device device_;
  at::Tensor values_;
  c10::Event written_, read_;
};

/// Copies to the host that may still be running. A copied tensor is kept until its stream waits for the copy: then it
/// can be freed, and that stream can reuse its memory at once. So at most one more state is on the device, however far
/// the host is ahead.
class copies_to_host {
 public:
  copies_to_host() = default;
  copies_to_host(copies_to_host const&) = delete;
  copies_to_host& operator=(copies_to_host const&) = delete;
  ~copies_to_host() {
    try {
      finish();
    } catch (c10::Error const&) {  // the device has failed, and nothing runs on it any more
    }
  }

  void start(at::Tensor const& t, std::shared_ptr<pinned_tensor> const& into) {
    into->write(t, side_of(t.device()));
    under_way_.push_back({t, stream_of(t.device()), into});
  }
  /// Makes the streams of all copied tensors wait for the copies.
  void finish() {
    for (auto const& copy : under_way_) copy.into->wait_written(copy.stream);
    under_way_.clear();
  }

 private:
  struct one_copy {
    at::Tensor source;
    c10::Stream stream;
    std::shared_ptr<pinned_tensor> into;
  };

  [[nodiscard]] c10::Stream side_of(c10::Device device) {
    for (auto const& side : sides_) if (side.device() == device) return side;
    sides_.push_back(c10::impl::VirtualGuardImpl{device.type()}.getStreamFromGlobalPool(device));
    return sides_.back();
  }

  std::vector<one_copy> under_way_;
  std::vector<c10::Stream> sides_;  ///< one for each device
};

}  // namespace cairn::libtorch::detail
