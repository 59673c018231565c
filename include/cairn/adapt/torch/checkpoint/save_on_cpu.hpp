// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file save_on_cpu.hpp  Keeps tensors that autograd saves in host memory until backward.
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>
#include <ATen/ATen.h>
#include <cairn/adapt/torch/checkpoint/saved_tensors_hooks.hpp>

namespace cairn::libtorch {
namespace detail {

/// The values of a saved tensor in host memory.
class host_copy {
 public:
  /// \param copies  whether CPU tensors are copied, too
  /// \param bytes  a counter that includes the copy's bytes while it exists
  host_copy(at::Tensor const& t, bool copies, std::shared_ptr<std::atomic<std::int64_t>> bytes)
      : device_{t.device()}, sizes_{t.sizes().vec()}, repeats_{t.layout() == at::kStrided} {
    if (device_.is_cpu() && !copies) {
      values_ = t;
      return;
    }
    auto const once = repeats_ ? without_repeats(t) : t;
    if (!repeats_) values_ = device_.is_cpu() ? once.clone() : once.cpu();
    else {
      is_pinned_ = copies && device_.is_cuda();
      auto const there = once.options().device(at::kCPU).pinned_memory(is_pinned_);
      values_ = at::empty_like(once, there, at::MemoryFormat::Preserve);
      values_.copy_(once);
      bytes_ = std::int64_t(values_.nbytes());
    }
    total_ = std::move(bytes);
    *total_ += bytes_;
  }
  host_copy(host_copy&& other) noexcept = default;
  host_copy& operator=(host_copy&&) = delete;
  ~host_copy() { if (total_) *total_ -= bytes_; }

  [[nodiscard]] at::Tensor const& tensor() const { return values_; }
  /// The tensor on its original device.
  [[nodiscard]] at::Tensor back() const {
    auto const there = device_.is_cpu() ? values_ : values_.to(device_, values_.scalar_type(), is_pinned_);
    return repeats_ ? there.expand(sizes_) : there;
  }

 private:
  /// The tensor with each value that expansion repeats only once.
  [[nodiscard]] static at::Tensor without_repeats(at::Tensor t) {
    for (std::int64_t d = 0; d < t.dim(); ++d)
      if (t.stride(d) == 0 && t.size(d) > 1) t = t.narrow(d, 0, 1);
    return t;
  }

  at::Device device_;
  std::vector<std::int64_t> sizes_;
  bool repeats_, is_pinned_ = false;  ///< repeats_: one value may stand for several elements
  at::Tensor values_;
  std::int64_t bytes_ = 0;
  std::shared_ptr<std::atomic<std::int64_t>> total_;  ///< null if nothing was copied
};

}  // namespace detail

/// During its lifetime, tensors that operations of this thread save for backward are kept in host memory, and return to
/// their device when backward needs them; gradients have the same bits. As in PyTorch, CPU tensors are kept as they
/// are, without a copy, unless `pin_memory` is set. An expanded tensor is copied without repetition. Otherwise as
/// `saved_tensors_hooks`.
class save_on_cpu {
 public:
  /// \param pin_memory  whether copies of CUDA tensors are in pinned memory, from which they return in parallel to the
  ///   computation; CPU tensors are then copied, too, into ordinary memory
  /// \throws invalid_call  under an engine that is not LibTorch's own
  explicit save_on_cpu(bool pin_memory = false)
      : hooks_{[pin_memory, bytes = bytes_](at::Tensor const& t) { return detail::host_copy{t, pin_memory, bytes}; },
               [](detail::host_copy const& copy) { return copy.back(); }} {}

  /// Bytes of the existing copies made in this scope; strided tensors only.
  [[nodiscard]] std::int64_t bytes() const noexcept { return *bytes_; }

 private:
  std::shared_ptr<std::atomic<std::int64_t>> bytes_ = std::make_shared<std::atomic<std::int64_t>>(0);
  saved_tensors_hooks hooks_;
};

}  // namespace cairn::libtorch
