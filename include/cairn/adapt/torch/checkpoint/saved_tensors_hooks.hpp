// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file saved_tensors_hooks.hpp  User functions that pack and unpack the tensors that autograd saves, and such that
/// keep them in host memory.
#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

namespace detail {

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

template <class Pack, class Unpack>
[[nodiscard]] consteval bool unpacks_what_is_packed() {
  if constexpr (packs_tensor<Pack>) return unpacks_tensor<Unpack, typename result_of_pack<Pack>::type>;
  else return true;
}
/// Refuses functions that do not pack and unpack tensors. A default argument makes it, so that its error is reported
/// before all others.
template <class Pack, class Unpack>
struct hooks_check {
  static constexpr bool packs = packs_tensor<Pack>, unpacks = unpacks_what_is_packed<Pack, Unpack>();
  static_assert(packs, "cairn: the pack function must take a tensor and return what represents it until backward");
  static_assert(unpacks, "cairn: the unpack function must take what the pack function returns, and return the tensor");
};

}  // namespace detail

/// During its lifetime, each tensor that an operation of this thread saves for backward is passed to `pack`, and its
/// result is kept in the tensor's place; when backward needs the tensor, `unpack` restores it. Scopes nest, and only
/// the innermost one applies; a region in a scope keeps its inputs by the scope's functions. Tensors saved in the scope
/// keep the two functions alive as long as the graph lives. Scopes must end in the thread that made them, in reverse
/// order.
class saved_tensors_hooks {
 public:
  /// \param pack  takes a tensor without history, which it must not change, and returns what is kept: a tensor, a path,
  ///   any movable value. If the result is a tensor, or tensors, in the memory of the saved tensor, a change in place
  ///   before backward is an error
  /// \param unpack  takes a const reference to what `pack` returned, and returns a tensor of the saved one's sizes,
  ///   type and device. It may be called several times, and from all threads that run backward passes. While one of the
  ///   two functions runs, grad mode is off and there are no hooks. Their exceptions pass through the operation or
  ///   through backward
  /// \throws invalid_call  under an engine that is not LibTorch's own
  template <class Pack, class Unpack>
  saved_tensors_hooks(Pack pack, Unpack unpack, detail::hooks_check<Pack, Unpack> = {})
      : scope_{detail::packing_factory(std::move(pack), std::move(unpack))} {}
  saved_tensors_hooks(saved_tensors_hooks const&) = delete;
  saved_tensors_hooks& operator=(saved_tensors_hooks const&) = delete;

 private:
  detail::saved_hooks_scope scope_;
};

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
