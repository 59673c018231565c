// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file dlpack.hpp  Exchanges tensors with other libraries through DLPack, without a copy and with ownership.
#include <cstdint>
#include <memory>
#include <utility>
#include <ATen/DLConvertor.h>
#include <ATen/core/Tensor.h>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// Destroys a DLPack tensor by its producer's deleter.
struct dlpack_deleter {
  /// Calls its deleter, if it has one.
  void operator()(DLManagedTensor* managed) const noexcept {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};
/// A DLPack tensor with one owner. `release()` passes it to a consumer that calls the deleter itself.
using dlpack_tensor = std::unique_ptr<DLManagedTensor, dlpack_deleter>;

namespace detail {

template <class Managed>
void check_dlpack(Managed const* managed) {
  if (managed == nullptr)
    throw invalid_call{
        "cairn::libtorch::from_dlpack", "there is no DLPack tensor", {}, "give one that holds something"};
  if (managed->deleter == nullptr)
    throw invalid_call{"cairn::libtorch::from_dlpack",
                       "the DLPack tensor owns nothing",
                       {},
                       "give it a deleter that keeps its memory, or copy it"};
}

/// A view of another DLPack tensor, which it owns, whose data pointer includes the offset: LibTorch ignores
/// `byte_offset`.
struct shifted_dlpack {
  DLManagedTensor view;
  dlpack_tensor original;

  [[nodiscard]] static dlpack_tensor of(dlpack_tensor original) {
    auto shifted = std::make_unique<shifted_dlpack>();
    shifted->view = {original->dl_tensor, shifted.get(),
                     [](DLManagedTensor* self) { delete static_cast<shifted_dlpack*>(self->manager_ctx); }};
    auto& tensor = shifted->view.dl_tensor;
    tensor.data = static_cast<char*>(tensor.data) + std::exchange(tensor.byte_offset, 0);
    shifted->original = std::move(original);
    return dlpack_tensor{&shifted.release()->view};
  }
};

}  // namespace detail

/// A tensor for a library that takes DLPack: the same memory, which lives as long as either of them. On a CUDA device
/// the data are ready when the present work of the current stream is done; the consumer must wait for that.
/// \throws invalid_call  for a tensor that another library cannot read or write as it is: with a gradient history, a
///   lazy conjugate or negative, not strided, or undefined
/// \throws c10::Error  for types that DLPack does not have (bool before LibTorch 2)
[[nodiscard]] inline dlpack_tensor to_dlpack(at::Tensor const& tensor) {
  auto const refuse = [](char const* problem, char const* advice) {
    throw invalid_call{"cairn::libtorch::to_dlpack", problem, {}, advice};
  };
  if (!tensor.defined()) refuse("the tensor is undefined", "give one that holds something");
  if (tensor.requires_grad())
    refuse("the tensor requires a gradient, and autograd would not see what others write to it",
           "give tensor.detach()");
  if (tensor.layout() != at::kStrided) refuse("the tensor is sparse or packed", "give tensor.to_dense()");
  if (tensor.is_conj() || tensor.is_neg())
    refuse("the tensor is conjugated or negated when it is read", "give tensor.resolve_conj().resolve_neg()");
  return dlpack_tensor{at::toDLPack(tensor)};
}

/// A tensor over the memory of another library, which is kept until the last tensor over it is destroyed. Takes
/// ownership, even if it throws. On a CUDA device the producer's data must be ready in the current stream.
/// \throws invalid_call  for one without a deleter, whose memory nothing keeps alive, and for a null pointer
/// \throws c10::Error  for a type or device that LibTorch does not have
[[nodiscard]] inline at::Tensor from_dlpack(dlpack_tensor managed) {
  detail::check_dlpack(managed.get());
  if (managed->dl_tensor.byte_offset != 0) managed = detail::shifted_dlpack::of(std::move(managed));
  auto tensor = at::fromDLPack(managed.get());
  (void)managed.release();
  return tensor;
}

namespace detail {

/// DLPack 1.0 and later: with a version and flags.
template <class Managed>
concept versioned_dlpack = requires(Managed& managed) { managed.version; managed.flags; managed.deleter(&managed); };

}  // namespace detail

/// The same for DLPack's versioned tensors, which LibTorch supports from 2.9 on. Takes ownership unless it throws.
/// \throws invalid_call  as above, and for a read-only tensor, because LibTorch's tensors can be written to
template <detail::versioned_dlpack Managed>
[[nodiscard]] at::Tensor from_dlpack(Managed* managed) {
  detail::check_dlpack(managed);
  constexpr std::uint64_t read_only = 1;
  if ((managed->flags & read_only) != 0)
    throw invalid_call{"cairn::libtorch::from_dlpack", "the DLPack tensor is read-only", {}, "copy it"};
  if (managed->dl_tensor.byte_offset != 0)
    throw invalid_call{"cairn::libtorch::from_dlpack",
                       "the DLPack tensor begins after its address",
                       {{"byte_offset", managed->dl_tensor.byte_offset}},
                       "let its data pointer say where it begins"};
  using namespace at;  // so that older versions, which lack the name, can compile this
  return fromDLPackVersioned(managed);
}

}  // namespace cairn::libtorch
