// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file packed_tensor.hpp  A tensor that autograd saves by two user functions, pack and unpack.
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/state/detail/saved_tensor.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// The result of `pack` for a tensor; void if it does not take one.
template <class Pack>
struct result_of_pack {
  using type = void;
};
template <class Pack>
  requires std::is_invocable_v<Pack&, at::Tensor const&>
struct result_of_pack<Pack> {
  using type = std::remove_cvref_t<std::invoke_result_t<Pack&, at::Tensor const&>>;
};

template <class Pack>
concept packs_tensor = !std::is_void_v<typename result_of_pack<Pack>::type>;
template <class Unpack, class Packed>
concept unpacks_tensor = requires(Unpack& unpack, Packed const& packed) {
  { unpack(packed) } -> std::convertible_to<at::Tensor>;
};

/// The tensors in a packed value, as far as its type shows.
template <class Packed>
[[nodiscard]] tensor_list tensors_in(Packed const& packed) {
  if constexpr (tensor_state<Packed>) return tensors_of(packed);
  else if constexpr (requires { { packed.tensor() } -> std::convertible_to<at::Tensor>; }) return {packed.tensor()};
  else return {};
}

inline constexpr char const* saved_hooks_name = "cairn::libtorch::saved_tensors_hooks";

/// The hooks of one saved tensor. The functions may be called in any thread that runs a backward pass.
template <class Pack, class Unpack>
class packed_tensor final : public torch::autograd::SavedVariableHooks {
 public:
  struct functions {
    Pack pack;
    Unpack unpack;
  };

  explicit packed_tensor(std::shared_ptr<functions> of) : of_{std::move(of)} {}

  void call_pack_hook(at::Tensor const& t) override {
    alone const none;
    auto const values = t.detach();  // with its grad_fn, the tensor would keep alive the node that owns these hooks
    metadata_ = tensor_metadata::of(values, false);
    packed_.emplace(of_->pack(values));
    for (auto const& part : tensors_in(*packed_))
      if (lies_in(part, values)) shared_.emplace_back(part);
  }
  at::Tensor call_unpack_hook() override {
    for (auto const& part : shared_)
      if (!part.unchanged())
        throw invalid_call{saved_hooks_name, "a tensor saved for backward was changed in place afterwards", {},
                           "change a copy of it, or let the pack function return a copy"};
    alone const none;
    at::Tensor t = of_->unpack(std::as_const(*packed_));
    if (!t.defined())
      throw invalid_call{saved_hooks_name, "the unpack function gives no tensor", {}, "return what was packed"};
    if (!metadata_.is_of(t)) {
      auto const texts = tensor_metadata::of(t, false).text() + ", and what was packed was " + metadata_.text();
      throw invalid_call{saved_hooks_name, ("the unpack function gives " + texts).c_str(), {},
                         "return a tensor of the same sizes and type on the same device"};
    }
    return t.detach();
  }

 private:
  [[nodiscard]] static bool lies_in(at::Tensor const& part, at::Tensor const& t) {
    if (!part.defined()) return false;
    return t.has_storage() ? part.has_storage() && part.is_alias_of(t) : part.is_same(t);
  }
  /// While one of the functions runs, nothing is recorded, and tensors that are saved anyway have no hooks.
  struct alone {
    saved_hooks_scope none{[] { return std::unique_ptr<torch::autograd::SavedVariableHooks>{}; }};
    at::NoGradGuard off{};
  };

  std::shared_ptr<functions> of_;
  tensor_metadata metadata_;
  std::optional<typename result_of_pack<Pack>::type> packed_;
  std::vector<saved_tensor> shared_;  ///< tensors of `packed_` in the memory of the saved tensor itself
};

/// A function that makes the hooks of one tensor after another.
/// \throws invalid_call   if an engine other than LibTorch's own is active
template <class Pack, class Unpack>
[[nodiscard]] saved_hooks_factory packing_factory(Pack pack, Unpack unpack) {
  if constexpr (!packs_tensor<Pack>) return {};
  else if constexpr (!unpacks_tensor<Unpack, typename result_of_pack<Pack>::type>) return {};
  else {
    need_saved_hooks(saved_hooks_name);
    using hooks = packed_tensor<Pack, Unpack>;
    using functions = typename hooks::functions;
    auto const both = std::make_shared<functions>(functions{std::move(pack), std::move(unpack)});
    return [both] { return std::make_unique<hooks>(both); };
  }
}

}  // namespace cairn::libtorch::detail
