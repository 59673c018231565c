// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plain_tensor.hpp  Tensors as bytes in memory, below autograd.
#include <ATen/TracerMode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/core/Storage.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <cstddef>
#include <cstdint>
#include <cairn/adapt/torch/checkpoint/detail/dispatch_mode.hpp>

namespace cairn::libtorch::detail {

/// Whether the tensor is elements in memory of its own or of others. What else there is cannot be recorded.
[[nodiscard]] inline bool is_plain_memory(at::Tensor const& t) {
  return t.defined() && t.layout() == at::kStrided && t.has_storage() && !t.is_quantized() && !t.is_meta() &&
         !t._is_zerotensor() && !t.is_nested();
}
/// The same values and the same version counter, without autograd metadata: what a kernel below autograd returns.
[[nodiscard]] inline at::Tensor bare(at::Tensor const& t) {
  auto* const impl = t.unsafeGetTensorImpl();
  return t.defined() ? at::Tensor{impl->shallow_copy_and_detach(impl->version_counter(), true)} : t;
}
[[nodiscard]] inline bool is_there(c10::Storage const& memory) { return memory.unsafeGetStorageImpl() != nullptr; }

/// During its lifetime operators run below autograd, and nobody watches them.
class below_autograd {
 public:
  explicit below_autograd(c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set())
      : forced_{below(keys)} {}
  below_autograd(below_autograd const&) = delete;
  below_autograd& operator=(below_autograd const&) = delete;

 private:
  [[nodiscard]] static c10::impl::LocalDispatchKeySet below(c10::impl::LocalDispatchKeySet keys) {
    keys.included_ = keys.included_.remove(dispatch_mode_key);
    keys.excluded_ = keys.excluded_.add(dispatch_mode_key) | c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    return keys;
  }
  at::NoGradGuard no_grad_;
  at::tracer::impl::NoTracerDispatchMode no_trace_;
  at::DisableRecordFunctionGuard no_observer_;
  c10::impl::ForceDispatchKeyGuard forced_;  // last: these keys are all that count
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

}  // namespace cairn::libtorch::detail
