// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file saved_tensors_hooks.hpp  User functions that pack and unpack the tensors that autograd saves.
#include <utility>
#include <cairn/adapt/torch/checkpoint/detail/packed_tensor.hpp>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>

namespace cairn::libtorch {
namespace detail {

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

}  // namespace cairn::libtorch
