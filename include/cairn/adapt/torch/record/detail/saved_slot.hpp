// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file saved_slot.hpp  Stands for one tensor that autograd saves in a recorded call.
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <memory>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <utility>
#include <cairn/adapt/torch/checkpoint/detail/dispatch_mode.hpp>
#include <cairn/adapt/torch/record/detail/call_record.hpp>
#include <cairn/adapt/torch/record/detail/plain_tensor.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

class saved_slot final : public torch::autograd::SavedVariableHooks {
 public:
  explicit saved_slot(std::shared_ptr<call_record> of) : record_{std::move(of)} {}
  ~saved_slot() override {
    if (saved_.content >= 0) record_->release(saved_);
  }
  void call_pack_hook(at::Tensor const& t) override {
    dispatch_mode_scope const off{false};
    auto* const impl = t.unsafeGetTensorImpl();
    if (!t.is_inference()) counter_ = impl->version_counter(), version_ = counter_.current_version();
    saved_ = record_->save(t);
    if (saved_.content < 0) kept_ = bare(t);
    else if (saved_.verify) sum_ = sum_of(t);
  }
  at::Tensor call_unpack_hook() override {
    // LibTorch compares no versions where hooks are, so the sentence is its own.
    if (counter_.enabled() && counter_.current_version() != version_)
      TORCH_CHECK(false,
                  "one of the variables needed for gradient computation has been modified by an inplace "
                  "operation: it is at version ",
                  counter_.current_version(), "; expected version ", version_, " instead");
    auto t = record_->take(saved_);
    if (saved_.content < 0) return kept_;
    if (saved_.verify && sum_of(t) != sum_)
      throw invalid_call{record_->who(),
                         "a saved tensor that was made again has other bits than at first: something that no operator "
                         "shows, such as a raw pointer, has written to what it is made of",
                         {{"bytes", t.nbytes()}},
                         "hold what is written so by cairn::libtorch::pin"};
    return t;
  }

 private:
  [[nodiscard]] static std::uint64_t sum_of(at::Tensor const& t) {
    below_autograd const below;
    return hash_of_bits(t);
  }

  std::shared_ptr<call_record> record_;
  call_record::saved_tensor saved_;
  at::Tensor kept_;
  c10::VariableVersion counter_{c10::VariableVersion::DISABLED};
  std::uint32_t version_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace cairn::libtorch::detail
