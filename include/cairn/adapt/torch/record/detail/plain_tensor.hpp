// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plain_tensor.hpp  Tensors as bytes in memory, below autograd.
#include <ATen/TracerMode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <algorithm>
#include <c10/core/Storage.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cairn/adapt/torch/checkpoint/detail/dispatch_mode.hpp>

namespace cairn::libtorch::detail {

/// Whether the tensor is elements in memory of its own or of others. What else there is cannot be recorded.
[[nodiscard]] inline bool is_plain_memory(at::Tensor const& t) {
  return t.defined() && t.layout() == at::kStrided && t.has_storage() && !t.is_quantized() && !t.is_meta() &&
         !t._is_zerotensor() && !t.is_nested();
}
[[nodiscard]] inline bool is_there(c10::Storage const& memory) { return memory.unsafeGetStorageImpl() != nullptr; }

/// During its lifetime operators run below autograd, and nobody watches them.
class below_autograd {
 public:
  explicit below_autograd(c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set()) {
    keys.included_ = keys.included_.remove(dispatch_mode_key);
    keys.excluded_ = keys.excluded_.add(dispatch_mode_key) | c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    c10::impl::_force_tls_local_dispatch_key_set(keys);
  }
  below_autograd(below_autograd const&) = delete;
  below_autograd& operator=(below_autograd const&) = delete;
  ~below_autograd() { c10::impl::_force_tls_local_dispatch_key_set(before_); }

 private:
  c10::impl::LocalDispatchKeySet before_ = c10::impl::tls_local_dispatch_key_set();
  at::NoGradGuard no_grad_;
  at::tracer::impl::NoTracerDispatchMode no_trace_;
  at::DisableRecordFunctionGuard no_observer_;
};

/// The memory as a tensor of bytes.
[[nodiscard]] inline at::Tensor bytes_in(c10::Storage const& memory) {
  auto const key = c10::DispatchKeySet(memory.device().is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA);
  auto t = at::detail::make_tensor<c10::TensorImpl>(c10::Storage{memory}, key, caffe2::TypeMeta::Make<std::uint8_t>());
  t.unsafeGetTensorImpl()->set_sizes_contiguous({std::int64_t(memory.nbytes())});
  return t;
}
[[nodiscard]] inline c10::Storage copy_of(c10::Storage const& memory) {
  below_autograd const below;
  return bytes_in(memory).clone().storage();
}
/// A number that is another one if one bit is another, but for a chance of 2^-64.
[[nodiscard]] inline std::uint64_t sum_of_bits(at::Tensor const& t) {
  below_autograd const below;
  auto const dense = t.detach().cpu().contiguous();
  auto const* const from = static_cast<char const*>(dense.data_ptr());
  std::uint64_t sum = 14695981039346656037u, word = 0;
  for (std::size_t k = 0, n = dense.nbytes(); k < n; k += 8) {
    std::memcpy(&word, from + k, (std::min)(std::size_t{8}, n - k));
    sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
    sum ^= sum >> 29;
  }
  return sum;
}

}  // namespace cairn::libtorch::detail
